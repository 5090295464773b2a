/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/normalize.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "model/tokenizer/charsmap.h"

int32_t token_normalizers_add(struct token_normalizers *list, struct token_normalizer step, struct accel_error *error)
{
    int32_t code = token_step_reserve(&list->items, &list->capacity, list->count, sizeof(*list->items), step.pattern,
                                      &step.text, step.text_size, error);

    if (code == ACCEL_OK)
        list->items[list->count++] = step;
    return code;
}

void token_normalizers_free(struct token_normalizers *list)
{
    for (size_t i = 0; i < list->count; i++)
        token_step_free(list->items[i].pattern, list->items[i].text);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

/* GPT-2's table: printable bytes map to themselves, all others to U+0100 and up, in order. */
static bool prints(unsigned byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/* Returns the printable character that stands for a byte. */
static uint32_t byte_character(unsigned char byte)
{
    if (prints(byte))
        return byte;
    if (byte <= 32)
        return 256u + byte;
    if (byte <= 160)
        return 256u + 33 + (byte - 127u);
    return 256u + 67; /* 173, the soft hyphen */
}

int token_character_byte(uint32_t code)
{
    if (code < 256)
        return prints(code) ? (int)code : -1;
    code -= 256;
    if (code <= 32)
        return (int)code;
    if (code < 67)
        return (int)(code - 33 + 127);
    return code == 67 ? 173 : -1;
}

bool token_append_bytes(struct token_buffer *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char character[4];
        size_t length = token_utf8_put(byte_character((unsigned char)text[i]), character);

        if (!token_buffer_append(out, character, length))
            return false;
    }
    return true;
}

int32_t token_replace(const struct token_pattern *pattern, const char *text, size_t size, const char *with,
                      size_t with_size, struct token_buffer *out, struct accel_error *error)
{
    struct token_cursor cursor = {.pattern = pattern, .text = text, .size = size};
    size_t done = 0, start = 0, end = 0;
    int32_t code = ACCEL_OK;

    while (code == ACCEL_OK && done < size) {
        code = token_cursor_next(&cursor, &start, &end, error);
        if (code != ACCEL_OK)
            break;
        if (!token_buffer_append(out, text + done, start - done) ||
            (start < end && !token_buffer_append(out, with, with_size)))
            code = accel_error_no_memory(error, "to normalize text");
        done = start < end ? end : size;
    }
    token_cursor_end(&cursor);
    return code;
}

static int32_t apply_form(int form, struct token_buffer *text, struct accel_error *error)
{
    utf8proc_uint8_t *made = NULL;
    utf8proc_ssize_t size;

    if (text->size == 0)
        return ACCEL_OK;
    size = utf8proc_map((const utf8proc_uint8_t *)text->data, (utf8proc_ssize_t)text->size, &made,
                        (utf8proc_option_t)form);
    if (size < 0) {
        free(made);
        return size == UTF8PROC_ERROR_NOMEM
                   ? accel_error_no_memory(error, "to normalize text")
                   : accel_error_set(error, ACCEL_E_INVALID, "normalizing text: %s", utf8proc_errmsg(size));
    }
    free(text->data);
    text->data = (char *)made;
    text->size = (size_t)size;
    text->capacity = (size_t)size;
    return ACCEL_OK;
}

/* Appends a character in lower case. U+0130 alone has a lower case of two characters. */
static bool append_lower(struct token_buffer *out, uint32_t code)
{
    char bytes[4];
    size_t size = token_utf8_put(code == 0x130 ? 'i' : (uint32_t)utf8proc_tolower((utf8proc_int32_t)code), bytes);

    return token_buffer_append(out, bytes, size) && (code != 0x130 || token_buffer_append(out, "\xcc\x87", 2));
}

static bool is_mark(uint32_t code)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code);

    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
}

/* Control characters as BERT's cleaning knows them: category C without the unassigned, and without white space. */
static bool is_dropped(uint32_t code)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code);

    return code == 0 || code == 0xfffd ||
           ((category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
             category == UTF8PROC_CATEGORY_CO) &&
            code != '\t' && code != '\n' && code != '\r');
}

