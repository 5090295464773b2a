/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/split.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

const char token_gpt2_rule[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

int32_t token_splitters_add(struct token_splitters *list, struct token_splitter step, struct accel_error *error)
{
    int32_t code = token_step_reserve(&list->items, &list->capacity, list->count, sizeof(*list->items), step.pattern,
                                      &step.text, step.text_size, error);

    if (code == ACCEL_OK)
        list->items[list->count++] = step;
    return code;
}

void token_splitters_free(struct token_splitters *list)
{
    for (size_t i = 0; i < list->count; i++)
        token_step_free(list->items[i].pattern, list->items[i].text);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

void token_pieces_free(struct token_pieces *pieces)
{
    token_buffer_free(&pieces->text);
    free(pieces->ranges);
    memset(pieces, 0, sizeof(*pieces));
}

bool token_pieces_add(struct token_pieces *pieces, size_t start, size_t end, bool first)
{
    if (start >= end)
        return true;
    if (!token_array_grow(&pieces->ranges, &pieces->capacity, pieces->count + 1, sizeof(*pieces->ranges)))
        return false;
    pieces->ranges[pieces->count++] = (struct token_range){.start = start, .end = end, .first = first};
    return true;
}

static bool is_delimiter(enum token_splitter_kind kind, uint32_t code)
{
    utf8proc_category_t category;

    if (kind == TOKEN_SPLIT_SPACE)
        return token_is_space(code);
    category = utf8proc_category((utf8proc_int32_t)code);
    if (kind == TOKEN_SPLIT_DIGITS)
        return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_NO;
    if (code < 128)
        return code > 32 && code < 127 && !(code >= '0' && code <= '9') && !(code >= 'A' && code <= 'Z') &&
               !(code >= 'a' && code <= 'z');
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

/* Finds the next delimiter from cursor->at on: one match, or one character of the step's kind. */
static int32_t next_match(const struct token_splitter *step, struct token_cursor *cursor, size_t *out_start,
                          size_t *out_end, struct accel_error *error)
{
    if (step->kind == TOKEN_SPLIT_PATTERN || step->kind == TOKEN_SPLIT_MARK)
        return token_cursor_next(cursor, out_start, out_end, error);
    *out_start = *out_end = cursor->size;
    while (cursor->at < cursor->size) {
        uint32_t code = 0;
        size_t at = cursor->at;
        size_t length = token_utf8_next(cursor->text + at, cursor->size - at, &code);

        cursor->at += length == 0 ? 1 : length;
        if (length > 0 && is_delimiter(step->kind, code)) {
            *out_start = at;
            *out_end = cursor->at;
            return ACCEL_OK;
        }
    }
    return ACCEL_OK;
}

/* Splitting state of one piece: the start of the last part, and whether a delimiter ended there. */
struct parts {
    struct token_pieces *out;
    size_t base; /* offset of the piece in the text */
    bool first;
    size_t start, end; /* the pending part; empty if start == end */
    bool was_match;
};

static bool give(struct parts *parts)
{
    bool done = token_pieces_add(parts->out, parts->base + parts->start, parts->base + parts->end,
                                 parts->first && parts->start == 0);

    parts->start = parts->end;
    return done;
}

/* Adds the next part, a delimiter or the text between two, and emits completed parts. */
static bool take(enum token_splitter_behavior behavior, struct parts *parts, size_t end, bool is_match)
{
    bool join = false;

    if (end == parts->end)
        return true;
    switch (behavior) {
    case TOKEN_REMOVED:
        if (is_match) {
            bool done = give(parts);

            parts->start = parts->end = end;
            return done;
        }
        break;
    case TOKEN_CONTIGUOUS:
        join = is_match == parts->was_match;
        break;
    case TOKEN_MERGED_WITH_PREVIOUS:
        join = is_match && !parts->was_match;
        break;
    case TOKEN_MERGED_WITH_NEXT:
        join = !is_match && parts->was_match;
        break;
    default:
        break;
    }
    if (!join && parts->start < parts->end && !give(parts))
        return false;
    parts->end = end;
    parts->was_match = is_match;
    return true;
}

static int32_t split_piece(const struct token_splitter *step, const char *text, const struct token_range *range,
                           struct token_pieces *out, struct accel_error *error)
{
    /* An empty match, such as of a lookahead, ends a piece. */
    struct token_cursor cursor = {.pattern = step->pattern, .text = text + range->start, .empty_matches = true};
    struct parts parts = {.out = out, .base = range->start, .first = range->first};
    int32_t code = ACCEL_OK;
    bool done = true;
    size_t start = 0, end = 0;

    cursor.size = range->end - range->start;
    while (code == ACCEL_OK && done && end < cursor.size) {
        code = next_match(step, &cursor, &start, &end, error);
        if (code == ACCEL_OK)
            done = take(step->behavior, &parts, start, step->invert) &&
                   (start == end ? give(&parts) : take(step->behavior, &parts, end, !step->invert));
    }
    token_cursor_end(&cursor);
    if (code == ACCEL_OK && (!done || !give(&parts)))
        code = accel_error_no_memory(error, "to split text");
    return code;
}

static bool starts_with(const struct token_buffer *text, const struct token_range *range, const char *prefix,
                        size_t size)
{
    return range->end - range->start >= size && memcmp(text->data + range->start, prefix, size) == 0;
}

/* Metaspace: copies the piece with blanks replaced by marks, and prepends a mark if the rule requires it. */
static int32_t mark_piece(const struct token_splitter *step, const struct token_pieces *in, size_t index,
                          struct token_pieces *out, struct accel_error *error)
{
    const struct token_range *range = &in->ranges[index];
    bool wanted = step->prefix == TOKEN_PREFIX_ALWAYS || (step->prefix == TOKEN_PREFIX_FIRST && range->first);
    size_t start = out->text.size;

    if (wanted && !starts_with(&in->text, range, " ", 1) &&
        !starts_with(&in->text, range, step->text, step->text_size) &&
        !token_buffer_append(&out->text, step->text, step->text_size))
        return accel_error_no_memory(error, "to split text");
    for (size_t at = range->start; at < range->end; at++) {
        const char *byte = in->text.data + at;
        bool blank = *byte == ' ';

        if (!token_buffer_append(&out->text, blank ? step->text : byte, blank ? step->text_size : 1))
            return accel_error_no_memory(error, "to split text");
    }
    return token_pieces_add(out, start, out->text.size, range->first) ? ACCEL_OK
                                                                      : accel_error_no_memory(error, "to split text");
}

/* ByteLevel's first half: prepends a blank if the rule requires it and the piece does not start with white space. */
static int32_t blank_piece(const struct token_pieces *in, size_t index, struct token_pieces *out,
                           struct accel_error *error)
{
    const struct token_range *range = &in->ranges[index];
    size_t start = out->text.size;
    uint32_t code = 0;

    token_utf8_next(in->text.data + range->start, range->end - range->start, &code);
    if ((!token_is_space(code) && !token_buffer_append(&out->text, " ", 1)) ||
        !token_buffer_append(&out->text, in->text.data + range->start, range->end - range->start) ||
        !token_pieces_add(out, start, out->text.size, range->first))
        return accel_error_no_memory(error, "to split text");
    return ACCEL_OK;
}

static int32_t byte_piece(const struct token_pieces *in, size_t index, struct token_pieces *out,
                          struct accel_error *error)
{
    const struct token_range *range = &in->ranges[index];
    size_t start = out->text.size;

    if (!token_append_bytes(&out->text, in->text.data + range->start, range->end - range->start) ||
        !token_pieces_add(out, start, out->text.size, range->first))
        return accel_error_no_memory(error, "to split text");
    return ACCEL_OK;
}

/* Splits pieces into ranges of the unchanged text. */
static int32_t cut_pieces(const struct token_splitter *step, struct token_pieces *pieces, struct accel_error *error)
{
    struct token_pieces out = {0};
    int32_t code = ACCEL_OK;

    for (size_t i = 0; code == ACCEL_OK && i < pieces->count; i++)
        code = split_piece(step, pieces->text.data, &pieces->ranges[i], &out, error);
    if (code != ACCEL_OK) {
        free(out.ranges);
        return code;
    }
    free(pieces->ranges);
    pieces->ranges = out.ranges;
    pieces->count = out.count;
    pieces->capacity = out.capacity;
    return ACCEL_OK;
}

/* Rewrites the pieces into a new text. */
static int32_t rewrite_pieces(const struct token_splitter *step, struct token_pieces *pieces, struct accel_error *error)
{
    struct token_pieces out = {0};
    int32_t code = ACCEL_OK;

    for (size_t i = 0; code == ACCEL_OK && i < pieces->count; i++) {
        if (step->kind == TOKEN_SPLIT_MARK)
            code = mark_piece(step, pieces, i, &out, error);
        else if (step->prefix != TOKEN_PREFIX_NEVER)
            code = blank_piece(pieces, i, &out, error);
        else
            code = byte_piece(pieces, i, &out, error);
    }
    if (code != ACCEL_OK) {
        token_pieces_free(&out);
        return code;
    }
    token_pieces_free(pieces);
    *pieces = out;
    return ACCEL_OK;
}

int32_t token_split(const struct token_splitters *list, struct token_pieces *pieces, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (size_t i = 0; code == ACCEL_OK && i < list->count; i++) {
        const struct token_splitter *step = &list->items[i];
        bool rewrites = step->kind == TOKEN_SPLIT_MARK || step->kind == TOKEN_SPLIT_BYTES;

        if (rewrites)
            code = rewrite_pieces(step, pieces, error);
        if (code == ACCEL_OK && (!rewrites || step->cut))
            code = cut_pieces(step, pieces, error);
    }
    return code;
}
