/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks the facts of a decoder that both kinds of files share. */
#include "model/family/decoder_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/family/decoder_config_reader.h"
#include "model/family/family.h"
#include "model/family/keys.h"
#include "model/file/json.h"
#include "model/file/not_model.h"
#include "model/file/text.h"

#define CONFIG_NAME "config.json"
#define CONFIG_BYTES_MAX ((uint64_t)16 << 20)
#define CONFIG_DEPTH 32u

/* Counts: the member, whether it is required, the most, the key of GGUF, those of config.json. Limits are far above
 * every published model: they reject garbage before it is used as a size. */
#define COUNT(member, required, most, gguf, ...)                                                                       \
    {                                                                                                                  \
        {__VA_ARGS__}, {gguf}, MEMBER(member), CONFIG_TO_U32, required, 1, most                                        \
    }
static const struct config_row rows[] = {
    /* as many layers as the weights of a description may have (model/describe/recipe.c) */
    COUNT(layers, true, 4096, "block_count", "num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    COUNT(hidden, true, 1048576, "embedding_length", "hidden_size", "n_embd", "d_model", "n_embed"),
    COUNT(ffn, false, 16777216, "feed_forward_length", "intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"),
    COUNT(heads, true, 65536, "attention.head_count", "num_attention_heads", "n_head", "n_heads"),
    COUNT(kv_heads, false, 65536, "attention.head_count_kv", "num_key_value_heads"),
    COUNT(head_size, false, 65536, "attention.key_length", "head_dim"),
    COUNT(value_size, false, 65536, "attention.value_length", "v_head_dim"),
    COUNT(vocabulary, false, 67108864, "vocab_size", "vocab_size"),
    COUNT(context, false, 4294967295.0, "context_length", "max_position_embeddings", "n_positions", "max_seq_len"),
};

/* By kind of norm (enum form_norm), which names the key of GGUF; last that of an unknown architecture. */
#define EPSILON(...)                                                                                                   \
    {                                                                                                                  \
        {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"}, {__VA_ARGS__}, MEMBER(norm_epsilon), \
            CONFIG_TO_F64, false, 0, 1                                                                                 \
    }
static const struct config_row epsilon_rows[] = {
    EPSILON("attention.layer_norm_rms_epsilon"),
    EPSILON("attention.layer_norm_epsilon"),
    EPSILON("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"),
};

static const struct config_row *epsilon_row(const struct accel_decoder_config *config)
{
    return &epsilon_rows[config->family == NULL ? 2u : (unsigned)config->form.norm];
}

/* Keys that change the form of some families. A family that does not read one refuses any value but `neutral`. */
#define FACTOR(key, neutral, member, gguf, ...)                                                                        \
    {                                                                                                                  \
        key, neutral,                                                                                                  \
        {                                                                                                              \
            {__VA_ARGS__}, {gguf}, MEMBER(form.member), CONFIG_TO_F64, false, 0, 1e6                                   \
        }                                                                                                              \
    }
static const struct {
    enum form_key key;
    double neutral;
    struct config_row row;
} form_rows[] = {
    FACTOR(KEY_EMBEDDING_SCALE, 1, embedding_scale, "embedding_scale", "embedding_multiplier"),
    FACTOR(KEY_RESIDUAL_SCALE, 1, residual_scale, "residual_scale", "residual_multiplier"),
    FACTOR(KEY_ATTENTION_SCALE, 0, attention_scale, "attention.scale", "attention_multiplier"),
    FACTOR(KEY_ATTENTION_WIDTH, 0, attention_width, NULL, "query_pre_attn_scalar"),
    FACTOR(KEY_LOGIT_SCALE, 1, logit_scale, "logit_scale", "logit_scale"),
    FACTOR(KEY_LOGIT_DIVISOR, 1, logit_divisor, "logit_scale", "logits_scaling"),
    FACTOR(KEY_ATTENTION_SOFTCAP, 0, attention_softcap, "attn_logit_softcapping", "attn_logit_softcapping"),
    FACTOR(KEY_LOGIT_SOFTCAP, 0, logit_softcap, "final_logit_softcapping", "final_logit_softcapping"),
    FACTOR(KEY_QKV_LIMIT, 0, qkv_limit, "attention.clamp_kqv", "clip_qkv"),
    FACTOR(KEY_GATE_LIMIT, 0, gate_limit, NULL, "swiglu_limit"),
    {KEY_EMBEDDING_WIDTH, 0, COUNT(form.embedding_width, false, 1048576, NULL, "word_embed_proj_dim")},
    {KEY_EXPERTS, 0,
     COUNT(form.experts, false, 65536, "expert_count", "num_local_experts", "num_experts", "n_routed_experts")},
};

#define FORM_ROWS (sizeof(form_rows) / sizeof(form_rows[0]))

/* Numbers of families with experts. */
static const struct config_row expert_rows[] = {
    COUNT(form.experts_used, true, 65536, "expert_used_count", "num_experts_per_tok"),
    COUNT(form.expert_ffn, false, 16777216, "expert_feed_forward_length", "moe_intermediate_size"),
};
static const struct config_row shared_row =
    COUNT(form.shared_ffn, true, 16777216, "expert_shared_feed_forward_length", "shared_expert_intermediate_size");

bool config_has(const struct config_reader *reader, const char *name)
{
    return reader->file != NULL && accel_model_file_find(reader->file, name) != NULL;
}

uint64_t config_offset(const struct config_reader *reader, const char *json, const char *gguf)
{
    char key[CONFIG_KEY_BYTES];
    const struct accel_model_value *value;
    if (reader->root != NULL)
        return model_json_find_key(reader->text, reader->length, json);
    snprintf(key, sizeof(key), "%s.%s", reader->config->architecture, gguf);
    value = accel_model_file_find_value(reader->file, key);
    if (value == NULL)
        value = accel_model_file_find_value(reader->file, gguf);
    return value == NULL ? MODEL_GGUF_KEYS : value->offset;
}

int32_t config_fault(const struct config_reader *reader, int32_t code, const struct config_fact *fact, const char *what)
{
    uint64_t offset = reader->root != NULL ? config_offset(reader, fact->key, NULL) : fact->offset;
    return model_fault(reader->error, code, reader->path, offset, "%s %s", fact->key, what);
}

/* Sets a fact to the default of an absent key. */
static void set_default(const struct config_reader *reader, const char *name, struct config_fact *fact)
{
    const struct family_key *key = config_key(reader, name);
    if (key == NULL || fact->kind != CONFIG_ABSENT)
        return;
    if (key->use == KEY_WITH_FLAG || key->use == KEY_WITH_ONE_FLAG)
        fact->kind = CONFIG_BOOL;
    else if (key->use == KEY_WITH_INTEGER)
        fact->kind = CONFIG_INTEGER;
    else if (key->use == KEY_WITH_REAL || key->use == KEY_WITH_ONE_NUMBER)
        fact->kind = CONFIG_REAL;
    else
        return;
    fact->truth = key->value != 0;
    fact->real = key->value;
    fact->integer = (uint64_t)key->value;
    snprintf(fact->key, sizeof(fact->key), "%s", name);
}

static void find_json(const struct config_reader *reader, const char *const json[4], struct config_fact *fact)
{
    const bool is_top = reader->scope == reader->root;
    bool is_absent = true;
    const json_t *value = NULL;
    for (size_t i = 0; i < 4 && json[i] != NULL && (value == NULL || json_is_null(value)); i++) {
        if (is_top && !config_reads(reader, json[i]))
            continue;
        value = json_object_get(reader->scope, json[i]);
        is_absent = is_absent && value == NULL;
        snprintf(fact->key, sizeof(fact->key), "%s", json[i]);
    }
    for (size_t i = 0; i < 4 && json[i] != NULL && is_top && is_absent; i++)
        set_default(reader, json[i], fact);
    if (value == NULL || json_is_null(value))
        return;
    fact->kind = CONFIG_OTHER;
    if (json_is_integer(value)) {
        fact->kind = CONFIG_INTEGER;
        fact->real = (double)json_integer_value(value);
        fact->integer = json_integer_value(value) < 0 ? 0 : (uint64_t)json_integer_value(value);
    } else if (json_is_real(value)) {
        fact->kind = CONFIG_REAL;
        fact->real = json_real_value(value);
    } else if (json_is_boolean(value)) {
        fact->kind = CONFIG_BOOL;
        fact->truth = json_is_true(value);
    } else if (json_is_string(value)) {
        fact->kind = CONFIG_TEXT;
        fact->text = json_string_value(value);
    }
}

/* Returns whether all elements of a list are equal: some architectures have one element per layer. */
static bool has_equal_elements(const struct accel_model_value *value)
{
    const unsigned char *data = value->data;
    for (uint64_t i = 1; i < value->count; i++) {
        if (memcmp(data, data + i * value->width, value->width) != 0)
            return false;
    }
    return value->count > 0 && value->kind != ACCEL_MODEL_TEXT;
}

static void read_value(const struct accel_model_value *value, struct config_fact *fact)
{
    fact->kind = CONFIG_OTHER;
    fact->offset = value->offset;
    if (value->list != 0 && !has_equal_elements(value)) {
        fact->kind = CONFIG_VARIES;
        return;
    }
    if (value->kind == ACCEL_MODEL_TEXT) {
        fact->kind = CONFIG_TEXT;
        fact->text = accel_model_value_text(value, 0)->text;
    } else if (value->kind == ACCEL_MODEL_BOOL) {
        fact->kind = CONFIG_BOOL;
        fact->truth = *(const unsigned char *)value->data != 0;
    } else if (accel_model_value_f64(value, 0, &fact->real, NULL) == ACCEL_OK) {
        fact->kind = value->kind == ACCEL_MODEL_FLOAT ? CONFIG_REAL : CONFIG_INTEGER;
        if (accel_model_value_u64(value, 0, &fact->integer, NULL) != ACCEL_OK)
            fact->integer = 0;
    }
}

static void find_gguf(const struct config_reader *reader, const char *const gguf[2], struct config_fact *fact)
{
    for (size_t i = 0; i < 2 && gguf[i] != NULL; i++) {
        const struct accel_model_value *value;
        snprintf(fact->key, sizeof(fact->key), "%s.%s", reader->config->architecture, gguf[i]);
        value = accel_model_file_find_value(reader->file, fact->key);
        if (value == NULL)
            continue;
        read_value(value, fact);
        return;
    }
}

void config_find(const struct config_reader *reader, const char *const json[4], const char *const gguf[2],
                 struct config_fact *out_fact)
{
    memset(out_fact, 0, sizeof(*out_fact));
    out_fact->offset = MODEL_NO_OFFSET;
    if (reader->root != NULL)
        find_json(reader, json, out_fact);
    else
        find_gguf(reader, gguf, out_fact);
}

/* Returns the first name of a fact in this kind of file, for messages. */
static const char *config_first_name(const struct config_reader *reader, const char *const json[4],
                                     const char *const gguf[2])
{
    if (reader->root == NULL)
        return gguf[0];
    for (size_t i = 0; i < 4 && json[i] != NULL; i++)
        if (config_key(reader, json[i]) != NULL)
            return json[i];
    return json[0];
}

/* Checks the range of a number and stores it. */
static int32_t store_number(const struct config_reader *reader, const struct config_row *row,
                            const struct config_fact *fact, unsigned char *target)
{
    bool whole = row->target == CONFIG_TO_U32;
    char what[128];
    if (fact->kind == CONFIG_VARIES)
        return config_fault(reader, ACCEL_E_UNSUPPORTED, fact, "differs from layer to layer, which is not supported");
    if (fact->kind != CONFIG_INTEGER && (whole || fact->kind != CONFIG_REAL))
        return config_fault(reader, ACCEL_E_CORRUPT, fact, whole ? "is not an integer" : "is not a number");
    if (!isfinite(fact->real) || fact->real < row->low || fact->real > row->high || fact->real == 0) {
        snprintf(what, sizeof(what), "is %.17g, allowed are %s%.17g to %.17g", fact->real,
                 whole || row->low != 0 ? "" : "above ", row->low, row->high);
        return config_fault(reader, ACCEL_E_CORRUPT, fact, what);
    }
    if (whole) {
        uint32_t number = (uint32_t)fact->integer;
        memcpy(target + row->member, &number, sizeof(number));
    } else {
        memcpy(target + row->member, &fact->real, sizeof(fact->real));
    }
    return ACCEL_OK;
}

int32_t config_missing(const struct config_reader *reader, const char *json, const char *gguf)
{
    const bool is_json = reader->root != NULL, is_null = is_json && json_object_get(reader->scope, json) != NULL;
    return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, is_json ? 0 : MODEL_GGUF_KEYS,
                       "the key %s%s%s is %s", is_json ? "" : reader->config->architecture, is_json ? "" : ".",
                       is_json ? json : gguf, is_null ? "null" : "missing");
}

static int32_t missing_row(const struct config_reader *reader, const struct config_row *row)
{
    const char *name = config_first_name(reader, row->json, row->gguf);
    return config_missing(reader, name, name);
}

int32_t config_fill(const struct config_reader *reader, const struct config_row *list, size_t count, void *target)
{
    for (size_t i = 0; i < count; i++) {
        struct config_fact fact;
        int32_t code;
        config_find(reader, list[i].json, list[i].gguf, &fact);
        if (fact.kind == CONFIG_ABSENT && !list[i].required)
            continue;
        if (fact.kind == CONFIG_ABSENT)
            return missing_row(reader, &list[i]);
        code = store_number(reader, &list[i], &fact, target);
        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

int32_t config_find_bool(const struct config_reader *reader, const char *name, bool *out_truth, bool *out_found)
{
    const char *const json[4] = {name};
    const char *const gguf[2] = {name};
    struct config_fact fact;
    config_find(reader, json, gguf, &fact);
    *out_found = fact.kind == CONFIG_BOOL;
    if (fact.kind == CONFIG_BOOL)
        *out_truth = fact.truth;
    if (fact.kind == CONFIG_BOOL || fact.kind == CONFIG_ABSENT)
        return ACCEL_OK;
    return config_fault(reader, ACCEL_E_CORRUPT, &fact, "is not true or false");
}

bool config_flag(struct config_reader *reader, const char *name, bool fallback)
{
    bool truth = fallback, found;
    if (reader->code == ACCEL_OK)
        reader->code = config_find_bool(reader, name, &truth, &found);
    return truth;
}

int32_t config_make_windows(const struct config_reader *reader, uint32_t **out_windows)
{
    struct accel_decoder_config *config = reader->config;
    *out_windows = model_pool_alloc(&config->pool, config->layers, sizeof(**out_windows));
    if (*out_windows == NULL)
        return model_no_memory(reader->error, reader->path, config->layers * sizeof(**out_windows));
    config->windows = *out_windows;
    return ACCEL_OK;
}

bool config_is_full(const struct config_reader *reader, uint32_t layer)
{
    const uint32_t every = reader->config->form.full_every;
    return every != 0 && (layer + 1) % every == 0;
}

static int32_t check_id(const struct config_reader *reader, const char *key, int64_t id)
{
    if (id < reader->config->vocabulary)
        return ACCEL_OK;
    return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, key),
                       "%s is %lld, the vocabulary has %u tokens", key, (long long)id, reader->config->vocabulary);
}

int32_t config_set_token(const struct config_reader *reader, const char *key, int64_t id, int64_t *out_id,
                         bool must_exist)
{
    int32_t code;
    *out_id = -1;
    if (id < 0 || id == UINT32_MAX)
        return ACCEL_OK;
    code = must_exist ? check_id(reader, key, id) : ACCEL_OK;
    if (code == ACCEL_OK && id < reader->config->vocabulary)
        *out_id = id;
    return code;
}

int32_t config_set_eos(const struct config_reader *reader, const char *key, const int64_t *ids, size_t count)
{
    uint32_t *list = model_pool_alloc(&reader->config->pool, count, sizeof(*list));
    uint32_t used = 0;
    if (list == NULL)
        return model_no_memory(reader->error, reader->path, count * sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        int64_t id;
        int32_t code = config_set_token(reader, key, ids[i], &id, true);
        if (code != ACCEL_OK)
            return code;
        if (id >= 0)
            list[used++] = (uint32_t)id;
    }
    reader->config->eos = list;
    reader->config->eos_count = used;
    return ACCEL_OK;
}

static int32_t check_heads(const struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    const bool is_default = config_key(reader, "num_key_value_heads") != NULL &&
                            json_object_get(reader->root, "num_key_value_heads") == NULL;
    if (config->kv_heads == 0)
        config->kv_heads = config->heads;
    if (config->kv_heads > config->heads || config->heads % config->kv_heads != 0)
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                           config_offset(reader, "num_key_value_heads", "attention.head_count_kv"),
                           "%u heads cannot be shared by %u key heads%s", config->heads, config->kv_heads,
                           is_default ? ": num_key_value_heads is missing, which means that number" : "");
    if (config->head_size == 0 && config->hidden % config->heads != 0)
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                           config_offset(reader, "num_attention_heads", "attention.head_count"),
                           "the hidden size %u is not divisible by %u heads, and no head size is given", config->hidden,
                           config->heads);
    if (config->head_size == 0)
        config->head_size = config->hidden / config->heads;
    /* GGUF files without the length of values have that of whole rows, whatever length keys have. */
    if (config->value_size == 0 && reader->root == NULL && config->hidden >= config->heads)
        config->value_size = config->hidden / config->heads;
    if (config->value_size == 0)
        config->value_size = config->head_size;
    return ACCEL_OK;
}

