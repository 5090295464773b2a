/* SPDX-License-Identifier: Apache-2.0 */
/** @file Builds the graph of a transformer decoder of two layers with random weights, and computes its logits in plain
 * C as the reference. */
#ifndef ACCEL_SDK_CONFORM_DECODER_H
#define ACCEL_SDK_CONFORM_DECODER_H

#include "sdk/conform/step.h"

#define DECODER_LAYERS 2u
#define DECODER_VOCABULARY 48u
#define DECODER_WIDTH 64u
#define DECODER_HEADS 4u
#define DECODER_KV_HEADS 2u
#define DECODER_HEAD_SIZE 16u
#define DECODER_FFN 96u
#define DECODER_TOKENS 8u /* maximum tokens of a step */
#define DECODER_PAGE_TOKENS 8u
#define DECODER_PAGES 4u /* KV pages of a sequence */
#define DECODER_SLOTS (2u * DECODER_PAGES * DECODER_PAGE_TOKENS)
#define DECODER_TENSORS (9u * DECODER_LAYERS + 4u)

enum decoder_input {
    DECODER_IDS,        /**< token ids */
    DECODER_POSITION,   /**< position of each token */
    DECODER_SLOT,       /**< KV slot that each token is written to */
    DECODER_ROWS,       /**< tokens whose logits are computed */
    DECODER_PAGE_TABLE, /**< KV pages of each sequence */
    DECODER_FIRST,      /**< tokens first[i] .. first[i + 1] - 1 belong to sequence i */
    DECODER_LENGTH,     /**< tokens of each sequence in the KV cache */
    DECODER_INPUTS
};

/** The decoder. The caller owns it and frees it with decoder_free. */
struct decoder {
    struct conform_source source; /**< must be the first member */
    struct conform *conform;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct conform_tensor tensors[DECODER_TENSORS];
    char names[DECODER_TENSORS][16];
    uint32_t tensor_count;
    uint32_t inputs[DECODER_INPUTS];    /**< graph values */
    uint32_t parts[2 * DECODER_LAYERS]; /**< graph values of the K and V states of each layer */
    uint32_t logits;                    /**< graph value */
    uint32_t rounding;                  /**< of activations in matmuls */
    int32_t code;                       /**< first error while the graph is built */
};

/** Builds the graph with matrices of `type`, and activations that matmuls may round to `rounding`. Returns false after
 * a failure, which is reported. */
bool decoder_make(struct decoder *decoder, struct conform *conform, uint32_t type, uint32_t rounding);
void decoder_free(struct decoder *decoder);

/** Computes the logits of all `count` tokens: [count, DECODER_VOCABULARY]. */
void decoder_reference(const struct decoder *decoder, const int32_t *ids, uint32_t count, double *logits);

#endif
