/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Arithmetic on extents that may name a symbol. Two extents count as equal when they are equal for every value of the
 * symbols, as far as this can be told from their form: symbol, multiply / divide in lowest terms, add. Pure functions.
 */
#ifndef ACCEL_CORE_GRAPH_DIM_H
#define ACCEL_CORE_GRAPH_DIM_H

#include <accel/error.h>
#include <accel/graph.h>
#include <stdbool.h>
#include <stddef.h>

/** The extent of a fixed size. */
struct accel_dim accel_dim_fixed(uint64_t extent);

/** True for an extent that names no symbol. */
bool accel_dim_is_fixed(const struct accel_dim *dim);

/** True when both are the same extent for every value of the symbols. */
bool accel_dim_equal(const struct accel_dim *a, const struct accel_dim *b);

/** As accel_dim_equal for whole shapes. */
bool accel_dims_equal(uint32_t a_rank, const struct accel_dim *a, uint32_t b_rank, const struct accel_dim *b);

/** `dim` + `more`; false on overflow. */
bool accel_dim_plus(const struct accel_dim *dim, uint64_t more, struct accel_dim *out_sum);

/**
 * True when the products of both lists of extents can be proved equal: the extents that name symbols are the same
 * linear terms up to constant factors, and the constants of both sides agree. Products that do not fit 64 bits count
 * as unproved.
 */
bool accel_dims_same_product(uint32_t a_rank, const struct accel_dim *a, uint32_t b_rank, const struct accel_dim *b);

/** Product of extents without symbols; false when one has a symbol or the product does not fit. */
bool accel_dims_product(uint32_t rank, const struct accel_dim *dims, uint64_t *out_product);

/** Checks the form of an extent (accel/graph.h) against the symbols of a graph, and that it is at least 1 and fits for
 *  their lowest and highest values. `what` names it in messages. */
int32_t accel_dim_check(const struct accel_graph *graph, const struct accel_dim *dim, const char *what,
                        struct accel_error *error);

/** Writes a shape for messages, "[tokens, 2 * pages + 1, 64]", cut at `bytes`; returns `text`. */
const char *accel_dims_text(const struct accel_graph *graph, uint32_t rank, const struct accel_dim *dims, char *text,
                            size_t bytes);

#endif
