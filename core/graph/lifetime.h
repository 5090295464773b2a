/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where intermediates may lie in one block of memory: values that are not alive at the same time share bytes. First fit
 * in the order of the nodes; an output takes the place of an input that ends there when the operator allows it. Used
 * for estimates where a driver gives none, and by tests; a driver plans its own scratch.
 */
#ifndef ACCEL_CORE_GRAPH_LIFETIME_H
#define ACCEL_CORE_GRAPH_LIFETIME_H

#include <accel/error.h>
#include <accel/graph.h>

/** The offset of a value that is no intermediate. */
#define ACCEL_NO_OFFSET UINT64_MAX

/**
 * Plans a verified graph for these values of its symbols. `offsets` has room for graph->value_count numbers and gets
 * multiples of `alignment` (a power of two), or ACCEL_NO_OFFSET; `*out_bytes` is the size of the block.
 */
int32_t accel_graph_plan_buffers(const struct accel_graph *graph, const uint64_t *symbols, uint64_t alignment,
                                 uint64_t *offsets, uint64_t *out_bytes, struct accel_error *error);

#endif
