/* SPDX-License-Identifier: Apache-2.0 */
/* gpt2: learned positions, and matrices that config.json checkpoints store with their inputs first. */

#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_EMBEDDING] = "transformer.wte",
    [DECODER_POSITIONS] = "transformer.wpe",
    [DECODER_FINAL_NORM] = "transformer.ln_f",
    [DECODER_ATTENTION_NORM] = "transformer.h.%u.ln_1",
    [DECODER_QKV] = "transformer.h.%u.attn.c_attn",
    [DECODER_ATTENTION_OUT] = "transformer.h.%u.attn.c_proj",
    [DECODER_FFN_NORM] = "transformer.h.%u.ln_2",
    [DECODER_FFN_UP] = "transformer.h.%u.mlp.c_fc",
    [DECODER_FFN_DOWN] = "transformer.h.%u.mlp.c_proj",
};

static const struct family_key gpt2_keys[] = {
    REAL("layer_norm_epsilon", 1e-5),
    INTEGER("n_positions", 1024),
    READS("n_layer"),
    READS("n_embd"),
    READS("n_inner"),
    READS("n_head"),
    READS("activation_function"),
    ONLY_FLAG("scale_attn_weights", 1),
    ONLY_FLAG("scale_attn_by_inverse_layer_idx", 0),
    ONLY_FLAG("add_cross_attention", 0),
    FLAG("tie_word_embeddings", 1),
    END_OF_KEYS,
};

const struct model_family family_gpt2 = {
    .architecture = "gpt2",
    .activation = "gelu_new",
    .names = names,
    .json_keys = gpt2_keys,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_PRESENT,
             .qkv = FORM_QKV_ROWS,
             .position = FORM_LEARNED,
             .ffn = FORM_PLAIN,
             .q_bias = FORM_PRESENT,
             .o_bias = FORM_PRESENT,
             .ffn_bias = FORM_PRESENT,
             .output = FORM_IF_STORED,
             .transposed = true,
             .ffn_by_hidden = 4},
};
