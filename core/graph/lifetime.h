/* SPDX-License-Identifier: Apache-2.0 */
/** @file Plans intermediates in one block of memory: values that are not alive at the same time share bytes. First fit
 * in node order; an output reuses the memory of an input that ends there if the operator allows it. Used by tests, and
 * for estimates if a driver reports none; a driver plans its own scratch. */
#ifndef ACCEL_CORE_GRAPH_LIFETIME_H
#define ACCEL_CORE_GRAPH_LIFETIME_H

#include <accel/error.h>
#include <accel/graph.h>

/** Offset of a value that is no intermediate. */
#define ACCEL_NO_OFFSET UINT64_MAX

/** Plans a verified graph for these values of its symbols. `offsets` has capacity for graph->value_count numbers
 * and gets multiples of `alignment` (a power of two), or ACCEL_NO_OFFSET; `*out_bytes` is the size of the block. */
int32_t accel_graph_plan_buffers(const struct accel_graph *graph, const uint64_t *symbols, uint64_t alignment,
                                 uint64_t *offsets, uint64_t *out_bytes, struct accel_error *error);

#endif
