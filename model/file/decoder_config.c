/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks the facts of a decoder that both kinds of files share. */
#include "config.h"

#include "model/file/decoder_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/decoder_config_reader.h"
#include "model/file/json.h"
#include "model/file/not_model.h"
#include "model/file/text.h"

#define CONFIG_NAME "config.json"
#define CONFIG_BYTES_MAX ((uint64_t)16 << 20)
#define CONFIG_DEPTH 32u

#define MEMBER(name) offsetof(struct accel_decoder_config, name)

/* Limits are far above every published model: they reject garbage before it is used as a size. */
static const struct config_row rows[] = {
    {{"num_hidden_layers", "n_layer", "num_layers"}, {"block_count"}, MEMBER(layers), CONFIG_TO_U32, true, 1, 65536},
    {{"hidden_size", "n_embd", "d_model"}, {"embedding_length"}, MEMBER(hidden), CONFIG_TO_U32, true, 1, 1048576},
    {{"intermediate_size", "ffn_dim", "n_inner"},
     {"feed_forward_length"},
     MEMBER(ffn),
     CONFIG_TO_U32,
     true,
     1,
     16777216},
    {{"num_attention_heads", "n_head"}, {"attention.head_count"}, MEMBER(heads), CONFIG_TO_U32, true, 1, 65536},
    {{"num_key_value_heads"}, {"attention.head_count_kv"}, MEMBER(kv_heads), CONFIG_TO_U32, false, 1, 65536},
    {{"head_dim"}, {"attention.key_length"}, MEMBER(head_size), CONFIG_TO_U32, false, 1, 65536},
    {{"v_head_dim"}, {"attention.value_length"}, MEMBER(value_size), CONFIG_TO_U32, false, 1, 65536},
    {{"vocab_size"}, {"vocab_size"}, MEMBER(vocabulary), CONFIG_TO_U32, false, 1, 67108864},
    {{"max_position_embeddings", "n_positions"},
     {"context_length"},
     MEMBER(context),
     CONFIG_TO_U32,
     true,
     1,
     4294967295.0},
    {{"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps"},
     {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"},
     MEMBER(norm_epsilon),
     CONFIG_TO_F64,
     true,
     0,
     1},
};

/* Names of tensors whose presence sets a member, per kind of file. The part after the layer's prefix is for layer 0. */
struct presence {
    const char *embedding, *output, *layer;
    struct {
        const char *name;
        size_t member;
    } marks[6];
};

static const struct presence presences[] = {
    [0] = {"model.embed_tokens.weight",
           "lm_head.weight",
           "model.layers.",
           {{"model.layers.0.self_attn.q_proj.bias", MEMBER(q_bias)},
            {"model.layers.0.self_attn.k_proj.bias", MEMBER(k_bias)},
            {"model.layers.0.self_attn.v_proj.bias", MEMBER(v_bias)},
            {"model.layers.0.self_attn.o_proj.bias", MEMBER(o_bias)},
            {"model.layers.0.mlp.down_proj.bias", MEMBER(mlp_bias)},
            {"model.layers.0.self_attn.q_norm.weight", MEMBER(qk_norm)}}},
    [1] = {"token_embd.weight",
           "output.weight",
           "blk.",
           {{"blk.0.attn_q.bias", MEMBER(q_bias)},
            {"blk.0.attn_k.bias", MEMBER(k_bias)},
            {"blk.0.attn_v.bias", MEMBER(v_bias)},
            {"blk.0.attn_output.bias", MEMBER(o_bias)},
            {"blk.0.ffn_down.bias", MEMBER(mlp_bias)},
            {"blk.0.attn_q_norm.weight", MEMBER(qk_norm)}}},
};

static const struct presence *find_presence(const struct config_reader *reader)
{
    return &presences[reader->config->format == ACCEL_MODEL_GGUF];
}

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

static void find_json(const struct config_reader *reader, const char *const json[4], struct config_fact *fact)
{
    const json_t *value = NULL;
    for (size_t i = 0; i < 4 && json[i] != NULL && (value == NULL || json_is_null(value)); i++) {
        value = json_object_get(reader->scope, json[i]);
        snprintf(fact->key, sizeof(fact->key), "%s", json[i]);
    }
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

const char *config_first_name(const struct config_reader *reader, const char *const json[4], const char *const gguf[2])
{
    return reader->root != NULL ? json[0] : gguf[0];
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
        snprintf(what, sizeof(what), "is %.17g, allowed are %s%.17g to %.17g", fact->real, whole ? "" : "above ",
                 row->low, row->high);
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

int32_t config_fill(const struct config_reader *reader, const struct config_row *list, size_t count, void *target)
{
    for (size_t i = 0; i < count; i++) {
        struct config_fact fact;
        int32_t code;
        config_find(reader, list[i].json, list[i].gguf, &fact);
        if (fact.kind == CONFIG_ABSENT && !list[i].required)
            continue;
        if (fact.kind == CONFIG_ABSENT)
            return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path, reader->root != NULL ? 0 : MODEL_GGUF_KEYS,
                               "the key %s%s%s is missing", reader->root != NULL ? "" : reader->config->architecture,
                               reader->root != NULL ? "" : ".", config_first_name(reader, list[i].json, list[i].gguf));
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

int32_t config_make_windows(const struct config_reader *reader, uint32_t **out_windows)
{
    struct accel_decoder_config *config = reader->config;
    *out_windows = model_pool_alloc(&config->pool, config->layers, sizeof(**out_windows));
    if (*out_windows == NULL)
        return model_no_memory(reader->error, reader->path, config->layers * sizeof(**out_windows));
    config->windows = *out_windows;
    return ACCEL_OK;
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
    if (config->kv_heads == 0)
        config->kv_heads = config->heads;
    if (config->kv_heads > config->heads || config->heads % config->kv_heads != 0)
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                           config_offset(reader, "num_key_value_heads", "attention.head_count_kv"),
                           "%u heads cannot be shared by %u key heads", config->heads, config->kv_heads);
    if (config->head_size == 0 && config->hidden % config->heads != 0)
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                           config_offset(reader, "num_attention_heads", "attention.head_count"),
                           "the hidden size %u is not divisible by %u heads, and no head size is given", config->hidden,
                           config->heads);
    if (config->head_size == 0)
        config->head_size = config->hidden / config->heads;
    if (config->value_size == 0)
        config->value_size = config->head_size;
    return ACCEL_OK;
}

/* Checks that every layer has tensors, and that no further layer has: a truncated model generates nonsense. Families
 * with other tensor names are not checked. */
static int32_t check_layers(const struct config_reader *reader)
{
    const struct presence *presence = find_presence(reader);
    char prefix[64];
    if (reader->file == NULL)
        return ACCEL_OK;
    if (reader->config->layers > accel_model_file_tensor_count(reader->file))
        return model_fault(reader->error, ACCEL_E_CORRUPT, reader->path,
                           config_offset(reader, "num_hidden_layers", "block_count"),
                           "the model should have %u layers, its files have %llu tensors", reader->config->layers,
                           (unsigned long long)accel_model_file_tensor_count(reader->file));
    snprintf(prefix, sizeof(prefix), "%s0.", presence->layer);
    if (!accel_model_file_has_prefix(reader->file, prefix))
        return ACCEL_OK;
    for (uint32_t i = 0; i < reader->config->layers; i++) {
        snprintf(prefix, sizeof(prefix), "%s%u.", presence->layer, i);
        if (!accel_model_file_has_prefix(reader->file, prefix))
            return model_fault(
                reader->error, ACCEL_E_CORRUPT, reader->path, config_offset(reader, "num_hidden_layers", "block_count"),
                "the model should have %u layers, but no tensor begins with %s", reader->config->layers, prefix);
    }
    snprintf(prefix, sizeof(prefix), "%s%u.", presence->layer, reader->config->layers);
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
    const char *name = find_presence(reader)->embedding;
    const struct accel_model_tensor *tensor = reader->file == NULL ? NULL : accel_model_file_find(reader->file, name);
    if (tensor != NULL && (tensor->rank != 2 || tensor->dims[1] != config->hidden))
        return model_fault(reader->error, ACCEL_E_CORRUPT, accel_model_file_part_path(reader->file, tensor->part),
                           tensor->offset, "%s is %llu x %llu of rank %u, its rows should have the hidden size %u",
                           name, (unsigned long long)tensor->dims[0], (unsigned long long)tensor->dims[1], tensor->rank,
                           config->hidden);
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

static void mark_presence(const struct config_reader *reader)
{
    const struct presence *presence = find_presence(reader);
    reader->config->tied = reader->file != NULL && !config_has(reader, presence->output);
    for (size_t i = 0; i < sizeof(presence->marks) / sizeof(presence->marks[0]); i++) {
        bool *mark = (bool *)((unsigned char *)reader->config + presence->marks[i].member);
        *mark = config_has(reader, presence->marks[i].name);
    }
}

static int32_t read_all(struct config_reader *reader)
{
    int32_t code = config_fill(reader, rows, sizeof(rows) / sizeof(rows[0]), reader->config);
    if (code == ACCEL_OK)
        code = check_heads(reader);
    if (code == ACCEL_OK)
        code = check_layers(reader);
    if (code == ACCEL_OK)
        code = check_vocabulary(reader);
    if (code == ACCEL_OK)
        code = config_rope_read(reader);
    if (code != ACCEL_OK)
        return code;
    mark_presence(reader);
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
    if (reader->config->architecture == NULL)
        return model_no_memory(reader->error, reader->path, length);
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
