/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/json_steps.h"

#include <string.h>

int32_t token_json_sequence(struct accel_tokenizer *made, const json_t *component, const char *key,
                            const struct token_json_place *place, token_json_step_fn *read, struct accel_error *error)
{
    const json_t *list = json_object_get(component, key);
    int32_t code = ACCEL_OK;

    if (!json_is_array(list))
        return token_json_wrong(place, key, "an array", error);
    if (place->depth >= TOKEN_JSON_DEPTH || json_array_size(list) > TOKEN_JSON_STEPS)
        return accel_error_set(error, ACCEL_E_LIMIT, "%s: %zu steps at depth %d, at most %d at depth %d", place->path,
                               json_array_size(list), place->depth, TOKEN_JSON_STEPS, TOKEN_JSON_DEPTH);
    for (size_t i = 0; code == ACCEL_OK && i < json_array_size(list); i++) {
        struct token_json_place inner = token_json_enter(place, key, (int)i);

        code = read(made, json_array_get(list, i), &inner, error);
    }
    return code;
}

int32_t token_json_pattern(const json_t *component, const struct token_json_place *place,
                           struct token_pattern **out_pattern, struct accel_error *error)
{
    const json_t *pattern = json_object_get(component, "pattern");
    const json_t *text = json_object_get(pattern, "String");
    const json_t *regex = json_object_get(pattern, "Regex");

    *out_pattern = NULL;
    if (json_is_string(text))
        return token_pattern_create_text(json_string_value(text), json_string_length(text), out_pattern, error);
    if (json_is_string(regex))
        return token_pattern_create(json_string_value(regex), json_string_length(regex), place->path, out_pattern,
                                    error);
    return token_json_wrong(place, "pattern", "{\"String\": ...} or {\"Regex\": ...}", error);
}

/* ---- pre-tokenizers */

static int32_t read_behavior(const json_t *component, const char *other, const struct token_json_place *place,
                             enum token_splitter_behavior *out_behavior, struct accel_error *error)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    const char *name;
    int32_t code = token_json_string(component, "behavior", other, place, &name, error);

    if (code != ACCEL_OK)
        return code;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            *out_behavior = (enum token_splitter_behavior)i;
            return ACCEL_OK;
        }
    }
    return token_json_unsupported(place, name, error);
}

static int32_t add_split(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                         struct accel_error *error)
{
    struct token_splitter step = {.kind = TOKEN_SPLIT_PATTERN};
    int32_t code = read_behavior(component, "", place, &step.behavior, error);

    if (code == ACCEL_OK)
        code = token_json_bool(component, "invert", false, place, &step.invert, error);
    if (code == ACCEL_OK)
        code = token_json_pattern(component, place, &step.pattern, error);
    return code == ACCEL_OK ? token_splitters_add(&made->splitters, step, error) : code;
}

static int32_t add_byte_level(struct accel_tokenizer *made, const json_t *component,
                              const struct token_json_place *place, struct accel_error *error)
{
    bool prefix, regex;
    int32_t code = token_json_bool(component, "add_prefix_space", true, place, &prefix, error);

    if (code == ACCEL_OK)
        code = token_json_bool(component, "use_regex", true, place, &regex, error);
    return code == ACCEL_OK ? token_add_byte_level(&made->splitters, prefix, regex, place->path, error) : code;
}

static int32_t add_digits(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                          struct accel_error *error)
{
    struct token_splitter step = {.kind = TOKEN_SPLIT_DIGITS};
    bool each;
    int32_t code = token_json_bool(component, "individual_digits", false, place, &each, error);

    step.behavior = each ? TOKEN_ISOLATED : TOKEN_CONTIGUOUS;
    return code == ACCEL_OK ? token_splitters_add(&made->splitters, step, error) : code;
}

static int32_t add_punctuation(struct accel_tokenizer *made, const json_t *component,
                               const struct token_json_place *place, struct accel_error *error)
{
    struct token_splitter step = {.kind = TOKEN_SPLIT_PUNCTUATION};
    int32_t code = read_behavior(component, "Isolated", place, &step.behavior, error);

    return code == ACCEL_OK ? token_splitters_add(&made->splitters, step, error) : code;
}

static int32_t add_delimiter(struct accel_tokenizer *made, const json_t *component,
                             const struct token_json_place *place, struct accel_error *error)
{
    struct token_splitter step = {.kind = TOKEN_SPLIT_PATTERN, .behavior = TOKEN_REMOVED};
    const char *text;
    int32_t code = token_json_string(component, "delimiter", "", place, &text, error);

    if (code == ACCEL_OK)
        code = token_pattern_create_text(text, strlen(text), &step.pattern, error);
    return code == ACCEL_OK ? token_splitters_add(&made->splitters, step, error) : code;
}

