/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as text and as JSON. */
#ifndef ACCELCTL_PRINT_PLAN_H
#define ACCELCTL_PRINT_PLAN_H

#include "tools/accelctl/model.h"

/* nodes: list each; losers: show what settings overruled. */
void print_plan(const struct opened *opened, uint32_t nodes, uint32_t losers);
json_t *plan_json(const struct opened *opened);

/* Nodes that run in another way than natively. */
uint32_t count_fallbacks(const struct accel_plan *plan);

#endif
