/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the facts that only GGUF metadata have: windows with a pattern, vocabulary lists, special tokens by key. */
#include <stdio.h>

#include "model/family/decoder_config_reader.h"

#define TOKENS_KEY "tokenizer.ggml.tokens"

/* Lists with one element for each token. */
static const struct {
    const char *key;
    uint32_t kind;
} token_lists[] = {
    {TOKENS_KEY, ACCEL_MODEL_TEXT},
    {"tokenizer.ggml.scores", ACCEL_MODEL_FLOAT},
    {"tokenizer.ggml.token_type", ACCEL_MODEL_SIGNED},
};

/* Keys of tokens that end a text: end of text, end of turn, end of message. */
static const char *const eos_keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
#define EOS_KEYS (sizeof(eos_keys) / sizeof(eos_keys[0]))

static int32_t check_lists(const struct config_reader *reader)
{
    for (size_t i = 0; i < sizeof(token_lists) / sizeof(token_lists[0]); i++) {
        const struct accel_model_value *list;
        int32_t code;
        if (accel_model_file_find_value(reader->file, token_lists[i].key) == NULL)
            continue;
        code = accel_model_file_get_list(reader->file, token_lists[i].key, token_lists[i].kind, &list, reader->error);
        if (code != ACCEL_OK)
            return code;
        if (list->count != reader->config->vocabulary)
            return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, list->offset,
                               "%s has %llu elements, the vocabulary has %u tokens", token_lists[i].key,
                               (unsigned long long)list->count, reader->config->vocabulary);
    }
    return ACCEL_OK;
}

/* Reads a token id; -1 if the key is missing. */
static int32_t read_id(const struct config_reader *reader, const char *key, int64_t *out_id)
{
    uint64_t id;
    int32_t code;
    *out_id = -1;
    if (accel_model_file_find_value(reader->file, key) == NULL)
        return ACCEL_OK;
    code = accel_model_file_get_u64(reader->file, key, &id, reader->error);
    if (code == ACCEL_OK)
        *out_id = id > UINT32_MAX ? (int64_t)UINT32_MAX : (int64_t)id;
    return code;
}

static int32_t read_token(const struct config_reader *reader, const char *key, int64_t *out_id, bool must_exist)
{
    int64_t id;
    int32_t code = read_id(reader, key, &id);
    *out_id = -1;
    return code == ACCEL_OK ? config_set_token(reader, key, id, out_id, must_exist) : code;
}

static int32_t read_tokens(const struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    int64_t ids[EOS_KEYS];
    int32_t code = read_token(reader, "tokenizer.ggml.bos_token_id", &config->bos, true);
    if (code == ACCEL_OK)
        code = read_token(reader, "tokenizer.ggml.unknown_token_id", &config->unk, false);
    if (code == ACCEL_OK)
        code = read_token(reader, "tokenizer.ggml.padding_token_id", &config->pad, false);
    for (size_t i = 0; i < EOS_KEYS && code == ACCEL_OK; i++)
        code = read_id(reader, eos_keys[i], &ids[i]);
    return code == ACCEL_OK ? config_set_eos(reader, eos_keys[0], ids, EOS_KEYS) : code;
}

/* Reads the pattern of windows: a boolean for each layer, or that every n-th layer has none. The number leaves its
 * phase to the architecture, so it is refused where the family has none. */
static int32_t read_pattern(const struct config_reader *reader, const struct accel_model_value **out_marks)
{
    struct accel_decoder_config *config = reader->config;
    char key[CONFIG_KEY_BYTES];
    const struct accel_model_value *pattern;
    uint64_t every;
    snprintf(key, sizeof(key), "%s.attention.sliding_window_pattern", config->architecture);
    pattern = accel_model_file_find_value(reader->file, key);
    *out_marks = NULL;
    if (pattern == NULL)
        return ACCEL_OK;
    if (pattern->kind == ACCEL_MODEL_BOOL && pattern->count == config->layers) {
        *out_marks = pattern;
        return ACCEL_OK;
    }
    if (pattern->list == 0 && config->form.full_every != 0 &&
        accel_model_value_u64(pattern, 0, &every, NULL) == ACCEL_OK && every <= UINT32_MAX) {
        config->form.full_every = (uint32_t)every;
        return ACCEL_OK;
    }
    return model_fault(reader->error, ACCEL_E_UNSUPPORTED, reader->path, pattern->offset,
                       "%s does not have a boolean for each layer", key);
}

/* Reads one window for all layers, or for those of a pattern. */
static int32_t read_windows(const struct config_reader *reader)
{
    static const char *const none[4] = {NULL};
    static const char *const window_key[2] = {"attention.sliding_window"};
    const struct accel_model_value *marks;
    struct config_fact fact;
    uint64_t window = reader->config->form.gguf_window;
    uint32_t *windows;
    int32_t code = config_make_windows(reader, &windows);
    config_find(reader, none, window_key, &fact);
    if (code == ACCEL_OK && fact.kind != CONFIG_ABSENT) {
        if (fact.kind != CONFIG_INTEGER || fact.integer > UINT32_MAX || fact.real < 0)
            return config_fault(reader, ACCEL_E_CORRUPT, &fact, "is not a positive integer");
        window = fact.integer;
    }
    if (code == ACCEL_OK && window == 0 && reader->config->form.windows == FORM_WINDOW_PATTERN)
        return config_missing(reader, NULL, window_key[0]);
    if (code != ACCEL_OK || window == 0)
        return code;
    code = read_pattern(reader, &marks);
    for (uint32_t i = 0; i < reader->config->layers && code == ACCEL_OK; i++) {
        const bool marked = marks == NULL ? !config_is_full(reader, i) : ((const unsigned char *)marks->data)[i] != 0;
        windows[i] = marked ? (uint32_t)window : 0;
    }
    return code;
}

