/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The graph: a const view of operators over values, which an application builds, the core verifies and a driver
 * compiles. A view and all that it points to stay valid and unmoved as long as an object made from it lives.
 */
#ifndef ACCEL_GRAPH_H
#define ACCEL_GRAPH_H

#include <accel/abi.h>
#include <accel/ops.h>
#include <accel/types.h>

/** Highest rank of a value. */
#define ACCEL_RANK 6u
/** Stands for an optional input that a node does not have. */
#define ACCEL_NO_VALUE 0xffffffffu

/**
 * One extent. Closed. Fixed: `symbol` 0 and the extent in `add`. Symbolic: `symbol` is 1 + the index of the graph's
 * symbol, and the extent is symbol * multiply / divide + add, the division without a remainder. Evaluated by
 * accel_dim_value of the core and of the driver library.
 */
struct accel_dim {
    uint32_t symbol;
    uint32_t multiply; /**< 0 where symbol is 0, else at least 1 */
    uint32_t divide;   /**< 0 where symbol is 0, else at least 1 */
    uint32_t zero;
    uint64_t add;
};

/*
 * Contents of elements past a symbol's value, up to its value of the set. A device of fixed shapes runs the extents of
 * the set, or of a bucket, whatever the step has. It receives the step's values as all drivers do, and its work past
 * them changes no element before: rows are independent, except for operators that list the rows they read (first,
 * length, table, ids). If an operator of the graph mixes elements along the symbol (reduce, softmax, norms, conv, pool,
 * concat behind the place, cache_write without a slot of -1), the driver masks them by the count, or refuses the node
 * by its claim.
 */
#define ACCEL_SYMBOL_EXACT 0u /**< nothing lies past it: run exactly this extent, read and write nothing else */
#define ACCEL_SYMBOL_MASKED                                                                                            \
    1u /**< inputs hold any finite value, which the application sees to (an index may be out of                        \
            range, as of rows that are not there); outputs may be written, and are not read */

/** An extent that is chosen for each step. Open. Symbols are extents only; whatever else changes is an input. */
struct accel_symbol {
    uint32_t size;
    uint32_t kind;     /**< ACCEL_SYMBOL_... */
    const char *name;  /**< for messages: "tokens" */
    uint64_t lowest;   /**< smallest value of a step, at least 1 */
    uint64_t highest;  /**< largest value of a step */
    uint64_t multiple; /**< every value is a multiple of it, at least 1 */
};

#define ACCEL_ROLE_INPUT 1u        /**< bound to a buffer that a step reads */
#define ACCEL_ROLE_OUTPUT 2u       /**< bound to a buffer that a step writes */
#define ACCEL_ROLE_WEIGHT 3u       /**< constant over steps, found by `key` in a source */
#define ACCEL_ROLE_STATE 4u        /**< memory that steps read and write: one part of a state */
#define ACCEL_ROLE_CONSTANT 5u     /**< `data` holds it */
#define ACCEL_ROLE_INTERMEDIATE 6u /**< lives within one step */

/** One tensor of a graph. Open. */
struct accel_value {
    uint32_t size;
    uint32_t role;                     /**< ACCEL_ROLE_... */
    uint32_t type;                     /**< ACCEL_F32 ... of accel/types.h */
    uint32_t rank;                     /**< 1 to ACCEL_RANK */
    struct accel_dim dims[ACCEL_RANK]; /**< outermost first; those past rank are zero. A state is [slots, row] */
    const char *name;                  /**< for messages and traces; never NULL */
    const char *key;  /**< weights: the name in the source, the same in every graph of the model; else NULL */
    const void *data; /**< constants: rows without gaps; else NULL */
    uint64_t bytes;   /**< constants: bytes at data; else 0 */
    float low;        /**< smallest element seen in calibration; low = high = 0: not calibrated */
    float high;       /**< largest element seen in calibration */
};

/** One operator. Open. Nodes stand in an order in which every value is made before it is used. */
struct accel_node {
    uint32_t size;
    uint32_t op;    /**< ACCEL_OP_... */
    uint32_t minor; /**< lowest minor of the ABI that has everything this node uses */
    uint32_t zero;
    uint32_t input_count;
    uint32_t output_count;
    const uint32_t *inputs;  /**< indices of values, or ACCEL_NO_VALUE */
    const uint32_t *outputs; /**< indices of values */
    const void *attributes;  /**< the open struct that the operator names, or NULL where it names none */
    const char *name;        /**< for messages and reports; never NULL */
};

/** A graph. Open. */
struct accel_graph {
    uint32_t size;
    uint32_t symbol_count;
    uint32_t value_count;
    uint32_t node_count;
    const struct accel_symbol *const *symbols;
    const struct accel_value *const *values;
    const struct accel_node *const *nodes;
    const char *name; /**< "decode", "encoder"; never NULL */
};

#endif
