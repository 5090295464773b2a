/* SPDX-License-Identifier: Apache-2.0 */
/** @file Arithmetic on extents that may contain a symbol. Two extents are equal if they are equal for every value of
 * the symbols, as far as their form shows it: symbol, multiply / divide in lowest terms, add. Pure functions. */
#ifndef ACCEL_CORE_GRAPH_DIM_H
#define ACCEL_CORE_GRAPH_DIM_H

#include <stdbool.h>
#include <stddef.h>

#include <accel/error.h>
#include <accel/graph.h>

/** Returns the extent of a fixed size. */
struct accel_dim accel_dim_fixed(uint64_t extent);

/** Returns whether an extent has no symbol. */
bool accel_dim_is_fixed(const struct accel_dim *dim);

/** Returns whether both extents are equal for every value of the symbols. */
bool accel_dim_equal(const struct accel_dim *a, const struct accel_dim *b);

/** Compares whole shapes with accel_dim_equal. */
bool accel_dims_equal(uint32_t a_rank, const struct accel_dim *a, uint32_t b_rank, const struct accel_dim *b);

/** Adds `more` to `dim`; false on overflow. */
bool accel_dim_plus(const struct accel_dim *dim, uint64_t more, struct accel_dim *out_sum);

/** Returns whether the products of both lists of extents are provably equal: the extents with symbols are the same
 * linear terms up to constant factors, and the constants agree. Products that overflow 64 bits are not proved. */
bool accel_dims_same_product(uint32_t a_rank, const struct accel_dim *a, uint32_t b_rank, const struct accel_dim *b);

/** Computes the product of extents without symbols; false if one has a symbol or the product overflows. */
bool accel_dims_product(uint32_t rank, const struct accel_dim *dims, uint64_t *out_product);

/** Checks the form of an extent (accel/graph.h) against the symbols of a graph, and that it is at least 1 and fits for
 *  their lowest and highest values. `what` names it in messages. */
int32_t accel_dim_check(const struct accel_graph *graph, const struct accel_dim *dim, const char *what,
                        struct accel_error *error);

/** Formats a shape for messages, "[tokens, 2 * pages + 1, 64]", cut at `bytes`; returns `text`. */
const char *accel_dims_text(const struct accel_graph *graph, uint32_t rank, const struct accel_dim *dims, char *text,
                            size_t bytes);

#endif
