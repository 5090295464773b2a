/* SPDX-License-Identifier: Apache-2.0 */
/* gpt-neox: attention and feed-forward part side by side, each with its norm. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_EMBEDDING] = "gpt_neox.embed_in",
    [DECODER_FINAL_NORM] = "gpt_neox.final_layer_norm",
    [DECODER_OUTPUT] = "embed_out",
    [DECODER_ATTENTION_NORM] = "gpt_neox.layers.%u.input_layernorm",
    [DECODER_QKV] = "gpt_neox.layers.%u.attention.query_key_value",
    [DECODER_ATTENTION_OUT] = "gpt_neox.layers.%u.attention.dense",
    [DECODER_FFN_NORM] = "gpt_neox.layers.%u.post_attention_layernorm",
    [DECODER_FFN_UP] = "gpt_neox.layers.%u.mlp.dense_h_to_4h",
    [DECODER_FFN_DOWN] = "gpt_neox.layers.%u.mlp.dense_4h_to_h",
};

static int32_t adapt(struct config_reader *reader)
{
    static const char key[] = "use_parallel_residual";
    bool parallel = true, found;
    int32_t code = config_find_bool(reader, key, &parallel, &found);

    reader->config->form.branches = parallel ? FORM_PARALLEL : FORM_SEQUENTIAL;
    return code == ACCEL_OK && reader->root == NULL && !found ? config_missing(reader, NULL, key) : code;
}

static const struct family_key gpt_neox_keys[] = {
    REAL("layer_norm_eps", 1e-5),
    INTEGER("max_position_embeddings", 2048),
    READS("rope_parameters"),
    READS("rope_scaling"),
    REAL("rotary_emb_base", 10000),
    REAL("rotary_pct", 0.25),
    UNUSED("rope_theta"),
    UNUSED("partial_rotary_factor"),
    READS("hidden_act"),
    FLAG("attention_bias", 1),
    FLAG("use_parallel_residual", 1),
    FLAG("tie_word_embeddings", 0),
    END_OF_KEYS,
};

const struct model_family family_gpt_neox = {
    .architecture = "gpt_neox",
    .gguf_architecture = "gptneox",
    .activation = "gelu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = names,
    .json_keys = gpt_neox_keys,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_PRESENT,
             .qkv = FORM_QKV_GROUPS,
             .ffn = FORM_PLAIN,
             .q_bias = FORM_IF_STORED,
             .o_bias = FORM_IF_STORED,
             .ffn_bias = FORM_PRESENT,
             .output = FORM_IF_STORED,
             .rotary_share = 0.25},
    .adapt = adapt,
};
