/* SPDX-License-Identifier: Apache-2.0 */
/** @file A run goes into the history, for the plans to come. */
#ifndef ACCEL_TOOLS_KEEP_H
#define ACCEL_TOOLS_KEEP_H

#include "tools/accelctl/model.h"

#include <accel/model/generate.h>

/** Adds the run to the history: memory as planned and as measured, and its speed. `peak` and `resident` are measured
 *  bytes in all and of mapped weights. What fails is in `error`, and nothing else depends on it. */
int32_t keep_run(const struct opened *opened, const struct accel_generate_result *result, uint64_t peak,
                 uint64_t resident, struct accel_error *error);

#endif
