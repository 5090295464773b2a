/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graph analysis shared by drivers whose kernels run on threads of the caller (program.h) or on a device: checks,
 * extents and bytes of values, aliases, and the layout of intermediates. All functions are pure and may be called from
 * any thread.
 */
#ifndef SDK_DRIVER_GRAPH_H
#define SDK_DRIVER_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include <accel/driver.h>

/* The type of a slot of the driver ABI: SDK_SLOT(device, claim) sdk_claim; declares a function for it. */
#define SDK_SLOT(table, slot) __typeof__(*((struct accel_##table##_table *)NULL)->slot)

/* Most symbols of a graph that is estimated, or compiled with the highest ones. */
#define SDK_SYMBOLS 16u

/* Refuses an open struct that is shorter than `least` bytes (abi_check.c); `what` is its name. */
int32_t sdk_check_size(const void *given, size_t least, const char *what, struct accel_error *error);
/* Refuses a weight that is shorter, or sets members that this minor does not know (abi_check.c). */
int32_t sdk_check_weight(const struct accel_weight *weight, struct accel_error *error);
/* Refuses by name members of graphs and options that this minor does not know (abi_check.c). */
int32_t sdk_check_abi(const struct accel_graph *const *graphs, uint32_t graph_count,
                      const struct accel_compile_options *options, struct accel_error *error);

/* Evaluates an extent; 0 when it has none for these symbols. */
uint64_t sdk_extent(const struct accel_dim *dim, const uint64_t *symbols, uint32_t count);
/* The extents of a value; answers its rows, the product of all but the innermost. */
uint64_t sdk_extents(const struct accel_value *value, const uint64_t *symbols, uint32_t count,
                     uint64_t dims[ACCEL_RANK]);
/* Bytes of a row of `width` elements of a scalar type. */
uint64_t sdk_row_bytes(uint32_t type, uint64_t width);

/* The highest values of a graph's symbols among its buckets, which *buckets is moved past, or of the symbols themselves
 * where *buckets is NULL. */
int32_t sdk_highest(const struct accel_graph *graph, const uint64_t **buckets, uint32_t bucket_count,
                    uint64_t symbols[SDK_SYMBOLS], struct accel_error *error);

/* Returns whether a node has an input that is a weight. */
bool sdk_reads_weight(const struct accel_graph *graph, const struct accel_node *node);

/* Makes the output of a reshape share storage with its input if one of them is an intermediate: roots[v] is the value
 * that owns the storage of v. If the output is bound from outside, the input uses the output's storage. Returns 0 if
 * neither is an intermediate, and the node has to copy. */
bool sdk_alias(const struct accel_graph *graph, uint32_t *roots, uint32_t input, uint32_t output);

/* Memory of scratch that lives from node `first` to node `last`. */
struct sdk_block {
    uint64_t bytes;
    uint64_t offset;
    uint32_t first;
    uint32_t last;
    void **address; /* where its address goes when scratch is known */
};

/* Lives of the blocks of values, block v for value v: from the node that makes it to the last that uses it or an alias
 * of it. Leaves bytes and addresses as they are. */
void sdk_value_lifetimes(const struct accel_graph *graph, const uint32_t *roots, struct sdk_block *blocks);

/* Gives every block an offset such that no two blocks that live at the same time overlap; answers the bytes in all. */
uint64_t sdk_layout_plan(struct sdk_block *blocks, uint32_t count);

#endif
