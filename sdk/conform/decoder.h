/* SPDX-License-Identifier: Apache-2.0 */
/** @file A transformer decoder of two layers with random weights: its graph, and a reference in plain C over all
 * tokens. */
#ifndef ACCEL_SDK_CONFORM_DECODER_H
#define ACCEL_SDK_CONFORM_DECODER_H

#include "sdk/conform/step.h"

#define DECODER_LAYERS 2u
#define DECODER_VOCABULARY 48u
#define DECODER_WIDTH 64u
#define DECODER_HEADS 4u
#define DECODER_KV 2u
#define DECODER_HEAD 16u
#define DECODER_INNER 96u
#define DECODER_TOKENS 8u /* most tokens of a step */
#define DECODER_PAGE 8u
#define DECODER_PAGES 4u /* KV pages of the sequence */
#define DECODER_SLOTS (2u * DECODER_PAGES * DECODER_PAGE)
#define DECODER_TENSORS (9u * DECODER_LAYERS + 4u)

enum decoder_input {
    DECODER_IDS,
    DECODER_POSITION,
    DECODER_SLOT,
    DECODER_ROWS,
    DECODER_TABLE,
    DECODER_FIRST,
    DECODER_LENGTH,
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
    uint32_t inputs[DECODER_INPUTS]; /**< graph values */
    uint32_t parts[2 * DECODER_LAYERS];
    uint32_t logits;
    int32_t code;
};

/** Builds the graph with matrices of `type`. Returns false after a failure, which is reported. */
bool decoder_make(struct decoder *decoder, struct conform *conform, uint32_t type);
void decoder_free(struct decoder *decoder);

/** Computes the logits of all `count` tokens: [count, DECODER_VOCABULARY]. */
void decoder_reference(const struct decoder *decoder, const int32_t *ids, uint32_t count, double *logits);

#endif