/* Checks that every layer has tensors, and that no further layer has: a truncated model generates nonsense. Families
 * with other tensor names are not checked. */
static int32_t check_layers(const struct config_reader *reader)
{
    const char *name = decoder_part_name(reader->config, DECODER_FFN_DOWN);
    const int stem = (int)(strstr(name, "%u") - name);
    char prefix[64];
    if (reader->file == NULL)
        return ACCEL_OK;
    if (reader->config->layers > accel_model_file_tensor_count(reader->file))
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                           config_offset(reader, "num_hidden_layers", "block_count"),
                           "the model should have %u layers, its files have %llu tensors", reader->config->layers,
                           (unsigned long long)accel_model_file_tensor_count(reader->file));
    snprintf(prefix, sizeof(prefix), "%.*s0.", stem, name);
    if (!accel_model_file_has_prefix(reader->file, prefix))
        return ACCEL_OK;
    for (uint32_t i = 0; i < reader->config->layers; i++) {
        snprintf(prefix, sizeof(prefix), "%.*s%u.", stem, name, i);
        if (!accel_model_file_has_prefix(reader->file, prefix))
            return model_fault(
                reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, "num_hidden_layers", "block_count"),
                "the model should have %u layers, but no tensor begins with %s", reader->config->layers, prefix);
    }
    snprintf(prefix, sizeof(prefix), "%.*s%u.", stem, name, reader->config->layers);
    if (accel_model_file_has_prefix(reader->file, prefix))
        return model_fault(
            reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, "num_hidden_layers", "block_count"),
            "the model should have %u layers, but tensors begin with %s", reader->config->layers, prefix);
    return ACCEL_OK;
}

