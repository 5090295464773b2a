/* SPDX-License-Identifier: Apache-2.0 */
/* starcoder2: layer norms, biases, and a feed-forward part without a gate. */
#include <accel/ops.h>

#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_FFN_UP] = "model.layers.%u.mlp.c_fc",
    [DECODER_FFN_DOWN] = "model.layers.%u.mlp.c_proj",
};

const struct model_family family_starcoder2 = {
    .architecture = "starcoder2",
    .activation = "gelu_pytorch_tanh",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = names,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_PRESENT,
             .ffn = FORM_PLAIN,
             .q_bias = FORM_IF_STORED,
             .k_bias = FORM_IF_STORED,
             .v_bias = FORM_IF_STORED,
             .o_bias = FORM_IF_STORED,
             .ffn_bias = FORM_IF_STORED,
             .output = FORM_IF_STORED},
};