/* Reads the mark of a Metaspace, and whether it is prepended; older files specify the latter with
 * add_prefix_space. */
static int32_t read_mark(const json_t *component, const struct token_json_place *place, const char **out_mark,
                         enum token_prefix_rule *out_prefix, struct accel_error *error)
{
    const char *scheme;
    bool legacy;
    int32_t code = token_json_string(component, "replacement", "\xe2\x96\x81", place, out_mark, error);

    if (code == ACCEL_OK)
        code = token_json_bool(component, "add_prefix_space", true, place, &legacy, error);
    if (code == ACCEL_OK)
        code = token_json_string(component, "prepend_scheme", legacy ? "always" : "never", place, &scheme, error);
    if (code != ACCEL_OK)
        return code;
    if (**out_mark == '\0')
        return token_json_wrong(place, "replacement", "one character", error);
    *out_prefix = TOKEN_PREFIX_ALWAYS;
    if (strcmp(scheme, "never") == 0)
        *out_prefix = TOKEN_PREFIX_NEVER;
    else if (strcmp(scheme, "first") == 0)
        *out_prefix = TOKEN_PREFIX_FIRST;
    else if (strcmp(scheme, "always") != 0)
        return token_json_unsupported(place, scheme, error);
    return ACCEL_OK;
}

static int32_t add_metaspace(struct accel_tokenizer *made, const json_t *component,
                             const struct token_json_place *place, struct accel_error *error)
{
    struct token_splitter step = {.kind = TOKEN_SPLIT_MARK, .behavior = TOKEN_MERGED_WITH_NEXT};
    int32_t code = read_mark(component, place, &step.text, &step.prefix, error);

    if (code == ACCEL_OK)
        code = token_json_bool(component, "split", true, place, &step.cut, error);
    if (code == ACCEL_OK)
        code = token_pattern_create_text(step.text, strlen(step.text), &step.pattern, error);
    if (code != ACCEL_OK)
        return code;
    step.text_size = strlen(step.text);
    return token_splitters_add(&made->splitters, step, error);
}

int32_t token_json_splitter(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                            struct accel_error *error)
{
    static const char words[] = "\\w+|[^\\w\\s]+";
    struct token_splitter space = {.kind = TOKEN_SPLIT_SPACE, .behavior = TOKEN_REMOVED};
    const char *type = token_json_type(component);

    if (component == NULL || json_is_null(component))
        return ACCEL_OK;
    if (made->splitters.count >= TOKEN_JSON_STEPS)
        return accel_error_set(error, ACCEL_E_LIMIT, "%s: more than %d steps", place->path, TOKEN_JSON_STEPS);
    if (strcmp(type, "Sequence") == 0)
        return token_json_sequence(made, component, "pretokenizers", place, token_json_splitter, error);
    if (strcmp(type, "Split") == 0)
        return add_split(made, component, place, error);
    if (strcmp(type, "ByteLevel") == 0)
        return add_byte_level(made, component, place, error);
    if (strcmp(type, "Digits") == 0)
        return add_digits(made, component, place, error);
    if (strcmp(type, "Metaspace") == 0)
        return add_metaspace(made, component, place, error);
    if (strcmp(type, "Punctuation") == 0)
        return add_punctuation(made, component, place, error);
    if (strcmp(type, "CharDelimiterSplit") == 0)
        return add_delimiter(made, component, place, error);
    if (strcmp(type, "BertPreTokenizer") == 0)
        return token_add_bert_words(&made->splitters, error);
    if (strcmp(type, "WhitespaceSplit") == 0)
        return token_splitters_add(&made->splitters, space, error);
    if (strcmp(type, "Whitespace") == 0)
        return token_add_rule(&made->splitters, words, sizeof(words) - 1, TOKEN_REMOVED, true, place->path, error);
    return token_json_unsupported(place, type, error);
}

/* ---- decoders */

/* Adds a decoder with a text. */
static int32_t add_decoder(struct accel_tokenizer *made, struct token_decoder step,
                           const struct token_json_place *place, struct accel_error *error)
{
    step.text_size = strlen(step.text);
    return token_decoders_add(&made->decoders, step, place->path, error);
}