/* Checks the vocabulary against the embedding, or takes it from there if no key has it. */
static int32_t check_vocabulary(const struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    const uint32_t width = config->form.embedding_width == 0 ? config->hidden : config->form.embedding_width;
    const struct accel_model_tensor *tensor = NULL;
    char name[DECODER_NAME_BYTES];
    decoder_tensor_name(config, DECODER_EMBEDDING, 0, ".weight", name);
    if (reader->file != NULL)
        tensor = accel_model_file_find(reader->file, name);
    if (tensor != NULL && (tensor->rank != 2 || tensor->dims[1] != width))
        return model_fault(reader->error, ACCEL_E_CORRUPT, accel_model_file_part_path(reader->file, tensor->part),
                           tensor->offset, "%s is %llu x %llu of rank %u, its rows should have the hidden size %u",
                           name, (unsigned long long)tensor->dims[0], (unsigned long long)tensor->dims[1], tensor->rank,
                           width);
    if (tensor != NULL && config->vocabulary == 0 && tensor->dims[0] <= INT32_MAX)
        config->vocabulary = (uint32_t)tensor->dims[0];
    if (config->vocabulary == 0)
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                           config_offset(reader, "vocab_size", "vocab_size"), "the size of the vocabulary is missing");
    if (tensor != NULL && tensor->dims[0] != config->vocabulary)
        return model_fault(reader->error, ACCEL_E_CORRUPT, accel_model_file_part_path(reader->file, tensor->part),
                           tensor->offset, "%s has %llu rows, the vocabulary has %u tokens", name,
                           (unsigned long long)tensor->dims[0], config->vocabulary);
    return ACCEL_OK;
}