/* Keys that no family reads, with the values that change nothing. */
static const struct {
    const char *key;
    double neutral, other;
} unread[] = {
    {"attention.causal", 1, 1},
    {"attention.output_scale", 0, 1},
    {"attention.shared_kv_layers", 0, 0},
    {"attention.temperature_length", 0, 0},
    {"attention.temperature_scale", 0, 0},
    {"embedding_length_per_layer_input", 0, 0},
    {"full_attention_interval", 0, 1},
    {"nextn_predict_layers", 0, 0},
    {"rescale_every_n_layers", 0, 0},
    {"rope.dimension_sections", 0, 0},
    {"rope.scaling.alpha", 0, 0},
    {"rope.scaling.yarn_attn_factor", 0, 1},
    {"rope.scaling.yarn_ext_factor", -1, 1}, /* -1: as the kind of scaling states */
    {"swiglu_clamp_exp", 0, 0},
    {"swiglu_clamp_shexp", 0, 0},
};

/* Refuses a key whose value is neither of two. */
static int32_t refuse_other(const struct config_reader *reader, const char *key, double neutral, double other)
{
    static const char *const none[4] = {NULL};
    const char *const gguf[2] = {key};
    struct config_fact fact;
    double value;
    config_find(reader, none, gguf, &fact);
    value = fact.kind == CONFIG_BOOL ? fact.truth : fact.real;
    if (fact.kind == CONFIG_ABSENT ||
        ((fact.kind == CONFIG_BOOL || fact.kind == CONFIG_INTEGER || fact.kind == CONFIG_REAL) &&
         (value == neutral || value == other)))
        return ACCEL_OK;
    return config_fault(reader, ACCEL_E_UNSUPPORTED, &fact, "has a value that is not supported in this architecture");
}

/* Refuses keys of latent attention. */
static int32_t refuse_latent(const struct config_reader *reader)
{
    static const char *const keys[] = {"attention.key_length_mla", "attention.value_length_mla",
                                       "rope.scaling.yarn_log_multiplier"};
    int32_t code = ACCEL_OK;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && code == ACCEL_OK; i++)
        code = refuse_other(reader, keys[i], 0, 0);
    return code;
}

/* Refuses keys that change results and that nothing honors. */
static int32_t refuse_unread(const struct config_reader *reader)
{
    /* expert_gating_func: softmax of all experts, or of those of a token. */
    enum { GATING_NONE, GATING_SOFTMAX, GATING_SIGMOID, GATING_SOFTMAX_OF_CHOSEN };
    const struct decoder_form *form = &reader->config->form;
    const double bias = form->position == FORM_ALIBI ? form->alibi_bias == 0 ? 8 : form->alibi_bias : 0;
    int32_t code = ACCEL_OK;
    for (size_t i = 0; i < sizeof(unread) / sizeof(unread[0]) && code == ACCEL_OK; i++)
        code = refuse_other(reader, unread[i].key, unread[i].neutral, unread[i].other);
    if (code == ACCEL_OK)
        code = refuse_other(reader, "attention.max_alibi_bias", bias, bias);
    if (code == ACCEL_OK)
        code = refuse_other(reader, "expert_weights_norm", 0, form->expert_normalize);
    if (code == ACCEL_OK && form->expert_scale == 0)
        code = refuse_other(reader, "expert_weights_scale", 0, 1);
    if (code == ACCEL_OK && form->expert_groups == 0)
        code = refuse_other(reader, "expert_group_count", 0, 1);
    if (code == ACCEL_OK && reader->config->latent.kv == 0)
        code = refuse_latent(reader);
    if (code == ACCEL_OK)
        code = refuse_other(reader, "attention.key_length_swa", 0, reader->config->head_size);
    if (code == ACCEL_OK)
        code = refuse_other(reader, "attention.value_length_swa", 0, reader->config->value_size);
    if (code == ACCEL_OK)
        code = refuse_other(reader, "expert_gating_func", GATING_NONE,
                            form->expert_bias ? GATING_SOFTMAX_OF_CHOSEN : GATING_SOFTMAX);
    if (code == ACCEL_OK && form->position == FORM_ROTARY)
        code = refuse_other(reader, "rope.dimension_count_swa", reader->config->rope_sliding.dims,
                            reader->config->rope_sliding.dims);
    return code;
}

void config_as_gguf(const struct config_reader *reader)
{
    struct decoder_form *form = &reader->config->form;
    form->unit_offset = false;
    form->transposed = false;
    if (form->qkv == FORM_QKV_GROUPS)
        form->qkv = FORM_QKV_ROWS;
    if (form->qkv == FORM_QKV_SEPARATE && config_has(reader, "blk.0.attn_qkv.weight"))
        form->qkv = FORM_QKV_ROWS;
    else if (form->qkv == FORM_QKV_ROWS && config_has(reader, "blk.0.attn_q.weight"))
        form->qkv = FORM_QKV_SEPARATE;
    if (form->ffn == FORM_FUSED_GATE && config_has(reader, "blk.0.ffn_gate.weight"))
        form->ffn = FORM_GATED;
}

int32_t config_gguf_read(struct config_reader *reader)
{
    int32_t code = check_lists(reader);
    if (code == ACCEL_OK)
        code = read_windows(reader);
    if (code == ACCEL_OK)
        code = refuse_unread(reader);
    if (code == ACCEL_OK)
        code = read_tokens(reader);
    return code;
}
