/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The shapes of a model: its weights and its components, without a graph and without data. A description of a model
 * provides them before any file is there, and accel_plan_sketch (accel/plan.h) plans types, memory and placement with
 * them. The caller owns the struct and every string in it; strings are never NULL. A call reads it from its own thread
 * and does not store it.
 */
#ifndef ACCEL_SKETCH_H
#define ACCEL_SKETCH_H

#include <accel/abi.h>
#include <accel/types.h>

ACCEL_BEGIN_C

/** As the layer of a weight that belongs to none: tables, heads, last norms. */
#define ACCEL_NO_LAYER 0xffffffffu

/** One weight. Closed. A matrix has `rows` outputs of `columns` inputs: groups of quantized types lie along the
 * columns. A vector has one row. A filter has its outputs as rows, and all that one output reads as columns. */
struct accel_sketch_weight {
    uint32_t size;         /**< sizeof(struct accel_sketch_weight) */
    uint32_t layer;        /**< within its component, or ACCEL_NO_LAYER */
    const char *name;      /**< as in the file, for messages */
    const char *component; /**< "language", "text", "vision", "audio", "projector", "decoder" */
    const char *role;      /**< "embedding", "attention.q", "attention.k", "attention.v", "attention.o", "ffn.up",
                                "ffn.gate", "ffn.down", "head", "norm", "conv", "other" */
    uint32_t type;         /**< of the file: ACCEL_F16, ...; ACCEL_TYPE_NONE: not known */
    uint32_t wanted;       /**< the type that it gets, whatever settings say, or ACCEL_TYPE_NONE: settings decide */
    uint64_t rows;         /**< outputs; 1 for a vector */
    uint64_t columns;      /**< elements of a row */
};

/** The shape of one component. Closed. Zero in a member: it has no such thing. */
struct accel_sketch_component {
    uint32_t size;       /**< sizeof(struct accel_sketch_component) */
    uint32_t layers;     /**< those that the weights count */
    uint32_t hidden;     /**< width of a token between layers */
    uint32_t ffn;        /**< width inside a feed-forward network */
    uint32_t heads;      /**< of queries */
    uint32_t kv_heads;   /**< of keys and values */
    uint32_t head_size;  /**< elements of a query or key head */
    uint32_t value_size; /**< elements of a value head */
    uint32_t cached;     /**< 1: keeps keys and values of all tokens */
    uint32_t tokens;     /**< positions that one input has: patches of an image, frames of a sound; 0: by context */
    uint64_t vocabulary; /**< tokens that it knows; 0: none */
    const char *name;    /**< "language", ...: as weights call it */
};

/** A model. Open. */
struct accel_sketch {
    uint32_t size;
    uint32_t weight_count;    /**< of `weights` */
    uint32_t component_count; /**< of `components` */
    uint32_t zero;            /**< must be 0 */
    const struct accel_sketch_weight *weights;
    const struct accel_sketch_component *components;
    const char *origin;        /**< the file, or the descriptor's file:line */
    const uint64_t *step_rows; /**< [weight_count]: rows that a step of one token reads of each, fewer than `rows` of
                                    experts; NULL: all */
    const uint32_t *mix;       /**< [weight_count]: the type that each gets by a weights.type that is a mix of types
                                    ("q4_k_m"), ACCEL_TYPE_NONE: it keeps its own; NULL: as if weights.type were auto */
};

ACCEL_END_C

#endif