/* Decides whether a tensor of the form exists. */
static bool is_present(const struct config_reader *reader, enum form_presence presence, enum decoder_part part,
                       const char *suffix)
{
    char name[DECODER_NAME_BYTES];
    if (presence != FORM_IF_STORED)
        return presence == FORM_PRESENT;
    return decoder_tensor_name(reader->config, part, 0, suffix, name) && config_has(reader, name);
}

static void decide_presence(const struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    const struct decoder_form *form = &config->form;
    const enum decoder_part qkv = form->qkv == FORM_QKV_SEPARATE ? DECODER_QUERY : DECODER_QKV;
    config->tied = form->output == FORM_ABSENT ||
                   (reader->file != NULL && !is_present(reader, form->output, DECODER_OUTPUT, ".weight"));
    config->q_bias = is_present(reader, form->q_bias, qkv, ".bias");
    config->k_bias = is_present(reader, form->k_bias, DECODER_KEY, ".bias");
    config->v_bias = is_present(reader, form->v_bias, DECODER_VALUE, ".bias");
    config->o_bias = is_present(reader, form->o_bias, DECODER_ATTENTION_OUT, ".bias");
    config->mlp_bias = is_present(reader, form->ffn_bias, DECODER_FFN_DOWN, ".bias");
    config->output_bias = is_present(reader, form->output_bias, DECODER_OUTPUT, ".bias");
    config->norm_bias = is_present(reader, form->norm_bias, DECODER_ATTENTION_NORM, ".bias");
    config->embedding_norm = is_present(reader, form->embedding_norm, DECODER_EMBEDDING_NORM, ".weight");
    config->qk_norm =
        form->qk_norm != FORM_QK_NONE && is_present(reader, form->qk_norm_presence, DECODER_QUERY_NORM, ".weight");
}

