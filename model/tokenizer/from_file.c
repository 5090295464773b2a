/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "model/file/fault.h"
#include "model/tokenizer/tokenizer.h"

#define KEY(name) "tokenizer.ggml." name
#define MAX_JSON ((uint64_t)256 << 20) /* bytes of a tokenizer.json */

/* Vocabulary metadata of a GGUF file; the texts belong to the file. */
struct collected {
    struct accel_token_vocabulary vocabulary;
    struct accel_token_text *tokens;
    struct accel_token_text *merges;
    float *scores;
    int32_t *types;
    char *charsmap;
};

static void free_collected(struct collected *collected)
{
    free(collected->tokens);
    free(collected->merges);
    free(collected->scores);
    free(collected->types);
    free(collected->charsmap);
}

/* A list of texts, copied to an array of the caller; absent gives none. */
static int32_t get_texts(const struct accel_model_file *file, const char *key, struct accel_token_text **out_texts,
                         size_t *out_count, struct accel_error *error)
{
    const struct accel_model_value *list;
    int32_t code;

    if (accel_model_file_find_value(file, key) == NULL)
        return ACCEL_OK;
    code = accel_model_file_get_list(file, key, ACCEL_MODEL_TEXT, &list, error);
    if (code != ACCEL_OK)
        return code;
    *out_texts = calloc(list->count + 1, sizeof(**out_texts));
    if (*out_texts == NULL)
        return accel_error_no_memory(error, "for %llu texts of %s", (unsigned long long)list->count, key);
    for (uint64_t i = 0; i < list->count; i++) {
        const struct accel_model_text *text = accel_model_value_text(list, i);

        (*out_texts)[i] = (struct accel_token_text){.data = text->text, .size = text->length};
    }
    *out_count = list->count;
    return ACCEL_OK;
}

/* A list that must be as long as the vocabulary; absent gives NULL. */
static int32_t get_numbers(const struct accel_model_file *file, const char *key, size_t count,
                           const struct accel_model_value **out_list, struct accel_error *error)
{
    const struct accel_model_value *value = accel_model_file_find_value(file, key);

    *out_list = NULL;
    if (value == NULL)
        return ACCEL_OK;
    if (value->list == 0 || value->count != count)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: %s has %llu values for %zu tokens",
                               accel_model_file_path(file), key, (unsigned long long)value->count, count);
    *out_list = value;
    return ACCEL_OK;
}

static int32_t get_scores(const struct accel_model_file *file, struct collected *collected, struct accel_error *error)
{
    size_t count = collected->vocabulary.token_count;
    const struct accel_model_value *list;
    int32_t code = get_numbers(file, KEY("scores"), count, &list, error);

    if (code != ACCEL_OK || list == NULL)
        return code;
    collected->scores = malloc((count + 1) * sizeof(*collected->scores));
    if (collected->scores == NULL)
        return accel_error_no_memory(error, "for %zu scores", count);
    for (size_t i = 0; code == ACCEL_OK && i < count; i++) {
        double score = 0;

        code = accel_model_value_f64(list, i, &score, error);
        collected->scores[i] = (float)score;
    }
    return code;
}

static int32_t get_types(const struct accel_model_file *file, struct collected *collected, struct accel_error *error)
{
    size_t count = collected->vocabulary.token_count;
    const struct accel_model_value *list;
    int32_t code = get_numbers(file, KEY("token_type"), count, &list, error);

    if (code != ACCEL_OK || list == NULL)
        return code;
    collected->types = malloc((count + 1) * sizeof(*collected->types));
    if (collected->types == NULL)
        return accel_error_no_memory(error, "for %zu token types", count);
    for (size_t i = 0; code == ACCEL_OK && i < count; i++) {
        int64_t type = 0;

        code = accel_model_value_i64(list, i, &type, error);
        collected->types[i] = type < 0 || type > INT32_MAX ? -1 : (int32_t)type;
    }
    return code;
}

/* The bytes of a map, which files hold as a list of numbers of 8 bits. */
static int32_t get_charsmap(const struct accel_model_file *file, struct collected *collected, struct accel_error *error)
{
    const struct accel_model_value *list = accel_model_file_find_value(file, KEY("precompiled_charsmap"));
    int32_t code = ACCEL_OK;

    if (list == NULL)
        return ACCEL_OK;
    collected->charsmap = malloc(list->count + 1);
    if (collected->charsmap == NULL)
        return accel_error_no_memory(error, "for %llu bytes of a character map", (unsigned long long)list->count);
    for (uint64_t i = 0; code == ACCEL_OK && i < list->count; i++) {
        int64_t byte = 0;

        code = accel_model_value_i64(list, i, &byte, error);
        if (code == ACCEL_OK && (byte < -128 || byte > 255))
            code =
                accel_error_set(error, ACCEL_E_CORRUPT, "%s: %s[%llu] is %lld, not a byte", accel_model_file_path(file),
                                KEY("precompiled_charsmap"), (unsigned long long)i, (long long)byte);
        collected->charsmap[i] = (char)byte;
    }
    collected->vocabulary.charsmap = (struct accel_token_text){.data = collected->charsmap, .size = list->count};
    return code;
}

