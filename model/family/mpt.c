/* SPDX-License-Identifier: Apache-2.0 */
/* mpt: ALiBi, no biases, and limits of queries, keys and values. */
#include <string.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/families.h"
#include "model/file/json.h"

static const char *const names[DECODER_PARTS] = {
    [DECODER_EMBEDDING] = "transformer.wte",
    [DECODER_FINAL_NORM] = "transformer.norm_f",
    [DECODER_ATTENTION_NORM] = "transformer.blocks.%u.norm_1",
    [DECODER_QKV] = "transformer.blocks.%u.attn.Wqkv",
    [DECODER_ATTENTION_OUT] = "transformer.blocks.%u.attn.out_proj",
    [DECODER_FFN_NORM] = "transformer.blocks.%u.norm_2",
    [DECODER_FFN_UP] = "transformer.blocks.%u.ffn.up_proj",
    [DECODER_FFN_DOWN] = "transformer.blocks.%u.ffn.down_proj",
};

/* Of attn_config; the ones with one value are of models that llm-foundry makes and transformers does not run. */
static const struct family_key attention_keys[] = {
    ONLY_FLAG("alibi", 1),
    ONLY_FLAG("rope", 0),
    ONLY_FLAG("qk_ln", 0),
    ONLY_FLAG("qk_gn", 0),
    ONLY_FLAG("prefix_lm", 0),
    ONLY_FLAG("attn_uses_sequence_id", 0),
    ONLY_NUMBER("sliding_window_size", -1),
    END_OF_KEYS,
};

static const struct config_row rows[] = {
    {{"clip_qkv"}, {NULL}, MEMBER(form.qkv_limit), CONFIG_TO_F64, false, 0, 1e6},
    {{"softmax_scale"}, {NULL}, MEMBER(form.attention_scale), CONFIG_TO_F64, false, 0, 1e6},
    {{"alibi_bias_max"}, {"attention.max_alibi_bias"}, MEMBER(form.alibi_bias), CONFIG_TO_F64, false, 0, 1e6},
    {{"kv_n_heads"}, {NULL}, MEMBER(kv_heads), CONFIG_TO_U32, false, 1, 65536},
};

static int32_t read_attention(struct config_reader *reader, const json_t *object)
{
    static const char *const json[4] = {"attn_type"}, *const gguf[2] = {NULL};
    struct config_fact type;
    int32_t code;

    reader->scope = object;
    code = config_check_only(reader, attention_keys, object);
    config_find(reader, json, gguf, &type);
    if (code == ACCEL_OK && type.kind != CONFIG_ABSENT &&
        (type.kind != CONFIG_TEXT ||
         (strcmp(type.text, "multihead_attention") != 0 && strcmp(type.text, "grouped_query_attention") != 0)))
        code = config_fault(reader, ACCEL_E_UNSUPPORTED, &type,
                            "is neither multihead_attention nor grouped_query_attention");
    if (code == ACCEL_OK)
        code = config_fill(reader, rows, sizeof(rows) / sizeof(rows[0]), reader->config);
    reader->scope = reader->root;
    return code;
}

static int32_t adapt(struct config_reader *reader)
{
    const json_t *object = json_object_get(reader->root, "attn_config");
    int32_t code;

    if (reader->root == NULL) {
        code = config_fill(reader, rows, sizeof(rows) / sizeof(rows[0]), reader->config);
        /* Without the key a model has learned positions, which are not supported. */
        return code == ACCEL_OK && reader->config->form.alibi_bias == 0
                   ? config_missing(reader, NULL, "attention.max_alibi_bias")
                   : code;
    }
    if (object == NULL || json_is_null(object))
        return ACCEL_OK;
    if (!json_is_object(object))
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, "attn_config", NULL),
                           "attn_config is %s, not an object", model_json_kind(object));
    return read_attention(reader, object);
}

static const struct family_key mpt_keys[] = {
    REAL("layer_norm_epsilon", 1e-5),
    INTEGER("max_seq_len", 2048),
    READS("n_layers"),
    READS("d_model"),
    READS("n_heads"),
    READS("attn_config"),
    FLAG("tie_word_embeddings", 1),
    END_OF_KEYS,
};

const struct model_family family_mpt = {
    .architecture = "mpt",
    .activation = "gelu",
    .keys = KEY_QKV_LIMIT,
    .names = names,
    .json_keys = mpt_keys,
    .form = {.norm = FORM_LAYER_NORM,
             .norm_bias = FORM_IF_STORED,
             .qkv = FORM_QKV_ROWS,
             .position = FORM_ALIBI,
             .ffn = FORM_PLAIN,
             .q_bias = FORM_IF_STORED,
             .o_bias = FORM_IF_STORED,
             .ffn_bias = FORM_IF_STORED,
             .output = FORM_ABSENT,
             .ffn_by_hidden = 4,
             .norm_epsilon = 1e-5},
    .adapt = adapt,
};