/* Gives numbers that no key has the value that the family implies; GGUF requires the keys. */
static int32_t complete_numbers(const struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    const bool is_json = reader->root != NULL;
    if (config->ffn == 0 && is_json)
        config->ffn = config->form.ffn_by_hidden * config->hidden;
    if (config->ffn == 0 && config->form.expert_ffn == 0)
        return missing_row(reader, &rows[2]);
    if (config->context == 0 && is_json)
        config->context = config->form.context;
    if (config->context == 0)
        return missing_row(reader, &rows[8]);
    if (config->norm_epsilon == 0 && is_json)
        config->norm_epsilon = config->form.norm_epsilon;
    return config->norm_epsilon == 0 ? missing_row(reader, epsilon_row(config)) : ACCEL_OK;
}

/* Returns whether a family reads a key of GGUF under another meaning: one name serves a factor of the logits and a
 * divisor of them. */
static bool is_read_otherwise(const struct config_reader *reader, uint32_t keys, size_t row)
{
    const char *name = form_rows[row].row.gguf[0];
    for (size_t i = 0; i < FORM_ROWS && reader->root == NULL && name != NULL; i++) {
        const char *other = form_rows[i].row.gguf[0];
        if ((keys & form_rows[i].key) != 0 && other != NULL && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* Reads the keys of the form. One that the family does not read is refused unless its value changes nothing. */
static int32_t read_form_keys(struct config_reader *reader, uint32_t keys)
{
    int32_t code = ACCEL_OK;
    for (size_t i = 0; i < FORM_ROWS && code == ACCEL_OK; i++) {
        const struct config_row *row = &form_rows[i].row;
        struct config_fact fact;
        config_find(reader, row->json, row->gguf, &fact);
        const bool is_read = (keys & form_rows[i].key) != 0;
        if ((!is_read || (reader->root == NULL && form_rows[i].neutral == 0)) &&
            (fact.kind == CONFIG_INTEGER || fact.kind == CONFIG_REAL) && fact.real == form_rows[i].neutral)
            continue;
        if (is_read)
            code = config_fill(reader, row, 1, reader->config);
        else if (fact.kind != CONFIG_ABSENT && !is_read_otherwise(reader, keys, i))
            code = config_fault(reader, ACCEL_E_UNSUPPORTED, &fact, "has no meaning in this architecture");
    }
    return code;
}

/* Reads the form, and the numbers of experts where there are any. */
static int32_t read_form(struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    const uint32_t keys = config->family == NULL ? UINT32_MAX : config->family->keys;
    struct config_row shared = shared_row;
    bool found;
    int32_t code = read_form_keys(reader, keys);
    if (code != ACCEL_OK || config->form.experts == 0)
        return code;
    code = config_fill(reader, expert_rows, sizeof(expert_rows) / sizeof(expert_rows[0]), config);
    shared.required = reader->root != NULL; /* GGUF files may leave it to the family */
    if (code == ACCEL_OK && (keys & KEY_SHARED_EXPERT) != 0)
        code = config_fill(reader, &shared, 1, config);
    if (code == ACCEL_OK && reader->root != NULL)
        code = config_find_bool(reader, "norm_topk_prob", &config->form.expert_normalize, &found);
    if (code == ACCEL_OK && config->form.experts_used > config->form.experts)
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                           config_offset(reader, "num_experts_per_tok", "expert_used_count"),
                           "%s is %u, the model has %u experts",
                           reader->root != NULL ? "num_experts_per_tok" : "expert_used_count",
                           config->form.experts_used, config->form.experts);
    return code;
}

/* Skips the first word of names that the file does not have with it: checkpoints of the part below the output. */
static void find_prefix(const struct config_reader *reader)
{
    struct accel_decoder_config *config = reader->config;
    const char *dot = strchr(decoder_part_name(config, DECODER_EMBEDDING), '.');
    char name[DECODER_NAME_BYTES];
    decoder_tensor_name(config, DECODER_EMBEDDING, 0, ".weight", name);
    if (reader->file == NULL || config->format == ACCEL_MODEL_GGUF || dot == NULL || config_has(reader, name))
        return;
    if (config_has(reader, strchr(name, '.') + 1))
        config->prefix = (uint32_t)(strchr(name, '.') + 1 - name);
}

static int32_t read_all(struct config_reader *reader)
{
    int32_t code = config_check_keys(reader);
    if (code == ACCEL_OK)
        code = config_fill(reader, rows, sizeof(rows) / sizeof(rows[0]), reader->config);
    if (code == ACCEL_OK)
        code = config_fill(reader, epsilon_row(reader->config), 1, reader->config);
    if (code == ACCEL_OK)
        code = read_form(reader);
    if (code == ACCEL_OK && reader->config->family != NULL && reader->config->family->adapt != NULL)
        code = reader->config->family->adapt(reader);
    if (code == ACCEL_OK && reader->root == NULL)
        config_as_gguf(reader);
    if (code == ACCEL_OK)
        code = complete_numbers(reader);
    if (code == ACCEL_OK)
        find_prefix(reader);
    if (code == ACCEL_OK)
        code = check_heads(reader);
    if (code == ACCEL_OK)
        code = check_layers(reader);
    if (code == ACCEL_OK)
        code = check_vocabulary(reader);
    if (code == ACCEL_OK && reader->config->form.position == FORM_ROTARY)
        code = config_rope_read(reader);
    if (code == ACCEL_OK)
        code = config_no_rotary_read(reader);
    if (code == ACCEL_OK)
        code = config_mixture_read(reader);
    if (code != ACCEL_OK)
        return code;
    decide_presence(reader);
    return reader->root != NULL ? config_json_read(reader) : config_gguf_read(reader);
}

static int32_t finish(struct config_reader *reader, int32_t code)
{
    if (code == ACCEL_OK)
        code = read_all(reader);
    if (code != ACCEL_OK)
        accel_decoder_config_free(reader->config);
    return code;
}

static const struct decoder_form unknown_form = {
    .q_bias = FORM_IF_STORED,
    .k_bias = FORM_IF_STORED,
    .v_bias = FORM_IF_STORED,
    .o_bias = FORM_IF_STORED,
    .ffn_bias = FORM_IF_STORED,
    .output = FORM_IF_STORED,
    .windows = FORM_WINDOW_FROM,
    .qk_norm = FORM_QK_HEAD,
    .qk_norm_presence = FORM_IF_STORED,
};

/* Sets the architecture. It is the prefix of GGUF keys, so it must be short and printable. */
static int32_t set_architecture(struct config_reader *reader, const char *key, const char *name, uint64_t length)
{
    if (length == 0 || length > 64 || strlen(name) != length)
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, key),
                           "%s has %llu bytes, allowed are 1 to 64", key, (unsigned long long)length);
    for (uint64_t i = 0; i < length; i++) {
        if (name[i] <= ' ' || name[i] > '~')
            return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, key, key),
                               "%s has a character that is not printable ASCII", key);
    }
    reader->config->architecture = model_pool_text(&reader->config->pool, name, length);
    reader->config->origin = model_pool_text(&reader->config->pool, reader->path, strlen(reader->path));
    if (reader->config->architecture == NULL || reader->config->origin == NULL)
        return model_no_memory(reader->error, reader->path, length);
    /* An unknown architecture is refused by who opens the model; its numbers are read as those of a llama. */
    if (model_family_find(reader->path, reader->config->architecture, &reader->config->family, NULL) == ACCEL_OK)
        reader->config->form = reader->config->family->form;
    else
        reader->config->form = unknown_form;
    return ACCEL_OK;
}

