/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/charsmap.h"

#include <string.h>
#include <utf8proc.h>

#define SHORT_GRAPHEME 6 /* bytes; a longer one is replaced character by character */

struct charsmap {
    const unsigned char *units; /* [count], 4 bytes each, little endian */
    size_t count;
    const char *texts; /* [texts_size] */
    size_t texts_size;
};

static uint32_t read_unit(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static bool open_map(const char *map, size_t size, struct charsmap *out)
{
    size_t bytes = size < 4 ? 0 : read_unit((const unsigned char *)map);

    if (bytes == 0 || bytes % 4 != 0 || bytes > size - 4)
        return false;
    out->units = (const unsigned char *)map + 4;
    out->count = bytes / 4;
    out->texts = map + 4 + bytes;
    out->texts_size = size - 4 - bytes;
    return true;
}

int32_t token_charsmap_check(const char *map, size_t size, const char *where, struct accel_error *error)
{
    struct charsmap opened;

    if (!open_map(map, size, &opened))
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: %zu bytes do not hold the table that they announce", where,
                               size);
    if (opened.texts_size == 0 || opened.texts[opened.texts_size - 1] != '\0')
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: the last replacement has no end", where);
    if (token_utf8_check(opened.texts, opened.texts_size) < opened.texts_size)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: replacements are not UTF-8 at byte %zu", where,
                               token_utf8_check(opened.texts, opened.texts_size));
    return ACCEL_OK;
}

/* Index of the first child of a unit, relative to its own. */
static uint32_t offset_of(uint32_t unit)
{
    return (unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* Finds a string of the map at the beginning of `text`, the shortest or the longest. Returns its replacement and its
 * length, or NULL. */
static const char *find(const struct charsmap *map, bool shortest, const char *text, size_t size, size_t *out_length)
{
    const char *found = NULL;
    size_t at = offset_of(read_unit(map->units));

    for (size_t i = 0; i < size && text[i] != '\0'; i++) {
        uint32_t unit, value;

        at ^= (unsigned char)text[i];
        if (at >= map->count)
            break;
        unit = read_unit(map->units + 4 * at);
        if ((unit & (1u << 31 | 0xff)) != (unsigned char)text[i])
            break;
        at ^= offset_of(unit);
        if (at >= map->count)
            break;
        if ((unit & 1u << 8) == 0)
            continue;
        value = read_unit(map->units + 4 * at) & ~(1u << 31);
        /* A replacement begins behind the end of another one, or the map is damaged. */
        if (value >= map->texts_size || (value > 0 && map->texts[value - 1] != '\0'))
            break;
        found = map->texts + value;
        *out_length = i + 1;
        if (shortest)
            break;
    }
    return found;
}

/* Appends one grapheme, or replacements of it or of its characters. */
static bool append_grapheme(const struct charsmap *map, const char *text, size_t size, struct token_buffer *out)
{
    size_t found;
    const char *with = size < SHORT_GRAPHEME ? find(map, true, text, size, &found) : NULL;
    bool done = true;

    if (with != NULL)
        return token_buffer_append(out, with, strlen(with));
    for (size_t at = 0, length; done && at < size; at += length) {
        uint32_t code = 0;

        length = token_utf8_next(text + at, size - at, &code);
        if (length == 0)
            return false;
        with = find(map, true, text + at, length, &found);
        done = token_buffer_append(out, with == NULL ? text + at : with, with == NULL ? length : strlen(with));
    }
    return done;
}

static bool apply_graphemes(const struct charsmap *map, const struct token_buffer *text, struct token_buffer *out)
{
    utf8proc_int32_t state = 0, before = -1;
    size_t start = 0;

    for (size_t at = 0, length; at < text->size; at += length) {
        uint32_t code = 0;

        length = token_utf8_next(text->data + at, text->size - at, &code);
        if (length == 0)
            return false;
        if (before >= 0 && utf8proc_grapheme_break_stateful(before, (utf8proc_int32_t)code, &state)) {
            if (!append_grapheme(map, text->data + start, at - start, out))
                return false;
            start = at;
        }
        before = (utf8proc_int32_t)code;
    }
    return append_grapheme(map, text->data + start, text->size - start, out);
}

bool token_charsmap_apply(const char *map, size_t size, bool graphemes, const struct token_buffer *text,
                          struct token_buffer *out)
{
    struct charsmap opened;

    if (!open_map(map, size, &opened))
        return token_buffer_append(out, text->data, text->size);
    if (graphemes)
        return apply_graphemes(&opened, text, out);
    for (size_t at = 0, length; at < text->size; at += length) {
        uint32_t code = 0;
        const char *with = find(&opened, false, text->data + at, text->size - at, &length);

        if (with == NULL)
            length = token_utf8_next(text->data + at, text->size - at, &code);
        if (length == 0 ||
            !token_buffer_append(out, with == NULL ? text->data + at : with, with == NULL ? length : strlen(with)))
            return false;
    }
    return true;
}
