/* SPDX-License-Identifier: Apache-2.0 */
/** @file A machine as JSON, for comparing what was found with what is expected. */
#ifndef ACCEL_TESTS_UNIT_TOPOLOGY_JSON_H
#define ACCEL_TESTS_UNIT_TOPOLOGY_JSON_H

#include <jansson.h>

#include "core/topology/topology.h"

/** Returns all of it as one JSON object. */
json_t *topology_json(const struct accel_topology *topology);

#endif