/* The id at a key, or -1. Ids outside of the vocabulary are refused later, by name; those that are no int32_t here. */
static int32_t get_id(const struct accel_model_file *file, const char *key, int32_t *out_id, struct accel_error *error)
{
    uint64_t id;
    int32_t code;

    *out_id = -1;
    if (accel_model_file_find_value(file, key) == NULL)
        return ACCEL_OK;
    code = accel_model_file_get_u64(file, key, &id, error);
    if (code == ACCEL_OK && id > INT32_MAX)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: %s is %llu, outside of the vocabulary",
                               accel_model_file_path(file), key, (unsigned long long)id);
    if (code == ACCEL_OK)
        *out_id = (int32_t)id;
    return code;
}

static int32_t get_switch(const struct accel_model_file *file, const char *key, int32_t *out_value,
                          struct accel_error *error)
{
    *out_value = ACCEL_TOKEN_AS_KIND;
    return accel_model_file_find_value(file, key) == NULL ? ACCEL_OK
                                                          : accel_model_file_get_bool(file, key, out_value, error);
}

static int32_t get_name(const struct accel_model_file *file, const char *key, const char **out_name,
                        struct accel_error *error)
{
    struct accel_model_text text;
    int32_t code;

    *out_name = NULL;
    if (accel_model_file_find_value(file, key) == NULL)
        return ACCEL_OK;
    code = accel_model_file_get_text(file, key, &text, error);
    if (code == ACCEL_OK)
        *out_name = text.text;
    return code;
}

static int32_t get_ids(const struct accel_model_file *file, struct accel_token_vocabulary *vocabulary,
                       struct accel_error *error)
{
    int32_t code = get_id(file, KEY("bos_token_id"), &vocabulary->bos, error);

    if (code == ACCEL_OK)
        code = get_id(file, KEY("eos_token_id"), &vocabulary->eos, error);
    if (code == ACCEL_OK)
        code = get_id(file, KEY("unknown_token_id"), &vocabulary->unk, error);
    if (code == ACCEL_OK)
        code = get_id(file, KEY("padding_token_id"), &vocabulary->pad, error);
    if (code == ACCEL_OK)
        code = get_id(file, KEY("eot_token_id"), &vocabulary->eot, error);
    if (code == ACCEL_OK)
        code = get_id(file, KEY("seperator_token_id"), &vocabulary->sep, error); /* spelt so in GGUF */
    if (code == ACCEL_OK && vocabulary->bos < 0)
        code = get_id(file, KEY("cls_token_id"), &vocabulary->bos, error);
    if (code == ACCEL_OK)
        code = get_switch(file, KEY("add_bos_token"), &vocabulary->add_bos, error);
    if (code == ACCEL_OK)
        code = get_switch(file, KEY("add_eos_token"), &vocabulary->add_eos, error);
    if (code == ACCEL_OK)
        code = get_switch(file, KEY("add_space_prefix"), &vocabulary->add_space_prefix, error);
    if (code == ACCEL_OK)
        code = get_switch(file, KEY("remove_extra_whitespaces"), &vocabulary->remove_extra_whitespaces, error);
    if (code == ACCEL_OK)
        code = get_switch(file, KEY("normalizer.lowercase"), &vocabulary->lowercase, error);
    if (code == ACCEL_OK)
        code = get_switch(file, KEY("normalizer.strip_accents"), &vocabulary->strip_accents, error);
    return code;
}

static int32_t collect(const struct accel_model_file *file, struct collected *collected, struct accel_error *error)
{
    struct accel_token_vocabulary *vocabulary = &collected->vocabulary;
    struct accel_model_text chat;
    int32_t code = get_name(file, KEY("model"), &vocabulary->model, error);

    vocabulary->size = sizeof(*vocabulary);
    if (code == ACCEL_OK && vocabulary->model == NULL)
        code = accel_error_set(error, ACCEL_E_NOT_FOUND, "%s holds no tokenizer: no %s", accel_model_file_path(file),
                               KEY("model"));
    if (code == ACCEL_OK)
        code = get_name(file, KEY("pre"), &vocabulary->pre, error);
    if (code == ACCEL_OK)
        code = get_texts(file, KEY("tokens"), &collected->tokens, &vocabulary->token_count, error);
    if (code == ACCEL_OK)
        code = get_texts(file, KEY("merges"), &collected->merges, &vocabulary->merge_count, error);
    if (code == ACCEL_OK)
        code = get_scores(file, collected, error);
    if (code == ACCEL_OK)
        code = get_types(file, collected, error);
    if (code == ACCEL_OK)
        code = get_charsmap(file, collected, error);
    if (code == ACCEL_OK)
        code = get_ids(file, vocabulary, error);
    if (code == ACCEL_OK && accel_model_file_find_value(file, "tokenizer.chat_template") != NULL) {
        code = accel_model_file_get_text(file, "tokenizer.chat_template", &chat, error);
        if (code == ACCEL_OK)
            vocabulary->chat_template = (struct accel_token_text){.data = chat.text, .size = chat.length};
    }
    vocabulary->tokens = collected->tokens;
    vocabulary->merges = collected->merges;
    vocabulary->scores = collected->scores;
    vocabulary->types = collected->types;
    return code;
}

