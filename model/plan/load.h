/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether steps use weights in the mapped file: setting weights.load. */
#ifndef ACCEL_MODEL_PLAN_LOAD_H
#define ACCEL_MODEL_PLAN_LOAD_H

#include "model/plan/run.h"

/* Decides weights.load=auto as far as it can be before the device is asked; what stays open stays auto. The source
 * exists. */
int32_t run_planner_resolve_load(const struct run_planner *planner);

/* Finishes the decision when the device has answered how many bytes of weights steps would read in the mapped file. */
int32_t run_planner_finalize_load(const struct run_planner *planner, uint64_t streamed);

#endif
