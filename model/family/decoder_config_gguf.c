/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the facts that only GGUF metadata have: windows with a pattern, vocabulary lists, special tokens by key. */
#include "config.h"

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

/* Reads one window for all layers, or for those that a list of booleans marks. A pattern given as a number leaves its
 * phase to the architecture, so it is refused. */
static int32_t read_windows(const struct config_reader *reader)
{
    static const char *const none[4] = {NULL};
    static const char *const window_key[2] = {"attention.sliding_window"};
    char key[CONFIG_KEY_BYTES];
    const struct accel_model_value *pattern;
    struct config_fact fact;
    uint32_t *windows;
    int32_t code = config_make_windows(reader, &windows);
    config_find(reader, none, window_key, &fact);
    if (code != ACCEL_OK || fact.kind == CONFIG_ABSENT)
        return code;
    if (fact.kind != CONFIG_INTEGER || fact.integer > UINT32_MAX || fact.real < 0)
        return config_fault(reader, ACCEL_E_CORRUPT, &fact, "is not a positive integer");
    snprintf(key, sizeof(key), "%s.attention.sliding_window_pattern", reader->config->architecture);
    pattern = accel_model_file_find_value(reader->file, key);
    if (pattern != NULL && (pattern->kind != ACCEL_MODEL_BOOL || pattern->count != reader->config->layers))
        return model_fault(reader->error, ACCEL_E_UNSUPPORTED, reader->path, pattern->offset,
                           "%s does not have a boolean for each layer", key);
    for (uint32_t i = 0; i < reader->config->layers; i++) {
        bool marked = pattern == NULL ? !config_is_full(reader, i) : ((const unsigned char *)pattern->data)[i] != 0;
        windows[i] = marked ? (uint32_t)fact.integer : 0;
    }
    return ACCEL_OK;
}

int32_t config_gguf_read(struct config_reader *reader)
{
    int32_t code = check_lists(reader);
    if (code == ACCEL_OK)
        code = read_windows(reader);
    if (code == ACCEL_OK)
        code = read_tokens(reader);
    return code;
}
