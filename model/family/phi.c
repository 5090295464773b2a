/* SPDX-License-Identifier: Apache-2.0 */
/* phi: one norm for attention and feed-forward part, biases everywhere. phi3: queries, keys and values in one matrix,
 * gate and up in another. */
#include <accel/ops.h>

#include "model/family/families.h"

static const char *const phi_names[DECODER_PARTS] = {
    [DECODER_FINAL_NORM] = "model.final_layernorm",
    [DECODER_ATTENTION_OUT] = "model.layers.%u.self_attn.dense",
    [DECODER_FFN_UP] = "model.layers.%u.mlp.fc1",
    [DECODER_FFN_DOWN] = "model.layers.%u.mlp.fc2",
};

static const struct family_key phi_keys[] = {
    REAL("layer_norm_eps", 1e-5),
    INTEGER("max_position_embeddings", 2048),
    ROTARY(10000),
    READS("partial_rotary_factor"),
    READS("hidden_act"),
    ONLY_FLAG("qk_layernorm", 0),
    FLAG("tie_word_embeddings", 0),
    END_OF_KEYS,
};

const struct model_family family_phi = {
    .architecture = "phi",
    .gguf_architecture = "phi2",
    .activation = "gelu_new",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = phi_names,
    .json_keys = phi_keys,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_PRESENT,
             .branches = FORM_PARALLEL_ONE_NORM,
             .ffn = FORM_PLAIN,
             ATTENTION_BIASES(FORM_PRESENT),
             .ffn_bias = FORM_PRESENT,
             .output = FORM_PRESENT,
             .output_bias = FORM_PRESENT,
             .rotary_share = 0.5},
};

static const char *const phi3_names[DECODER_PARTS] = {
    [DECODER_FFN_UP] = "model.layers.%u.mlp.gate_up_proj",
};

static const struct family_key phi3_keys[] = {
    USUAL_KEYS(1e-5, 4096, 10000, 0),
    READS("partial_rotary_factor"),
    INTEGER("original_max_position_embeddings", 4096),
    READS("sliding_window"),
    END_OF_KEYS,
};

const struct model_family family_phi3 = {
    .architecture = "phi3",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = phi3_names,
    .json_keys = phi3_keys,
    .form = {.windows = FORM_WINDOW_ALL, .qkv = FORM_QKV_ROWS, .ffn = FORM_FUSED_GATE, .output = FORM_IF_STORED},
};
