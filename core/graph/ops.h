/* SPDX-License-Identifier: Apache-2.0 */
/** @file The operator table: one row for each operator of accel/ops.h with its inputs, and a function that infers its
 * outputs. Builder and verifier share it, so that every built graph verifies. Pure functions. */
#ifndef ACCEL_CORE_GRAPH_OPS_H
#define ACCEL_CORE_GRAPH_OPS_H

#include <stdbool.h>

#include <accel/error.h>
#include <accel/graph.h>

#include "core/graph/types.h"

/** Maximum number of inputs and outputs of an operator. */
#define ACCEL_OP_INPUTS 12u
#define ACCEL_OP_OUTPUTS 2u
/** Buffer size for the attributes of any operator. */
#define ACCEL_OP_ATTRIBUTES 96u
/** Maximum length of a name or key, without the zero byte. */
#define ACCEL_NAME_LIMIT 1023u

/** Accepted values of one input. */
struct accel_op_slot {
    const char *name;      /**< name in accel/ops.h */
    uint32_t type_classes; /**< accepted ACCEL_CLASS_... */
    uint8_t rank_lowest;
    uint8_t rank_highest;
    bool optional;
    bool state; /**< accepts a state and nothing else; other slots accept no state */
};

/** Inferred type and shape of an output. */
struct accel_op_made {
    uint32_t type;
    uint32_t rank;
    struct accel_dim dims[ACCEL_RANK];
};

/** One inference: inputs of a node and its inferred output. */
struct accel_op_call {
    const struct accel_graph *graph;
    const struct accel_node *node;
    const struct accel_op *op;
    const struct accel_value *inputs[ACCEL_OP_INPUTS]; /**< NULL if an optional input is absent */
    const void *attributes;                            /**< in the size of this minor, zeros past the given ones */
    struct accel_op_made made[ACCEL_OP_OUTPUTS];       /**< outputs; in, for reshape: the required rank and dims */
};

/** One operator. */
struct accel_op {
    const char *name;
    uint32_t since; /**< minor that introduced it */
    uint32_t input_count;
    uint32_t output_count; /**< 0 or 1: outputs of every node */
    struct accel_op_slot slots[ACCEL_OP_INPUTS];
    uint32_t attribute_size; /**< bytes of the attributes of this minor, 0: none */
    uint32_t attribute_base; /**< size of the attributes in the first minor */
    /** Returns the fault of the attributes, or NULL; NULL: the operator has none. */
    const char *(*check)(const struct accel_op_call *call);
    uint32_t in_place; /**< bit i: the output may reuse the memory of input i if both have the same size */
    /** Checks the shapes against each other and fills the outputs. */
    int32_t (*infer)(struct accel_op_call *call, struct accel_error *error);
    const char *second; /**< name of an optional second output; NULL: none */
};

/** Returns the row of an operator, or NULL. */
const struct accel_op *accel_op_find(uint32_t op);

/** Checks a node of `graph` against the table (counts, types, ranks, roles, attributes, shapes, minor) and infers its
 * output; `call` is filled, and may hold rank and dims for a reshape. The values that the node names must have been
 * checked; indices are checked here. Messages name the node. */
int32_t accel_op_infer(const struct accel_graph *graph, const struct accel_node *node, struct accel_op_call *call,
                       struct accel_error *error);

#endif