static int32_t create_gguf(const struct accel_model_file *file, struct accel_tokenizer **out_tokenizer,
                           struct accel_error *error)
{
    struct collected collected = {0};
    int32_t code = collect(file, &collected, error);

    if (code == ACCEL_OK)
        code =
            accel_tokenizer_create_vocabulary(&collected.vocabulary, accel_model_file_path(file), out_tokenizer, error);
    free_collected(&collected);
    return code;
}

/* A file beside the tensors that need not exist. */
static int32_t read_optional(const struct accel_model_file *file, const char *name, char **out_text,
                             uint64_t *out_length, struct accel_error *error)
{
    struct accel_error inner = {0};
    int32_t code = accel_model_file_sibling(file, name, MAX_JSON, out_text, out_length, &inner);

    if (code == ACCEL_E_NOT_FOUND)
        return ACCEL_OK;
    return model_error_copy(error, &inner);
}

/* Files of a tokenizer, in the order of preference; all but the first are SentencePiece models. */
static const char *const names[] = {"tokenizer.json", "tokenizer.model", "spiece.model"};

static int32_t read_tokenizer(const struct accel_model_file *file, const char **out_name, char **out_text,
                              uint64_t *out_length, struct accel_error *error)
{
    struct accel_error first = {0};
    int32_t code = accel_model_file_sibling(file, names[0], MAX_JSON, out_text, out_length, &first);

    *out_name = names[0];
    for (size_t i = 1; code == ACCEL_E_NOT_FOUND && i < sizeof(names) / sizeof(names[0]); i++) {
        *out_name = names[i];
        code = accel_model_file_sibling(file, names[i], MAX_JSON, out_text, out_length, NULL);
    }
    if (code == ACCEL_E_NOT_FOUND)
        accel_error_remedy(&first, "texts need the model's tokenizer.json beside its weights, or its tokenizer.model; "
                                   "accelctl trace runs ids");
    return code == ACCEL_OK ? ACCEL_OK : model_error_copy(error, &first);
}

static int32_t create_folder(const struct accel_model_file *file, struct accel_tokenizer **out_tokenizer,
                             struct accel_error *error)
{
    char *text = NULL, *config = NULL, *chat = NULL;
    uint64_t length = 0, config_length = 0, chat_length = 0;
    const char *name = NULL;
    int32_t code = read_tokenizer(file, &name, &text, &length, error);

    if (code == ACCEL_OK)
        code = read_optional(file, "tokenizer_config.json", &config, &config_length, error);
    if (code == ACCEL_OK)
        code = read_optional(file, "chat_template.jinja", &chat, &chat_length, error);
    if (code == ACCEL_OK && strcmp(name, names[0]) == 0)
        code = accel_tokenizer_create_json(text, length, config, config_length, accel_model_file_path(file),
                                           out_tokenizer, error);
    else if (code == ACCEL_OK)
        code = accel_tokenizer_create_sentencepiece(text, length, config, config_length, accel_model_file_path(file),
                                                    out_tokenizer, error);
    if (code == ACCEL_OK && chat != NULL) {
        char *copy = token_copy(chat, chat_length);

        if (copy == NULL) {
            accel_tokenizer_free(*out_tokenizer);
            *out_tokenizer = NULL;
            code = accel_error_no_memory(error, "for a chat template");
        } else {
            free((*out_tokenizer)->chat_template);
            (*out_tokenizer)->chat_template = copy;
        }
    }
    accel_model_text_free(text);
    accel_model_text_free(config);
    accel_model_text_free(chat);
    return code;
}

int32_t accel_tokenizer_create_file(const struct accel_model_file *file, struct accel_tokenizer **out_tokenizer,
                                    struct accel_error *error)
{
    int32_t code;

    if (file == NULL || out_tokenizer == NULL)
        return model_refuse_null(__func__, error);
    *out_tokenizer = NULL;
    code = accel_model_file_format(file) == ACCEL_MODEL_GGUF ? create_gguf(file, out_tokenizer, error)
                                                             : create_folder(file, out_tokenizer, error);
    if (code != ACCEL_OK && code != ACCEL_E_MEMORY)
        accel_error_remedy(error,
                           "name another conversion of the model, with a tokenizer that is read here; ids alone run by "
                           "accelctl trace");
    return accel_error_origin(error, ACCEL_FROM_MODEL, code);
}
