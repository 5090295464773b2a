/* SPDX-License-Identifier: Apache-2.0 */
/* bloom: ALiBi, a norm behind the embedding, queries, keys and values in one matrix head by head. */

#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_EMBEDDING] = "transformer.word_embeddings",
    [DECODER_EMBEDDING_NORM] = "transformer.word_embeddings_layernorm",
    [DECODER_FINAL_NORM] = "transformer.ln_f",
    [DECODER_ATTENTION_NORM] = "transformer.h.%u.input_layernorm",
    [DECODER_QKV] = "transformer.h.%u.self_attention.query_key_value",
    [DECODER_ATTENTION_OUT] = "transformer.h.%u.self_attention.dense",
    [DECODER_FFN_NORM] = "transformer.h.%u.post_attention_layernorm",
    [DECODER_FFN_UP] = "transformer.h.%u.mlp.dense_h_to_4h",
    [DECODER_FFN_DOWN] = "transformer.h.%u.mlp.dense_4h_to_h",
};

static const struct family_key bloom_keys[] = {
    REAL("layer_norm_epsilon", 1e-5),
    READS("n_layer"),
    READS("n_head"),
    ONLY_FLAG("apply_residual_connection_post_layernorm", 0),
    FLAG("tie_word_embeddings", 1),
    END_OF_KEYS,
};

const struct model_family family_bloom = {
    .architecture = "bloom",
    .activation = "gelu_pytorch_tanh",
    .names = names,
    .json_keys = bloom_keys,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_PRESENT,
             .qkv = FORM_QKV_GROUPS,
             .position = FORM_ALIBI,
             .ffn = FORM_PLAIN,
             .q_bias = FORM_PRESENT,
             .o_bias = FORM_PRESENT,
             .ffn_bias = FORM_PRESENT,
             .output = FORM_IF_STORED,
             .embedding_norm = FORM_PRESENT,
             .ffn_by_hidden = 4,
             .context = 2048},
};
