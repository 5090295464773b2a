/* SPDX-License-Identifier: Apache-2.0 */
/* Plans pipeline stages of a model whose layers lie on several devices. */
#ifndef ACCEL_MODEL_PLAN_STAGES_H
#define ACCEL_MODEL_PLAN_STAGES_H

#include "model/plan/run.h"

/* Returns whether layers lie on several devices. The plan may have no layers. */
bool plan_is_spread(const struct accel_plan *plan);

/* Cuts the graph into pipeline stages, plans each for its device, and merges their plans into the whole one. */
int32_t run_planner_place_stages(const struct run_planner *planner);

#endif
