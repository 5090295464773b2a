/* SPDX-License-Identifier: Apache-2.0 */
/* Where a plan lies: the devices of its layers and nodes. */
#ifndef ACCELCTL_PRINT_WHERE_H
#define ACCELCTL_PRINT_WHERE_H

#include "tools/accelctl/model.h"

/* Devices that hold layers; 0 where no layers are known. */
uint32_t count_devices(const struct accel_plan *plan);

/* "cpu:cpu0, vulkan:llvmpipe0": devices that hold layers, or the one, or the platform. Returns `text`. */
const char *devices_text(const struct accel_plan *plan, char *text, size_t bytes);

/* 1 where a device of the plan has a compiler that may have to make kernels first. */
uint32_t plan_compiles(const struct accel_context *context, const struct accel_plan *plan);

/* Nodes that run in another way than natively, and notes of what else is not as asked. */
uint32_t count_fallbacks(const struct accel_plan *plan);

/* The last line after a run, "60 nodes on cpu:cpu0, 34 on vulkan:llvmpipe0, 0 fallbacks", and one for each fallback
 * that is no node's. */
void print_placement(const struct accel_plan *plan);

/* The same as an object: nodes, device (all of them, as devices_text has them), fallbacks, because, and devices with
 * the nodes of each. */
json_t *placement_json(const struct accel_plan *plan);

#endif
