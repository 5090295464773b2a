/* SPDX-License-Identifier: Apache-2.0 */
/* falcon: the first models with one key head or ALiBi, the later ones with groups of queries for each key head. */
#include <accel/ops.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"

#define NAMES                                                                                                          \
    [DECODER_EMBEDDING] = "transformer.word_embeddings", [DECODER_FINAL_NORM] = "transformer.ln_f",                    \
    [DECODER_QKV] = "transformer.h.%u.self_attention.query_key_value",                                                 \
    [DECODER_ATTENTION_OUT] = "transformer.h.%u.self_attention.dense",                                                 \
    [DECODER_FFN_UP] = "transformer.h.%u.mlp.dense_h_to_4h", [DECODER_FFN_DOWN] = "transformer.h.%u.mlp.dense_4h_to_h"

static const char *const names[DECODER_PARTS] = {
    NAMES,
    [DECODER_ATTENTION_NORM] = "transformer.h.%u.input_layernorm",
    [DECODER_FFN_NORM] = "transformer.h.%u.post_attention_layernorm",
};

/* Of the later models, whose two branches have a norm each. */
static const char *const new_names[DECODER_PARTS] = {
    NAMES,
    [DECODER_ATTENTION_NORM] = "transformer.h.%u.ln_attn",
    [DECODER_FFN_NORM] = "transformer.h.%u.ln_mlp",
};

/* In GGUF the second norm is the one of attention. */
static const char *const new_gguf_names[DECODER_PARTS] = {
    [DECODER_ATTENTION_NORM] = "blk.%u.attn_norm_2",
    [DECODER_FFN_NORM] = "blk.%u.attn_norm",
};

extern const struct model_family family_falcon_two_norms;

static int32_t adapt_gguf(struct config_reader *reader)
{
    if (config_has(reader, "blk.0.attn_norm_2.weight")) {
        reader->config->family = &family_falcon_two_norms;
        reader->config->form.branches = FORM_PARALLEL;
    } else {
        reader->config->form.branches = FORM_PARALLEL_ONE_NORM;
    }
    return ACCEL_OK;
}

static int32_t adapt(struct config_reader *reader)
{
    static const struct config_row groups = {{"num_kv_heads", "n_head_kv"}, {NULL}, 0, CONFIG_TO_U32, false, 1, 65536};
    static const struct config_row norms = {{"num_ln_in_parallel_attn"}, {NULL}, 0, CONFIG_TO_U32, false, 1, 2};
    struct accel_decoder_config *config = reader->config;
    uint32_t kv_heads = 0;
    bool is_new, one_key, parallel, alibi;
    int32_t code;

    if (reader->root == NULL)
        return adapt_gguf(reader);
    is_new = config_flag(reader, "new_decoder_architecture", false);
    one_key = config_flag(reader, "multi_query", true);
    parallel = config_flag(reader, "parallel_attn", true);
    alibi = config_flag(reader, "alibi", false);
    config->form.q_bias = config_flag(reader, "bias", false) ? FORM_PRESENT : FORM_ABSENT;
    config->form.o_bias = config->form.ffn_bias = config->form.q_bias;
    code = reader->code;
    config->kv_heads = one_key && !is_new ? 1 : config->heads;
    config->form.norms_in_parallel = 2;
    if (code == ACCEL_OK)
        code = config_fill(reader, &groups, 1, &kv_heads);
    if (code == ACCEL_OK)
        code = config_fill(reader, &norms, 1, &config->form.norms_in_parallel);
    if (is_new && kv_heads != 0)
        config->kv_heads = kv_heads;
    config->form.qkv = is_new || !one_key ? FORM_QKV_GROUPS : FORM_QKV_ROWS;
    config->form.branches = FORM_SEQUENTIAL;
    if (is_new || parallel)
        config->form.branches = is_new && config->form.norms_in_parallel == 2 ? FORM_PARALLEL : FORM_PARALLEL_ONE_NORM;
    if (is_new && config->form.norms_in_parallel == 2)
        config->family = &family_falcon_two_norms;
    config->form.position = alibi ? FORM_ALIBI : FORM_ROTARY;
    config->form.alibi_by_head = alibi;
    return code;
}

#define FALCON                                                                                                         \
    .norm = FORM_LAYER_NORM, .norm_bias = FORM_PRESENT, .qkv = FORM_QKV_GROUPS, .ffn = FORM_PLAIN,                     \
    .q_bias = FORM_IF_STORED, .o_bias = FORM_IF_STORED, .ffn_bias = FORM_IF_STORED, .output = FORM_IF_STORED,          \
    .ffn_by_hidden = 4, .context = 2048

static const struct family_key falcon_keys[] = {
    REAL("layer_norm_epsilon", 1e-5),
    INTEGER("max_position_embeddings", 2048),
    ROTARY(10000),
    READS("activation"),
    READS("ffn_hidden_size"),
    READS("num_kv_heads"),
    READS("n_head_kv"),
    READS("num_ln_in_parallel_attn"),
    FLAG("new_decoder_architecture", 0),
    FLAG("multi_query", 1),
    FLAG("parallel_attn", 1),
    FLAG("alibi", 0),
    FLAG("bias", 0),
    ONLY_FLAG("apply_residual_connection_post_layernorm", 0),
    FLAG("tie_word_embeddings", 1),
    END_OF_KEYS,
};

const struct model_family family_falcon = {
    .architecture = "falcon",
    .activation = "gelu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = names,
    .json_keys = falcon_keys,
    .form = {FALCON, .branches = FORM_PARALLEL_ONE_NORM},
    .adapt = adapt,
};

/* Replaces family_falcon for later models, whose branches have a norm each. */
const struct model_family family_falcon_two_norms = {
    .architecture = "falcon",
    .activation = "gelu",
    .gguf_pairing = ACCEL_PAIR_HALVES,
    .names = new_names,
    .gguf_names = new_gguf_names,
    .json_keys = falcon_keys,
    .form = {FALCON},
};
