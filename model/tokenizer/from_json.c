/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "model/tokenizer/json_steps.h"

/* Ids may have gaps, but a small file must not allocate a large table. */
static bool id_allowed(json_int_t id, size_t entries)
{
    return id >= 0 && id < INT32_MAX && (uint64_t)id <= (uint64_t)entries * 2 + 65536;
}

static int32_t read_vocabulary(struct accel_tokenizer *made, const json_t *model, const struct token_json_place *place,
                               struct accel_error *error)
{
    json_t *vocab = json_object_get(model, "vocab");
    size_t entries = json_object_size(vocab);
    const char *text;
    json_t *value;

    if (!json_is_object(vocab))
        return token_json_wrong(place, "vocab", "an object", error);
    if (!token_vocab_init(&made->vocab, entries))
        return accel_error_no_memory(error, "for a tokenizer");
    json_object_foreach(vocab, text, value)
    {
        int32_t code;

        if (!json_is_integer(value) || !id_allowed(json_integer_value(value), entries))
            return accel_error_set(error, ACCEL_E_CORRUPT, "%s.vocab[\"%.100s\"] must be an id that %zu tokens justify",
                                   place->path, text, entries);
        code = token_vocab_add(&made->vocab, (int32_t)json_integer_value(value), text, strlen(text), 0, error);
        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

/* One merge, "left right" or ["left", "right"]. */
static int32_t read_merge(struct accel_tokenizer *made, const json_t *merge, size_t rank,
                          const struct token_json_place *place, struct accel_error *error)
{
    const char *left = NULL, *right = NULL;
    size_t left_size = 0, right_size = 0;

    if (json_is_string(merge)) {
        const char *blank = strchr(json_string_value(merge), ' ');

        left = json_string_value(merge);
        left_size = blank == NULL ? 0 : (size_t)(blank - left);
        right = blank == NULL ? NULL : blank + 1;
        right_size = right == NULL ? 0 : json_string_length(merge) - left_size - 1;
        if (right != NULL && strchr(right, ' ') != NULL)
            right = NULL;
    } else if (json_is_array(merge) && json_array_size(merge) == 2) {
        left = json_string_value(json_array_get(merge, 0));
        right = json_string_value(json_array_get(merge, 1));
        left_size = json_string_length(json_array_get(merge, 0));
        right_size = json_string_length(json_array_get(merge, 1));
    }
    if (left == NULL || right == NULL)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s.merges[%zu] must be two tokens", place->path, rank);
    return token_bpe_add_merge(&made->bpe, &made->vocab, rank, left, left_size, right, right_size, error);
}

static int32_t read_merges(struct accel_tokenizer *made, const json_t *model, const struct token_json_place *place,
                           struct accel_error *error)
{
    const json_t *merges = json_object_get(model, "merges");
    int32_t code = ACCEL_OK;

    if (!json_is_array(merges) || json_array_size(merges) > INT32_MAX)
        return token_json_wrong(place, "merges", "an array", error);
    if (!token_pairs_init(&made->bpe.merges, json_array_size(merges)))
        return accel_error_no_memory(error, "for a tokenizer");
    for (size_t i = 0; code == ACCEL_OK && i < json_array_size(merges); i++)
        code = read_merge(made, json_array_get(merges, i), i, place, error);
    return code;
}

static int32_t read_affix(const json_t *model, const char *key, char **affix, const struct token_json_place *place,
                          struct accel_error *error)
{
    const char *text;
    char *copy;
    int32_t code = token_json_string(model, key, "", place, &text, error);

    if (code != ACCEL_OK)
        return code;
    copy = token_copy(text, strlen(text));
    if (copy == NULL)
        return accel_error_no_memory(error, "for a tokenizer");
    free(*affix);
    *affix = copy;
    return ACCEL_OK;
}

static int32_t read_options(struct accel_tokenizer *made, const json_t *model, const struct token_json_place *place,
                            struct accel_error *error)
{
    const json_t *dropout = json_object_get(model, "dropout");
    int32_t code = token_json_bool(model, "byte_fallback", false, place, &made->bpe.byte_fallback, error);

    if (dropout != NULL && !json_is_null(dropout) && json_number_value(dropout) != 0)
        return token_json_unsupported(place, "dropout", error);
    if (code == ACCEL_OK)
        code = token_json_bool(model, "fuse_unk", false, place, &made->bpe.fuse_unk, error);
    if (code == ACCEL_OK)
        code = token_json_bool(model, "ignore_merges", false, place, &made->bpe.ignore_merges, error);
    if (code == ACCEL_OK)
        code = read_affix(model, "continuing_subword_prefix", &made->bpe.prefix, place, error);
    if (code == ACCEL_OK)
        code = read_affix(model, "end_of_word_suffix", &made->bpe.suffix, place, error);
    return code;
}

static int32_t read_model(struct accel_tokenizer *made, const json_t *root, struct accel_error *error)
{
    const json_t *model = json_object_get(root, "model");
    struct token_json_place place = {.path = "model"};
    const char *type = token_json_type(model);
    const char *unk = NULL;
    int32_t code;

    if (!json_is_object(model))
        return accel_error_set(error, ACCEL_E_CORRUPT, "model must be an object");
    /* Old files omit the type; merges identify it. */
    if (strcmp(type, "BPE") != 0 && !(*type == '\0' && json_object_get(model, "merges") != NULL)) {
        code = token_json_unsupported(&place, type, error);
        accel_error_remedy(error, "use a model whose tokenizer is a byte-pair encoding (\"type\": \"BPE\")");
        return code;
    }
    code = read_options(made, model, &place, error);
    if (code == ACCEL_OK)
        code = read_vocabulary(made, model, &place, error);
    if (code == ACCEL_OK)
        code = read_merges(made, model, &place, error);
    if (code == ACCEL_OK)
        code = token_json_string(model, "unk_token", NULL, &place, &unk, error);
    if (code != ACCEL_OK)
        return code;
    token_bpe_find_bytes(&made->bpe, &made->vocab);
    if (unk != NULL) {
        made->bpe.unk = token_vocab_find(&made->vocab, unk, strlen(unk));
        made->special[ACCEL_TOKEN_UNK] = made->bpe.unk;
        if (made->bpe.unk < 0)
            return accel_error_set(error, ACCEL_E_CORRUPT, "model.unk_token \"%.100s\" is not in the vocabulary", unk);
    }
    return ACCEL_OK;
}

/* Adds the spelling of an added token to its set; a `normalized` one is matched in its normalized form. */
static int32_t add_spelling(struct accel_tokenizer *made, const char *text, bool normalized,
                            struct token_added_rule rule, struct accel_error *error)
{
    struct token_buffer buffer = {0};
    int32_t code = ACCEL_OK;

    if (!normalized)
        return *text == '\0' ? ACCEL_OK : token_added_add(&made->raw, text, strlen(text), rule, error);
    if (!token_buffer_append(&buffer, text, strlen(text)))
        return accel_error_no_memory(error, "for a tokenizer");
    code = token_normalize(&made->normalizers, &buffer, error);
    if (code == ACCEL_OK && buffer.size > 0)
        code = token_added_add(&made->normalized, buffer.data, buffer.size, rule, error);
    token_buffer_free(&buffer);
    return code;
}

static int32_t read_added(struct accel_tokenizer *made, const json_t *item, size_t entries,
                          const struct token_json_place *place, struct accel_error *error)
{
    const json_t *id = json_object_get(item, "id");
    struct token_added_rule rule = {0};
    const char *text = NULL;
    bool normalized = false;
    int32_t code = token_json_string(item, "content", NULL, place, &text, error);

    if (code == ACCEL_OK && text == NULL)
        code = token_json_wrong(place, "content", "a string", error);
    if (code == ACCEL_OK)
        code = token_json_bool(item, "special", false, place, &rule.special, error);
    if (code == ACCEL_OK)
        code = token_json_bool(item, "single_word", false, place, &rule.single_word, error);
    if (code == ACCEL_OK)
        code = token_json_bool(item, "lstrip", false, place, &rule.lstrip, error);
    if (code == ACCEL_OK)
        code = token_json_bool(item, "rstrip", false, place, &rule.rstrip, error);
    if (code == ACCEL_OK)
        code = token_json_bool(item, "normalized", !rule.special, place, &normalized, error);
    if (code != ACCEL_OK)
        return code;
    if (!json_is_integer(id) || !id_allowed(json_integer_value(id), entries))
        return token_json_wrong(place, "id", "an id that the number of tokens justifies", error);
    /* A spelling that the vocabulary contains has its id there. */
    rule.id = token_vocab_find(&made->vocab, text, strlen(text));
    if (rule.id < 0)
        rule.id = (int32_t)json_integer_value(id);
    code = token_vocab_add(&made->vocab, rule.id, text, strlen(text), rule.special ? TOKEN_SPECIAL : 0, error);
    return code == ACCEL_OK ? add_spelling(made, text, normalized, rule, error) : code;
}

static int32_t read_all_added(struct accel_tokenizer *made, const json_t *root, struct accel_error *error)
{
    const json_t *list = json_object_get(root, "added_tokens");
    struct token_json_place top = {.path = ""};
    size_t entries = made->vocab.count + json_array_size(list);
    int32_t code = ACCEL_OK;

    if (list == NULL || json_is_null(list))
        return ACCEL_OK;
    if (!json_is_array(list))
        return accel_error_set(error, ACCEL_E_CORRUPT, "added_tokens must be an array");
    for (size_t i = 0; code == ACCEL_OK && i < json_array_size(list); i++) {
        struct token_json_place place = token_json_enter(&top, "added_tokens", (int)i);

        code = read_added(made, json_array_get(list, i), entries, &place, error);
    }
    return code;
}

static int32_t read_root(struct accel_tokenizer *made, const json_t *root, struct accel_error *error)
{
    struct token_json_place normalizer = {.path = "normalizer"};
    struct token_json_place splitter = {.path = "pre_tokenizer"};
    struct token_json_place decoder = {.path = "decoder"};
    struct token_json_place post = {.path = "post_processor"};
    int32_t code = read_model(made, root, error);

    if (code == ACCEL_OK)
        code = token_json_normalizer(made, json_object_get(root, "normalizer"), &normalizer, error);
    if (code == ACCEL_OK)
        code = token_json_splitter(made, json_object_get(root, "pre_tokenizer"), &splitter, error);
    if (code == ACCEL_OK)
        code = token_json_decoder(made, json_object_get(root, "decoder"), &decoder, error);
    if (code == ACCEL_OK)
        code = read_all_added(made, root, error);
    return code == ACCEL_OK ? token_json_post(made, json_object_get(root, "post_processor"), &post, error) : code;
}

/* The spelling of a special token in tokenizer_config.json: a string, or an object with its content. */
static int32_t find_special(const struct accel_tokenizer *made, const json_t *config, const char *key)
{
    const json_t *value = json_object_get(config, key);

    if (json_is_object(value))
        value = json_object_get(value, "content");
    if (!json_is_string(value))
        return -1;
    return token_vocab_find(&made->vocab, json_string_value(value), json_string_length(value));
}

/* Finds the chat template: one string, or the one called "default" in a list of named ones. */
static const json_t *find_template(const json_t *config)
{
    const json_t *value = json_object_get(config, "chat_template");

    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        const char *name = json_string_value(json_object_get(item, "name"));

        if (name != NULL && strcmp(name, "default") == 0)
            return json_object_get(item, "template");
    }
    return value;
}

static int32_t read_config(struct accel_tokenizer *made, const json_t *config, struct accel_error *error)
{
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "pad_token"};
    const json_t *chat = find_template(config);

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        int32_t id = find_special(made, config, keys[i]);

