/* SPDX-License-Identifier: Apache-2.0 */
/* Where a plan lies: the devices of its layers and nodes. */
#ifndef ACCELCTL_PRINT_WHERE_H
#define ACCELCTL_PRINT_WHERE_H

#include "tools/accelctl/model.h"

/* Devices that hold layers; 0 where no layers are known. */
uint32_t count_devices(const struct accel_plan *plan);

/* "cpu:cpu0, vulkan:llvmpipe0": devices that hold layers, or the one, or the platform. Returns `text`. */
const char *devices_text(const struct accel_plan *plan, char *text, size_t bytes);

/* "60 nodes on cpu:cpu0, 34 on vulkan:llvmpipe0, 0 fallbacks". Returns `text`. */
const char *nodes_text(const struct accel_plan *plan, char *text, size_t bytes);

/* {"nodes": 94, "device": "cpu:cpu0", "fallbacks": 0, "devices": [{"device": "cpu:cpu0", "nodes": 94}]}; "device" is
 * all of them, as devices_text has them. */
json_t *placement_json(const struct accel_plan *plan);

#endif