static bool is_ideograph(uint32_t code)
{
    static const uint32_t ranges[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                         {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                         {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    }
    return false;
}

/* Appends the character `code`, spelt [text, size), as a step for single characters rewrites it. */
static bool map_character(enum token_normalizer_kind kind, uint32_t code, const char *text, size_t size,
                          struct token_buffer *out)
{
    bool around = false;

    switch (kind) {
    case TOKEN_NORMALIZE_LOWER:
        return append_lower(out, code);
    case TOKEN_NORMALIZE_ACCENTS:
        if (is_mark(code))
            return true;
        break;
    case TOKEN_NORMALIZE_NONSPACING:
        if (utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_MN)
            return true;
        break;
    case TOKEN_NORMALIZE_CLEAN:
        if (is_dropped(code))
            return true;
        if (token_is_space(code))
            return token_buffer_append(out, " ", 1);
        break;
    default:
        around = is_ideograph(code);
        break;
    }
    return (!around || token_buffer_append(out, " ", 1)) && token_buffer_append(out, text, size) &&
           (!around || token_buffer_append(out, " ", 1));
}

static bool map_characters(enum token_normalizer_kind kind, const struct token_buffer *text, struct token_buffer *out)
{
    for (size_t at = 0, length; at < text->size; at += length) {
        uint32_t code = 0;

        length = token_utf8_next(text->data + at, text->size - at, &code);
        if (length == 0 || !map_character(kind, code, text->data + at, length, out))
            return false;
    }
    return true;
}

static bool strip(const struct token_normalizer *step, const struct token_buffer *text, struct token_buffer *out)
{
    size_t start = 0, end = text->size;
    uint32_t code = 0;

    while (step->left && start < end) {
        size_t length = token_utf8_next(text->data + start, end - start, &code);

        if (length == 0 || !token_is_space(code))
            break;
        start += length;
    }
    while (step->right && end > start) {
        size_t before = token_utf8_before(text->data, end);

        token_utf8_next(text->data + before, end - before, &code);
        if (!token_is_space(code))
            break;
        end = before;
    }
    return token_buffer_append(out, text->data + start, end - start);
}

static int32_t apply(const struct token_normalizer *step, const struct token_buffer *text, struct token_buffer *out,
                     struct accel_error *error)
{
    bool done = true;

    switch (step->kind) {
    case TOKEN_NORMALIZE_REPLACE:
        return token_replace(step->pattern, text->data, text->size, step->text, step->text_size, out, error);
    case TOKEN_NORMALIZE_PREPEND:
        done = text->size == 0 || (token_buffer_append(out, step->text, step->text_size) &&
                                   token_buffer_append(out, text->data, text->size));
        break;
    case TOKEN_NORMALIZE_STRIP:
        done = strip(step, text, out);
        break;
    case TOKEN_NORMALIZE_BYTES:
        done = token_append_bytes(out, text->data, text->size);
        break;
    case TOKEN_NORMALIZE_CHARSMAP:
        done = token_charsmap_apply(step->text, step->text_size, step->left, text, out);
        break;
    default:
        done = map_characters(step->kind, text, out);
        break;
    }
    return done ? ACCEL_OK : accel_error_no_memory(error, "to normalize text");
}

int32_t token_normalize(const struct token_normalizers *list, struct token_buffer *text, struct accel_error *error)
{
    /* Every step maps the empty text to itself. */
    for (size_t i = 0; i < list->count && text->size > 0; i++) {
        const struct token_normalizer *step = &list->items[i];
        struct token_buffer out = {0};
        int32_t code;

        if (step->kind == TOKEN_NORMALIZE_FORM) {
            code = apply_form(step->form, text, error);
        } else {
            code = apply(step, text, &out, error);
            if (code == ACCEL_OK) {
                token_buffer_free(text);
                *text = out;
            } else {
                token_buffer_free(&out);
            }
        }
        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}
