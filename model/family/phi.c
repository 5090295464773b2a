/* SPDX-License-Identifier: Apache-2.0 */
/* phi: one norm for attention and feed-forward part, biases everywhere. phi3: queries, keys and values in one matrix,
 * gate and up in another. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

static const char *const phi_names[DECODER_PARTS] = {
    [DECODER_FINAL_NORM] = "model.final_layernorm",
    [DECODER_ATTENTION_OUT] = "model.layers.%u.self_attn.dense",
    [DECODER_FFN_UP] = "model.layers.%u.mlp.fc1",
    [DECODER_FFN_DOWN] = "model.layers.%u.mlp.fc2",
};

static int32_t adapt_phi(struct config_reader *reader)
{
    return config_refuse_true(reader, "qk_layernorm");
}

const struct model_family family_phi = {
    .architecture = "phi",
    .gguf_architecture = "phi2",
    .activation = "gelu_new",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = phi_names,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_PRESENT,
             .branches = FORM_PARALLEL_ONE_NORM,
             .ffn = FORM_PLAIN,
             .q_bias = FORM_PRESENT,
             .k_bias = FORM_PRESENT,
             .v_bias = FORM_PRESENT,
             .o_bias = FORM_PRESENT,
             .ffn_bias = FORM_PRESENT,
             .output = FORM_PRESENT,
             .output_bias = FORM_PRESENT,
             .rotary_share = 0.5},
    .adapt = adapt_phi,
};

static const char *const phi3_names[DECODER_PARTS] = {
    [DECODER_FFN_UP] = "model.layers.%u.mlp.gate_up_proj",
};

const struct model_family family_phi3 = {
    .architecture = "phi3",
    .activation = "silu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = phi3_names,
    .form = {.qkv = FORM_QKV_ROWS, .ffn = FORM_FUSED_GATE, .output = FORM_IF_STORED},
};
