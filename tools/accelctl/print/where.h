/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the placement of a plan: the devices of its layers and nodes. */
#ifndef ACCELCTL_PRINT_WHERE_H
#define ACCELCTL_PRINT_WHERE_H

#include <stdbool.h>

#include "tools/accelctl/model.h"

/* Returns the value of a fact of a plan, or NULL. */
const char *plan_fact(const struct accel_plan *plan, const char *key);

/* Counts the devices that hold layers; 0 if no layers are known. */
uint32_t count_devices(const struct accel_plan *plan);

/* Returns whether the context has a device of that name which is a CPU. */
bool is_processor(const struct accel_context *context, const char *name);

/* Counts the devices with layers that are CPUs of this machine. */
uint32_t count_processors(const struct accel_context *context, const struct accel_plan *plan);

/* Lists the devices that hold layers, or the one, or the platform: "cpu:cpu0, vulkan:llvmpipe0". Returns `text`. */
const char *devices_text(const struct accel_plan *plan, char *text, size_t bytes);

/* Shortens a list of more than three devices to "8 devices, cuda:0 to cuda:7"; copies others unchanged. Returns
 * `text`. */
const char *shorten_devices(const char *names, char *text, size_t bytes);

/* Returns the first device with layers that this machine has, or NULL. */
const char *local_device(const struct accel_context *context, const struct accel_plan *plan);

/* Returns 1 if a device of the plan has a compiler that may have to build kernels first. */
uint32_t plan_compiles(const struct accel_context *context, const struct accel_plan *plan);

/* Returns the title of the progress of loading; `compiles` is what plan_compiles returned. */
const char *loading_text(uint32_t compiles);

/* Counts the nodes that use a fallback, and notes of other fallbacks. */
uint32_t count_fallbacks(const struct accel_plan *plan);

/* Prints the last line after a run, "60 nodes on cpu:cpu0, 34 on vulkan:llvmpipe0, 0 fallbacks", and one for each
 * fallback that does not belong to a node. */
void print_placement(const struct accel_plan *plan);

/* Returns the placement as an object: nodes, device (all of them, as devices_text lists them), fallbacks, because,
 * and devices with the nodes of each. */
json_t *placement_json(const struct accel_plan *plan);

#endif
