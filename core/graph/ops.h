/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The operator table: one row for each operator of accel/ops.h says what it takes, and a function what it makes. The
 * builder and the verifier share it, so that a graph that was built is a graph that verifies. Pure functions.
 */
#ifndef ACCEL_CORE_GRAPH_OPS_H
#define ACCEL_CORE_GRAPH_OPS_H

#include <accel/error.h>
#include <accel/graph.h>
#include <stdbool.h>

#include "core/graph/types.h"

/** Most inputs and outputs of an operator. */
#define ACCEL_OP_INPUTS 8u
#define ACCEL_OP_OUTPUTS 2u
/** Room for the attributes of any operator. */
#define ACCEL_OP_ATTRIBUTES 64u
/** Most bytes of a name or key, the zero byte not counted. */
#define ACCEL_NAME_LIMIT 1023u

/** What one input may be. */
struct accel_op_slot {
    const char *name;      /**< as accel/ops.h calls it */
    uint32_t type_classes; /**< ACCEL_CLASS_... that it takes */
    uint8_t rank_lowest;
    uint8_t rank_highest;
    bool optional;
    bool state; /**< takes a state and nothing else; other slots take no state */
};

/** What an output turns out to be. */
struct accel_op_made {
    uint32_t type;
    uint32_t rank;
    struct accel_dim dims[ACCEL_RANK];
};

/** One inference: what a node is given, and what its output turns out to be. */
struct accel_op_call {
    const struct accel_graph *graph;
    const struct accel_node *node;
    const struct accel_op *op;
    const struct accel_value *inputs[ACCEL_OP_INPUTS]; /**< NULL where an optional one is absent */
    const void *attributes;                            /**< of this minor's size, zeros where the node's are shorter */
    uint32_t type;                                     /**< of the output */
    uint32_t rank;                                     /**< of the output; in, for reshape: the rank that is wanted */
    struct accel_dim dims[ACCEL_RANK];                 /**< of the output; in, for reshape: the dims that are wanted */
    struct accel_op_made second;                       /**< where the node has a second output */
};

/** One operator. */
struct accel_op {
    const char *name;
    uint32_t since; /**< minor that introduced it */
    uint32_t input_count;
    uint32_t output_count; /**< 0 or 1: what every node has */
    struct accel_op_slot slots[ACCEL_OP_INPUTS];
    uint32_t attribute_size; /**< bytes of the attributes of this minor, 0: none */
    uint32_t attribute_base; /**< bytes that the first minor had */
    uint32_t in_place;       /**< bit i: the output may take the memory of input i where both have the same bytes */
    /** Checks the attributes; NULL where there is nothing to check. */
    int32_t (*check)(const struct accel_op_call *call, struct accel_error *error);
    /** Checks the shapes against each other and fills type, rank and dims of the output. */
    int32_t (*infer)(struct accel_op_call *call, struct accel_error *error);
    const char *second; /**< name of a second output, which a node may have; NULL: there is none */
};

/** The row of an operator, or NULL. */
const struct accel_op *accel_op_find(uint32_t op);

/**
 * Checks a node of `graph` against the table (counts, types, ranks, roles, attributes, shapes, minor) and infers its
 * output; `call` is filled, and may hold rank and dims for a reshape. The values that the node names must have been
 * checked; indices are checked here. Messages name the node.
 */
int32_t accel_op_infer(const struct accel_graph *graph, const struct accel_node *node, struct accel_op_call *call,
                       struct accel_error *error);

#endif
