/* SPDX-License-Identifier: Apache-2.0 */
/* glm: half of each head rotary, in neighbouring pairs, gate and up in one matrix; glm4 with norms around the branches.
 */
#include <accel/ops.h>

#include "model/family/families.h"

static const char *const glm_names[DECODER_PARTS] = {
    [DECODER_FFN_UP] = "model.layers.%u.mlp.gate_up_proj",
};

#define GLM                                                                                                            \
    .ffn = FORM_FUSED_GATE, QKV_BIASES(FORM_IF_STORED), .output = FORM_IF_STORED, .neighbours = true,                  \
    .rotary_share = 0.5

static const struct family_key keys[] = {
    USUAL_KEYS(1.5625e-7, 131072, 10000, 0), INTEGER("num_key_value_heads", 2), INTEGER("head_dim", 128),
    READS("partial_rotary_factor"),          FLAG("attention_bias", 1),         END_OF_KEYS,
};

const struct model_family family_glm = {
    .architecture = "glm",
    .gguf_architecture = "chatglm",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .names = glm_names,
    .json_keys = keys,
    .form = {GLM},
};

static const char *const glm4_names[DECODER_PARTS] = {
    [DECODER_ATTENTION_POST_NORM] = "model.layers.%u.post_self_attn_layernorm",
    [DECODER_FFN_UP] = "model.layers.%u.mlp.gate_up_proj",
    [DECODER_FFN_POST_NORM] = "model.layers.%u.post_mlp_layernorm",
};

const struct model_family family_glm4 = {
    .architecture = "glm4",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_NEIGHBOURS,
    .names = glm4_names,
    .json_keys = keys,
    .form = {GLM, .norm_place = FORM_NORM_AROUND},
};