int32_t accel_decoder_config_parse(const char *path, const char *text, uint64_t length,
                                   const struct accel_model_file *file, struct accel_decoder_config *out_config,
                                   struct accel_error *error)
{
    struct config_reader reader = {.path = path, .file = file, .config = out_config, .error = error};
    json_t *root = NULL;
    const json_t *type;
    int32_t code;
    memset(out_config, 0, sizeof(*out_config));
    code = model_json_parse(path, 0, text, length, CONFIG_DEPTH, &root, error);
    if (code != ACCEL_OK)
        return code;
    out_config->format = ACCEL_MODEL_SAFETENSORS;
    reader.root = root;
    reader.scope = root;
    reader.text = text;
    reader.length = length;
    type = json_object_get(root, "model_type");
    if (json_is_string(type))
        code = set_architecture(&reader, "model_type", json_string_value(type), json_string_length(type));
    else
        code = model_fault(error, ACCEL_E_CORRUPT, path, config_offset(&reader, "model_type", NULL),
                           "model_type is %s, not a string", model_json_kind(type));
    if (code == ACCEL_OK)
        code = config_refuse_multimodal(&reader);
    code = finish(&reader, code);
    json_decref(root);
    return code;
}

static int32_t read_gguf(const struct accel_model_file *file, struct accel_decoder_config *out_config,
                         struct accel_error *error)
{
    struct config_reader reader = {
        .path = accel_model_file_path(file), .file = file, .config = out_config, .error = error};
    struct accel_model_text text = {"", 0};
    int32_t code = accel_model_file_get_text(file, "general.architecture", &text, error);
    out_config->format = ACCEL_MODEL_GGUF;
    if (code == ACCEL_OK)
        code = set_architecture(&reader, "general.architecture", text.text, text.length);
    return finish(&reader, code);
}

