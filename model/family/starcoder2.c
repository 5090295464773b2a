/* SPDX-License-Identifier: Apache-2.0 */
/* starcoder2: layer norms, biases, and a feed-forward part without a gate. */
#include <accel/ops.h>

#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_FFN_UP] = "model.layers.%u.mlp.c_fc",
    [DECODER_FFN_DOWN] = "model.layers.%u.mlp.c_proj",
};

static const struct family_key starcoder2_keys[] = {
    REAL("norm_epsilon", 1e-5),
    INTEGER("max_position_embeddings", 4096),
    INTEGER("num_key_value_heads", 2),
    ROTARY(10000),
    READS("hidden_act"),
    READS("sliding_window"),
    FLAG("use_bias", 1),
    /* Of the family before, in published files. */
    UNUSED("activation_function"),
    UNUSED("layer_norm_epsilon"),
    UNUSED("scale_attn_weights"),
    FLAG("tie_word_embeddings", 1),
    END_OF_KEYS,
};

const struct model_family family_starcoder2 = {
    .architecture = "starcoder2",
    .activation = "gelu_pytorch_tanh",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = names,
    .json_keys = starcoder2_keys,
    .form = {.windows = FORM_WINDOW_ALL,
             .norm = FORM_LAYER_NORM,
             .norm_bias = FORM_PRESENT,
             .ffn = FORM_PLAIN,
             ATTENTION_BIASES(FORM_IF_STORED),
             .ffn_bias = FORM_IF_STORED,
             .output = FORM_IF_STORED},
};
