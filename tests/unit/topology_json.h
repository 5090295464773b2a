/* SPDX-License-Identifier: Apache-2.0 */
/** @file A machine as JSON, for comparing what was found with what is expected. */
#ifndef ACCEL_TESTS_UNIT_TOPOLOGY_JSON_H
#define ACCEL_TESTS_UNIT_TOPOLOGY_JSON_H

#include "core/topology/topology.h"
#include "tools/doctor/json.h"

/** Writes all of it as one JSON object, where the writer expects a value. */
void accel_topology_write_json(const struct accel_topology *topology, struct accel_json *json);

#endif