        if (id >= 0)
            made->special[i] = id;
    }
    if (!json_is_string(chat))
        return ACCEL_OK;
    made->chat_template = token_copy(json_string_value(chat), json_string_length(chat));
    return made->chat_template == NULL ? accel_error_no_memory(error, "for a tokenizer") : ACCEL_OK;
}

/* Parses a file; trailing data after the value is refused. */
static int32_t parse(const char *text, size_t size, const char *name, json_t **out_root, struct accel_error *error)
{
    json_error_t problem;

    *out_root = json_loadb(text, size, JSON_ALLOW_NUL, &problem);
    if (*out_root != NULL)
        return ACCEL_OK;
    return accel_error_set(error, ACCEL_E_CORRUPT, "%s:%d:%d: %s", name, problem.line, problem.column, problem.text);
}

static int32_t build(const json_t *root, const json_t *config, struct accel_tokenizer **out_made,
                     struct accel_error *error)
{
    struct accel_tokenizer *made = token_tokenizer_new();
    int32_t code = made == NULL ? accel_error_no_memory(error, "for a tokenizer") : read_root(made, root, error);

    if (code == ACCEL_OK && config != NULL)
        code = read_config(made, config, error);
    if (code != ACCEL_OK) {
        accel_tokenizer_free(made);
        made = NULL;
    }
    *out_made = made;
    return code;
}

int32_t accel_tokenizer_create_json(const char *text, size_t size, const char *config, size_t config_size,
                                    const char *name, struct accel_tokenizer **out_tokenizer, struct accel_error *error)
{
    struct accel_error inner = {0};
    json_t *root = NULL, *settings = NULL;
    int32_t code;

    if (out_tokenizer == NULL || text == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_tokenizer_create_json: an argument is NULL");
    *out_tokenizer = NULL;
    if (name == NULL)
        name = "tokenizer.json";
    code = parse(text, size, name, &root, error);
    if (code == ACCEL_OK && config != NULL && config_size > 0)
        code = parse(config, config_size, "tokenizer_config.json", &settings, error);
    if (code == ACCEL_OK) {
        code = build(root, settings, out_tokenizer, &inner);
        if (code != ACCEL_OK)
            accel_error_set(error, code, "%s: %s", name, inner.text);
        if (inner.remedy[0] != '\0')
            accel_error_remedy(error, "%s", inner.remedy);
    }
    json_decref(root);
    json_decref(settings);
    return accel_error_origin(error, ACCEL_FROM_MODEL, code);
}
