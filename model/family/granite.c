/* SPDX-License-Identifier: Apache-2.0 */
/* granite: llama with scales of embeddings, branches, scores and logits. */
#include <accel/ops.h>

#include "model/family/families.h"

const struct model_family family_granite = {
    .architecture = "granite",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .keys = KEY_EMBEDDING_SCALE | KEY_RESIDUAL_SCALE | KEY_ATTENTION_SCALE | KEY_LOGIT_DIVISOR,
    .form = {.q_bias = FORM_IF_STORED,
             .k_bias = FORM_IF_STORED,
             .v_bias = FORM_IF_STORED,
             .o_bias = FORM_IF_STORED,
             .ffn_bias = FORM_IF_STORED,
             .output = FORM_IF_STORED},
};
