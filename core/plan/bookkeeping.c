/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the host memory of the library's own objects and lists from the sizes of their structs. */
#include "config.h"

#include <string.h>

#include "core/plan/memory.h"
#include "core/runtime/object.h"

/* Returns the bytes of all binding sets of a graph, plus the temporary bindings while the last set is built. */
static uint64_t bytes_of_sets(const struct accel_graph *graph, uint64_t sets)
{
    uint64_t bound = 0, weights = 0;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        uint32_t role = graph->values[v]->role;
        bound += role == ACCEL_ROLE_INPUT || role == ACCEL_ROLE_OUTPUT || role == ACCEL_ROLE_STATE;
        weights += role == ACCEL_ROLE_WEIGHT;
    }
    return sets * (sizeof(struct accel_set) + (bound + 3) * sizeof(struct accel_object *) +
                   (graph->symbol_count + 1u) * sizeof(struct accel_bound)) +
           (bound + weights * (ACCEL_PLANES + 1u) + 1) * sizeof(struct accel_binding);
}

/* Returns the bytes of the driver options that a device stores. */
static uint64_t bytes_of_settings(const struct accel_device *device)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < device->setting_count; i++) {
        const struct accel_named_value *one = &device->settings[i];
        bytes += sizeof(*one) + strlen(one->key) + strlen(one->value) + 2;
    }
    return bytes;
}

/* Sums the objects of accel/run.h: the lists by weight, value and part, and the objects themselves. */
uint64_t accel_plan_bookkeeping(const struct accel_device *device, const struct accel_plan_work *work, uint32_t weights)
{
    uint64_t bytes = sizeof(struct accel_device) + sizeof(struct accel_module) + sizeof(struct accel_weights) +
                     sizeof(struct accel_state) + sizeof(struct accel_queue) + sizeof(struct accel_scratch);
    uint64_t listed = 1;
    bytes += (uint64_t)weights * ACCEL_PLANES * sizeof(struct accel_plane);
    bytes += work->part_count * (sizeof(struct accel_state_part) + sizeof(uint64_t) + sizeof(void *));
    for (uint32_t g = 0; g < work->graph_count; g++) {
        const struct accel_graph *graph = work->graphs[g];
        bytes += sizeof(void *) * 2 + graph->value_count * sizeof(uint32_t);
        bytes += bytes_of_sets(graph, work->sets > 1 ? work->sets : 1);
        for (uint32_t v = 0; v < graph->value_count; v++) {
            uint32_t role = graph->values[v]->role;
            listed += role == ACCEL_ROLE_WEIGHT;
            if (role == ACCEL_ROLE_INPUT || role == ACCEL_ROLE_OUTPUT)
                bytes += sizeof(struct accel_buffer);
        }
    }
    return bytes + listed * sizeof(struct accel_module_weight) + bytes_of_settings(device);
}
