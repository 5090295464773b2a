/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "model/tokenizer/charsmap.h"
#include "model/tokenizer/json_steps.h"

struct named_form {
    const char *name;
    enum token_normalizer_kind kind;
    int form;
};

static const struct named_form plain_normalizers[] = {
    {"NFC", TOKEN_NORMALIZE_FORM, UTF8PROC_STABLE | UTF8PROC_COMPOSE},
    {"NFD", TOKEN_NORMALIZE_FORM, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
    {"NFKC", TOKEN_NORMALIZE_FORM, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
    {"NFKD", TOKEN_NORMALIZE_FORM, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
    {"Lowercase", TOKEN_NORMALIZE_LOWER, 0},
    {"StripAccents", TOKEN_NORMALIZE_ACCENTS, 0},
    {"ByteLevel", TOKEN_NORMALIZE_BYTES, 0},
};

static int32_t add_prepend(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                           struct accel_error *error)
{
    struct token_normalizer step = {.kind = TOKEN_NORMALIZE_PREPEND};
    int32_t code = token_json_string(component, "prepend", "", place, &step.text, error);

    if (code != ACCEL_OK)
        return code;
    step.text_size = strlen(step.text);
    return token_normalizers_add(&made->normalizers, step, error);
}

static int32_t add_replace(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                           struct accel_error *error)
{
    struct token_normalizer step = {.kind = TOKEN_NORMALIZE_REPLACE};
    int32_t code = token_json_string(component, "content", "", place, &step.text, error);

    if (code == ACCEL_OK)
        code = token_json_pattern(component, place, &step.pattern, error);
    if (code != ACCEL_OK)
        return code;
    step.text_size = strlen(step.text);
    return token_normalizers_add(&made->normalizers, step, error);
}

static int32_t add_strip(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                         struct accel_error *error)
{
    struct token_normalizer step = {.kind = TOKEN_NORMALIZE_STRIP};
    int32_t code = token_json_bool(component, "strip_left", true, place, &step.left, error);

    if (code == ACCEL_OK)
        code = token_json_bool(component, "strip_right", true, place, &step.right, error);
    return code == ACCEL_OK ? token_normalizers_add(&made->normalizers, step, error) : code;
}

/* Adds the steps of BERT's normalizer; strip_accents is what lowercase is unless the file has it. */
static int32_t add_bert(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                        struct accel_error *error)
{
    bool clean, han, lower, strip;
    int32_t code = token_json_bool(component, "clean_text", true, place, &clean, error);

    if (code == ACCEL_OK)
        code = token_json_bool(component, "handle_chinese_chars", true, place, &han, error);
    if (code == ACCEL_OK)
        code = token_json_bool(component, "lowercase", true, place, &lower, error);
    if (code == ACCEL_OK)
        code = token_json_bool(component, "strip_accents", lower, place, &strip, error);
    return code == ACCEL_OK ? token_add_bert(&made->normalizers, clean, han, strip, lower, error) : code;
}

/* Decodes base 64 in place of `out`, of 3/4 of the text's size; false for text that is none. */
static bool decode_base64(const char *text, size_t size, char *out, size_t *out_size)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    int count = 0;

    *out_size = 0;
    while (size > 0 && text[size - 1] == '=')
        size--;
    for (size_t i = 0; i < size; i++) {
        const char *letter = text[i] == '\0' ? NULL : strchr(letters, text[i]);

        if (letter == NULL)
            return false;
        bits = bits << 6 | (uint32_t)(letter - letters);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[(*out_size)++] = (char)(bits >> count & 0xff);
        }
    }
    return true;
}

static int32_t add_precompiled(struct accel_tokenizer *made, const json_t *component,
                               const struct token_json_place *place, struct accel_error *error)
{
    struct token_normalizer step = {.kind = TOKEN_NORMALIZE_CHARSMAP, .left = true};
    const json_t *map = json_object_get(component, "precompiled_charsmap");
    char *text;
    int32_t code;

    if (!json_is_string(map))
        return token_json_wrong(place, "precompiled_charsmap", "a string in base 64", error);
    step.text = text = malloc(json_string_length(map) + 1);
    if (text == NULL)
        return accel_error_no_memory(error, "for a tokenizer");
    if (!decode_base64(json_string_value(map), json_string_length(map), text, &step.text_size))
        code = token_json_wrong(place, "precompiled_charsmap", "a string in base 64", error);
    else
        code = token_charsmap_check(step.text, step.text_size, place->path, error);
    if (code == ACCEL_OK)
        code = token_normalizers_add(&made->normalizers, step, error);
    free(text);
    return code;
}

int32_t token_json_normalizer(struct accel_tokenizer *made, const json_t *component,
                              const struct token_json_place *place, struct accel_error *error)
{
    const char *type = token_json_type(component);

    if (component == NULL || json_is_null(component))
        return ACCEL_OK;
    if (made->normalizers.count >= TOKEN_JSON_STEPS)
        return accel_error_set(error, ACCEL_E_LIMIT, "%s: more than %d steps", place->path, TOKEN_JSON_STEPS);
    for (size_t i = 0; i < sizeof(plain_normalizers) / sizeof(plain_normalizers[0]); i++) {
        struct token_normalizer step = {.kind = plain_normalizers[i].kind, .form = plain_normalizers[i].form};

        if (strcmp(type, plain_normalizers[i].name) == 0)
            return token_normalizers_add(&made->normalizers, step, error);
    }
    if (strcmp(type, "Sequence") == 0)
        return token_json_sequence(made, component, "normalizers", place, token_json_normalizer, error);
    if (strcmp(type, "Prepend") == 0)
        return add_prepend(made, component, place, error);
    if (strcmp(type, "Replace") == 0)
        return add_replace(made, component, place, error);
    if (strcmp(type, "Strip") == 0)
        return add_strip(made, component, place, error);
    if (strcmp(type, "BertNormalizer") == 0)
        return add_bert(made, component, place, error);
    if (strcmp(type, "Precompiled") == 0)
        return add_precompiled(made, component, place, error);
    return token_json_unsupported(place, type, error);
}
