/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "model/file/fault.h"
#include "model/tokenizer/json_model.h"
#include "model/tokenizer/json_steps.h"

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
    if (!json_is_integer(id) || !token_json_id_allowed(json_integer_value(id), entries))
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
    int32_t code = token_json_model(made, root, error);

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

int32_t token_json_config(struct accel_tokenizer *made, const json_t *config, struct accel_error *error)
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

int32_t token_json_parse(const char *text, size_t size, const char *name, json_t **out_root, struct accel_error *error)
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
        code = token_json_config(made, config, error);
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
        return model_refuse_null(__func__, error);
    *out_tokenizer = NULL;
    if (name == NULL)
        name = "tokenizer.json";
    code = token_json_parse(text, size, name, &root, error);
    if (code == ACCEL_OK && config != NULL && config_size > 0)
        code = token_json_parse(config, config_size, "tokenizer_config.json", &settings, error);
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
