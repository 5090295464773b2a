/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Builds a graph, operator by operator. Types and shapes of outputs are inferred by the rules of accel/ops.h; a
 * node that does not fit is refused at once with the names of node and values.
 * A builder is used by one thread. The first failure is sticky: later calls do nothing and return its code, so
 * that a program may check once, at accel_builder_finish. Names and keys are copied. */
#ifndef ACCEL_BUILDER_H
#define ACCEL_BUILDER_H

#include <accel/abi.h>
#include <accel/error.h>
#include <accel/graph.h>

ACCEL_BEGIN_C

struct accel_builder;

/** Begins a graph called `name`. */
ACCEL_API int32_t accel_builder_create(const char *name, struct accel_builder **out_builder,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees the builder and the graph it made. NULL is allowed. */
ACCEL_API void accel_builder_free(struct accel_builder *builder) ACCEL_NOEXCEPT;

/** Adds a symbol; *out_symbol is the number for accel_dim.symbol (1 + index). */
ACCEL_API int32_t accel_builder_symbol(struct accel_builder *builder, const char *name, uint64_t lowest,
                                       uint64_t highest, uint32_t *out_symbol,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/** Makes a symbol that was added ACCEL_SYMBOL_MASKED; before that it is ACCEL_SYMBOL_EXACT. */
ACCEL_API int32_t accel_builder_mask(struct accel_builder *builder, uint32_t symbol,
                                     struct accel_error *error) ACCEL_NOEXCEPT;

/** Adds a value that is bound from outside: ACCEL_ROLE_INPUT, _WEIGHT (key = name) or _STATE. */
ACCEL_API int32_t accel_builder_value(struct accel_builder *builder, uint32_t role, const char *name, uint32_t type,
                                      uint32_t rank, const struct accel_dim *dims, uint32_t *out_value,
                                      struct accel_error *error) ACCEL_NOEXCEPT;

/** Adds a constant of fixed dims; `data` (rows without gaps) is copied. */
ACCEL_API int32_t accel_builder_constant(struct accel_builder *builder, const char *name, uint32_t type, uint32_t rank,
                                         const uint64_t *dims, const void *data, uint32_t *out_value,
                                         struct accel_error *error) ACCEL_NOEXCEPT;

/** Adds a node and its output, an intermediate named like the node. `attributes` is copied by its size. For operators
 *  without an output *out_value is ACCEL_NO_VALUE. Not for ACCEL_OP_RESHAPE. */
ACCEL_API int32_t accel_builder_node(struct accel_builder *builder, uint32_t op, const char *name,
                                     const uint32_t *inputs, uint32_t input_count, const void *attributes,
                                     uint32_t *out_value, struct accel_error *error) ACCEL_NOEXCEPT;

/** Adds a node like accel_builder_node, for operators with optional outputs: creates the first `output_count`
 * outputs, in the operator's order. The first is named like the node, the others "NODE.OUTPUT". */
ACCEL_API int32_t accel_builder_node_outputs(struct accel_builder *builder, uint32_t op, const char *name,
                                             const uint32_t *inputs, uint32_t input_count, const void *attributes,
                                             uint32_t *out_values, uint32_t output_count,
                                             struct accel_error *error) ACCEL_NOEXCEPT;

/** Adds an ACCEL_OP_RESHAPE of `input` to the dims given. */
ACCEL_API int32_t accel_builder_reshape(struct accel_builder *builder, const char *name, uint32_t input, uint32_t rank,
                                        const struct accel_dim *dims, uint32_t *out_value,
                                        struct accel_error *error) ACCEL_NOEXCEPT;

/** Makes an intermediate an output of the graph, and gives it `name` when that is not NULL. */
ACCEL_API int32_t accel_builder_output(struct accel_builder *builder, uint32_t value, const char *name,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/** Verifies the whole and hands out the view, which lives as long as the builder. Nothing can be added after it. */
ACCEL_API int32_t accel_builder_finish(struct accel_builder *builder, const struct accel_graph **out_graph,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/** Verifies any view of a graph: roles, types, shapes, order, attributes, minors. */
ACCEL_API int32_t accel_graph_verify(const struct accel_graph *graph, struct accel_error *error) ACCEL_NOEXCEPT;

/** The value of the index called `name`, or ACCEL_NO_VALUE. */
ACCEL_API uint32_t accel_graph_find(const struct accel_graph *graph, const char *name) ACCEL_NOEXCEPT;

/** Evaluates an extent. `symbols` has a value for each symbol of the graph. ACCEL_E_INVALID on overflow, a remainder,
 *  or an unknown symbol. */
ACCEL_API int32_t accel_dim_value(const struct accel_dim *dim, const uint64_t *symbols, uint32_t symbol_count,
                                  uint64_t *out_extent, struct accel_error *error) ACCEL_NOEXCEPT;

/** Bytes of a value with these symbols, rows without gaps. */
ACCEL_API int32_t accel_value_bytes(const struct accel_graph *graph, uint32_t value, const uint64_t *symbols,
                                    uint64_t *out_bytes, struct accel_error *error) ACCEL_NOEXCEPT;

/** The name of an operator: "matmul"; "?" for an unknown one. */
ACCEL_API const char *accel_op_name(uint32_t op) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