static int32_t add_decoder_replace(struct accel_tokenizer *made, const json_t *component,
                                   const struct token_json_place *place, struct accel_error *error)
{
    struct token_decoder step = {.kind = TOKEN_DECODE_REPLACE};
    int32_t code = token_json_string(component, "content", "", place, &step.text, error);

    if (code == ACCEL_OK)
        code = token_json_pattern(component, place, &step.pattern, error);
    return code == ACCEL_OK ? add_decoder(made, step, place, error) : code;
}

static int32_t add_decoder_strip(struct accel_tokenizer *made, const json_t *component,
                                 const struct token_json_place *place, struct accel_error *error)
{
    struct token_decoder step = {.kind = TOKEN_DECODE_STRIP};
    int32_t code = token_json_string(component, "content", " ", place, &step.text, error);

    if (code == ACCEL_OK)
        code = token_json_size(component, "start", 0, place, &step.start, error);
    if (code == ACCEL_OK)
        code = token_json_size(component, "stop", 0, place, &step.stop, error);
    if (code == ACCEL_OK && *step.text == '\0')
        code = token_json_wrong(place, "content", "one character", error);
    return code == ACCEL_OK ? add_decoder(made, step, place, error) : code;
}

/* Adds a decoder that matches its text. */
static int32_t add_decoder_text(struct accel_tokenizer *made, struct token_decoder step,
                                const struct token_json_place *place, struct accel_error *error)
{
    int32_t code = token_pattern_create_text(step.text, strlen(step.text), &step.pattern, error);

    return code == ACCEL_OK ? add_decoder(made, step, place, error) : code;
}

static int32_t add_decoder_mark(struct accel_tokenizer *made, const json_t *component,
                                const struct token_json_place *place, struct accel_error *error)
{
    struct token_decoder step = {.kind = TOKEN_DECODE_MARK};
    enum token_prefix_rule prefix;
    int32_t code = read_mark(component, place, &step.text, &prefix, error);

    if (code != ACCEL_OK)
        return code;
    step.prefix = prefix != TOKEN_PREFIX_NEVER;
    return add_decoder_text(made, step, place, error);
}

static int32_t add_decoder_suffix(struct accel_tokenizer *made, const json_t *component,
                                  const struct token_json_place *place, struct accel_error *error)
{
    struct token_decoder step = {.kind = TOKEN_DECODE_SUFFIX};
    int32_t code = token_json_string(component, "suffix", "</w>", place, &step.text, error);

    return code == ACCEL_OK ? add_decoder_text(made, step, place, error) : code;
}

static int32_t add_decoder_wordpiece(struct accel_tokenizer *made, const json_t *component,
                                     const struct token_json_place *place, struct accel_error *error)
{
    struct token_decoder step = {.kind = TOKEN_DECODE_WORDPIECE};
    int32_t code = token_json_string(component, "prefix", "##", place, &step.text, error);

    if (code == ACCEL_OK)
        code = token_json_bool(component, "cleanup", true, place, &step.cleanup, error);
    return code == ACCEL_OK ? add_decoder(made, step, place, error) : code;
}

int32_t token_json_decoder(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                           struct accel_error *error)
{
    const char *type = token_json_type(component);
    struct token_decoder step = {.kind = TOKEN_DECODE_BLANKS};

    if (made->decoders.count >= TOKEN_JSON_STEPS)
        return accel_error_set(error, ACCEL_E_LIMIT, "%s: more than %d steps", place->path, TOKEN_JSON_STEPS);
    if (component == NULL || json_is_null(component))
        return token_decoders_add(&made->decoders, step, place->path, error);
    if (strcmp(type, "Sequence") == 0)
        return token_json_sequence(made, component, "decoders", place, token_json_decoder, error);
    if (strcmp(type, "Replace") == 0)
        return add_decoder_replace(made, component, place, error);
    if (strcmp(type, "Strip") == 0)
        return add_decoder_strip(made, component, place, error);
    if (strcmp(type, "Metaspace") == 0)
        return add_decoder_mark(made, component, place, error);
    if (strcmp(type, "WordPiece") == 0)
        return add_decoder_wordpiece(made, component, place, error);
    if (strcmp(type, "BPEDecoder") == 0)
        return add_decoder_suffix(made, component, place, error);
    if (strcmp(type, "ByteLevel") == 0)
        step.kind = TOKEN_DECODE_BYTES;
    else if (strcmp(type, "ByteFallback") == 0)
        step.kind = TOKEN_DECODE_FALLBACK;
    else if (strcmp(type, "Fuse") == 0)
        step.kind = TOKEN_DECODE_FUSE;
    else
        return token_json_unsupported(place, type, error);
    return token_decoders_add(&made->decoders, step, place->path, error);
}