int32_t accel_decoder_config_read(const struct accel_model_file *file, struct accel_decoder_config *out_config,
                                  struct accel_error *error)
{
    char *text = NULL, *folder, *path;
    uint64_t length = 0;
    int32_t code;
    memset(out_config, 0, sizeof(*out_config));
    if (accel_model_file_format(file) == ACCEL_MODEL_GGUF)
        return read_gguf(file, out_config, error);
    code = accel_model_file_sibling(file, CONFIG_NAME, CONFIG_BYTES_MAX, &text, &length, error);
    if (code == ACCEL_E_NOT_FOUND)
        model_remedy_config(error);
    if (code != ACCEL_OK)
        return code;
    folder = model_text_folder(accel_model_file_part_path(file, 0));
    path = folder == NULL ? NULL : model_text_join(folder, CONFIG_NAME);
    if (path != NULL)
        code = accel_decoder_config_parse(path, text, length, file, out_config, error);
    else
        code = model_no_memory(error, CONFIG_NAME, sizeof(CONFIG_NAME));
    free(path);
    free(folder);
    accel_model_text_free(text);
    return code;
}

void accel_decoder_config_free(struct accel_decoder_config *config)
{
    if (config == NULL)
        return;
    model_pool_free(&config->pool);
    memset(config, 0, sizeof(*config));
}
