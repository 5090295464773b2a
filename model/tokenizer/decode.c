/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/decode.h"

#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* State of one step between pieces. */
struct token_stage {
    struct token_buffer held; /* bytes, or a piece, held until more input arrives */
    size_t stripped;          /* STRIP: characters removed from the beginning of the text */
    bool begun;               /* the step has received a piece */
    bool past_start;          /* STRIP after a FUSE: a character was not stripped, so the beginning is over */
};

int32_t token_decoders_add(struct token_decoders *list, struct token_decoder step, const char *where,
                           struct accel_error *error)
{
    int32_t code;

    step.fused = list->fused;
    if (step.fused && (step.kind == TOKEN_DECODE_SUFFIX || step.kind == TOKEN_DECODE_WORDPIECE ||
                       (step.kind == TOKEN_DECODE_STRIP && step.stop > 0) ||
                       (step.kind == TOKEN_DECODE_REPLACE && step.pattern != NULL))) {
        token_pattern_free(step.pattern);
        return accel_error_set(error, ACCEL_E_UNSUPPORTED,
                               "%s: decoders that depend on the end of the text are not supported behind Fuse", where);
    }
    code = token_step_reserve(&list->items, &list->capacity, list->count, sizeof(*list->items), step.pattern,
                              &step.text, step.text_size, error);
    if (code != ACCEL_OK)
        return code;
    if (step.kind == TOKEN_DECODE_FUSE)
        list->fused = true;
    list->items[list->count++] = step;
    return ACCEL_OK;
}

void token_decoders_free(struct token_decoders *list)
{
    for (size_t i = 0; i < list->count; i++)
        token_step_free(list->items[i].pattern, list->items[i].text);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

int32_t token_decoding_begin(struct token_decoding *decoding, const struct token_decoders *list, bool eager,
                             struct accel_error *error)
{
    memset(decoding, 0, sizeof(*decoding));
    decoding->list = list;
    decoding->eager = eager;
    decoding->stages = calloc(list->count + 1, sizeof(*decoding->stages));
    return decoding->stages == NULL ? accel_error_no_memory(error, "to decode tokens") : ACCEL_OK;
}

void token_decoding_free(struct token_decoding *decoding)
{
    for (size_t i = 0; decoding->stages != NULL && i < decoding->list->count; i++)
        token_buffer_free(&decoding->stages[i].held);
    free(decoding->stages);
    token_buffer_free(&decoding->out);
    memset(decoding, 0, sizeof(*decoding));
}

static int32_t feed(struct token_decoding *decoding, size_t at, const char *text, size_t size,
                    struct accel_error *error);

/* Returns the length of one malformed character at `data`: the longest prefix of a valid one, at least 1 byte.
 * *out_open is set if more bytes could complete it. */
static size_t malformed_length(const char *data, size_t size, bool *out_open)
{
    const unsigned char *bytes = (const unsigned char *)data;
    unsigned low = bytes[0] == 0xe0 ? 0xa0 : bytes[0] == 0xf0 ? 0x90 : 0x80;
    unsigned high = bytes[0] == 0xed ? 0x9f : bytes[0] == 0xf4 ? 0x8f : 0xbf;
    size_t wanted = bytes[0] < 0xc2 || bytes[0] > 0xf4 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    size_t length = 1;

    while (length < wanted && length < size && bytes[length] >= low && bytes[length] <= high) {
        low = 0x80;
        high = 0xbf;
        length++;
    }
    *out_open = length == size && length < wanted;
    return length;
}

/* Emits the held bytes as UTF-8. Malformed characters become U+FFFD: one for each maximal subpart, or one for each
 * byte. Unless `last`, an incomplete character at the end is held. */
static int32_t emit_bytes(struct token_decoding *decoding, size_t at, bool per_byte, bool last,
                          struct accel_error *error)
{
    struct token_buffer *held = &decoding->stages[at].held;
    struct token_buffer made = {0};
    size_t done = 0;
    int32_t code = ACCEL_OK;

    while (done < held->size) {
        uint32_t point;
        bool open = false;
        size_t length = token_utf8_next(held->data + done, held->size - done, &point);
        size_t broken = length > 0 ? 0 : malformed_length(held->data + done, held->size - done, &open);

        if (open && !last)
            break;
        if (length > 0 ? !token_buffer_append(&made, held->data + done, length)
                       : !token_buffer_append(&made, REPLACEMENT, 3)) {
            token_buffer_free(&made);
            return accel_error_no_memory(error, "to decode tokens");
        }
        done += length > 0 ? length : per_byte ? 1 : broken;
    }
    if (done > 0)
        memmove(held->data, held->data + done, held->size - done);
    held->size -= done;
    if (made.size > 0)
        code = feed(decoding, at + 1, made.data, made.size, error);
    token_buffer_free(&made);
    return code;
}

/* Decodes ByteLevel: a piece becomes bytes if each of its characters encodes a byte, else it passes unchanged. */
static int32_t feed_bytes(struct token_decoding *decoding, size_t at, const char *text, size_t size,
                          struct accel_error *error)
{
    struct token_buffer *held = &decoding->stages[at].held;
    size_t before = held->size;

    if (!token_buffer_reserve(held, size))
        return accel_error_no_memory(error, "to decode tokens");
    for (size_t i = 0, length; i < size; i += length) {
        uint32_t code = 0;
        int byte;

        length = token_utf8_next(text + i, size - i, &code);
        byte = length == 0 ? -1 : token_character_byte(code);
        if (byte < 0) {
            held->size = before;
            if (!token_buffer_append(held, text, size))
                return accel_error_no_memory(error, "to decode tokens");
            break;
        }
        held->data[held->size++] = (char)byte;
    }
    return emit_bytes(decoding, at, false, false, error);
}

static int hex_digit(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'A' && letter <= 'F')
        return letter - 'A' + 10;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Returns the byte that a piece spells as <0xNN>, or -1. */
static int parse_byte(const char *text, size_t size)
{
    if (size != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>' || hex_digit(text[3]) < 0 || hex_digit(text[4]) < 0)
        return -1;
    return hex_digit(text[3]) * 16 + hex_digit(text[4]);
}

/* Ends a run of <0xNN> pieces. In a whole text one malformed character turns every byte of the run into U+FFFD, as in
 * the tokenizers library; a stream has emitted the valid characters already. */
static int32_t end_run(struct token_decoding *decoding, size_t at, struct accel_error *error)
{
    struct token_buffer *held = &decoding->stages[at].held;
    size_t size = held->size;
    int32_t code = ACCEL_OK;

    if (size == 0)
        return ACCEL_OK;
    if (!decoding->eager && token_utf8_check(held->data, size) < size)
        memset(held->data, 0xff, size);
    code = emit_bytes(decoding, at, true, true, error);
    return code;
}

static int32_t feed_fallback(struct token_decoding *decoding, size_t at, const char *text, size_t size,
                             struct accel_error *error)
{
    int byte = parse_byte(text, size);
    int32_t code;

    if (byte >= 0) {
        char letter = (char)byte;

        if (!token_buffer_append(&decoding->stages[at].held, &letter, 1))
            return accel_error_no_memory(error, "to decode tokens");
        return decoding->eager ? emit_bytes(decoding, at, true, false, error) : ACCEL_OK;
    }
    code = end_run(decoding, at, error);
    return code == ACCEL_OK ? feed(decoding, at + 1, text, size, error) : code;
}

static int32_t feed_replaced(struct token_decoding *decoding, size_t at, const char *text, size_t size,
                             struct accel_error *error)
{
    const struct token_decoder *step = &decoding->list->items[at];
    struct token_buffer made = {0};
    int32_t code = ACCEL_OK;
    bool mark = step->kind == TOKEN_DECODE_MARK;
    /* Metaspace removes every mark in the first piece, as the tokenizers library does. */
    bool drop = mark && step->prefix && !decoding->stages[at].begun;

    decoding->stages[at].begun = true;
    code =
        token_replace(step->pattern, text, size, mark ? " " : step->text, mark ? !drop : step->text_size, &made, error);
    if (code == ACCEL_OK)
        code = feed(decoding, at + 1, made.data, made.size, error);
    token_buffer_free(&made);
    return code;
}

static int32_t feed_stripped(struct token_decoding *decoding, size_t at, const char *text, size_t size,
                             struct accel_error *error)
{
    const struct token_decoder *step = &decoding->list->items[at];
    struct token_stage *stage = &decoding->stages[at];
    size_t start = 0, end = size;
    size_t removed = step->fused ? stage->stripped : 0;

    if (!step->fused || !stage->past_start) {
        while (removed < step->start && end - start >= step->text_size &&
               memcmp(text + start, step->text, step->text_size) == 0) {
            start += step->text_size;
            removed++;
        }
    }
    stage->stripped = removed;
    /* After a FUSE only the beginning of the whole text is stripped, up to the first other character. */
    stage->past_start = stage->past_start || start < end;
    for (size_t i = 0; i < step->stop && end - start >= step->text_size &&
                       memcmp(text + end - step->text_size, step->text, step->text_size) == 0;
         i++)
        end -= step->text_size;
    return feed(decoding, at + 1, text + start, end - start, error);
}

/* Decodes BPEDecoder, which treats the last piece differently, so one piece is held back. */
static int32_t feed_suffix(struct token_decoding *decoding, size_t at, const char *text, size_t size, bool last,
                           struct accel_error *error)
{
    const struct token_decoder *step = &decoding->list->items[at];
    struct token_stage *stage = &decoding->stages[at];
    struct token_buffer made = {0};
    int32_t code = ACCEL_OK;

    if (stage->begun) {
        code = token_replace(step->pattern, stage->held.data, stage->held.size, " ", last ? 0 : 1, &made, error);
        if (code == ACCEL_OK)
            code = feed(decoding, at + 1, made.data, made.size, error);
    }
    token_buffer_free(&made);
    stage->held.size = 0;
    stage->begun = !last;
    if (code == ACCEL_OK && !token_buffer_append(&stage->held, text, size))
        code = accel_error_no_memory(error, "to decode tokens");
    return code;
}

/* Replaces every `from` in the text, which only gets shorter. */
static void shorten(struct token_buffer *text, const char *from, const char *to)
{
    size_t from_size = strlen(from), to_size = strlen(to), used = 0;

    for (size_t at = 0; at < text->size;) {
        bool found = text->size - at >= from_size && memcmp(text->data + at, from, from_size) == 0;

        if (found)
            memcpy(text->data + used, to, to_size);
        else
            text->data[used] = text->data[at];
        used += found ? to_size : 1;
        at += found ? from_size : 1;
    }
    text->size = used;
}

/* Decodes a piece of WordPiece; the cleanup is done piece by piece, as in the tokenizers library. */
static int32_t feed_wordpiece(struct token_decoding *decoding, size_t at, const char *text, size_t size,
                              struct accel_error *error)
{
    static const char *const cleanups[][2] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    const struct token_decoder *step = &decoding->list->items[at];
    struct token_buffer made = {0};
    bool first = !decoding->stages[at].begun;
    bool joins = !first && size >= step->text_size && memcmp(text, step->text, step->text_size) == 0;
    size_t skip = joins ? step->text_size : 0;
    int32_t code;

    decoding->stages[at].begun = true;
    if ((!first && !joins && !token_buffer_append(&made, " ", 1)) ||
        !token_buffer_append(&made, text + skip, size - skip)) {
        token_buffer_free(&made);
        return accel_error_no_memory(error, "to decode tokens");
    }
    for (size_t i = 0; step->cleanup && i < sizeof(cleanups) / sizeof(cleanups[0]); i++)
        shorten(&made, cleanups[i][0], cleanups[i][1]);
    code = feed(decoding, at + 1, made.data, made.size, error);
    token_buffer_free(&made);
    return code;
}

/* Passes a piece to step `at`, or appends it to the text after the last step. */
static int32_t feed(struct token_decoding *decoding, size_t at, const char *text, size_t size,
                    struct accel_error *error)
{
    if (text == NULL) /* an empty piece may come from an unallocated buffer */
        text = "";
    if (at >= decoding->list->count)
        return token_buffer_append(&decoding->out, text, size) ? ACCEL_OK
                                                               : accel_error_no_memory(error, "to decode tokens");
    switch (decoding->list->items[at].kind) {
    case TOKEN_DECODE_BYTES:
        return feed_bytes(decoding, at, text, size, error);
    case TOKEN_DECODE_FALLBACK:
        return feed_fallback(decoding, at, text, size, error);
    case TOKEN_DECODE_REPLACE:
    case TOKEN_DECODE_MARK:
        return feed_replaced(decoding, at, text, size, error);
    case TOKEN_DECODE_STRIP:
        return feed_stripped(decoding, at, text, size, error);
    case TOKEN_DECODE_SUFFIX:
        return feed_suffix(decoding, at, text, size, false, error);
    case TOKEN_DECODE_WORDPIECE:
        return feed_wordpiece(decoding, at, text, size, error);
    case TOKEN_DECODE_BLANKS:
        if (decoding->stages[at].begun && !token_buffer_append(&decoding->out, " ", 1))
            return accel_error_no_memory(error, "to decode tokens");
        decoding->stages[at].begun = true;
        return feed(decoding, at + 1, text, size, error);
    default:
        return feed(decoding, at + 1, text, size, error);
    }
}

int32_t token_decoding_push(struct token_decoding *decoding, const char *text, size_t size, struct accel_error *error)
{
    return feed(decoding, 0, text, size, error);
}

int32_t token_decoding_end(struct token_decoding *decoding, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (size_t at = 0; at < decoding->list->count; at++) {
        struct token_stage *stage = &decoding->stages[at];

        if (code == ACCEL_OK && decoding->list->items[at].kind == TOKEN_DECODE_BYTES)
            code = emit_bytes(decoding, at, false, true, error);
        if (code == ACCEL_OK && decoding->list->items[at].kind == TOKEN_DECODE_FALLBACK)
            code = end_run(decoding, at, error);
        if (code == ACCEL_OK && decoding->list->items[at].kind == TOKEN_DECODE_SUFFIX)
            code = feed_suffix(decoding, at, NULL, 0, true, error);
        stage->held.size = 0;
        stage->stripped = 0;
        stage->begun = stage->past_start = false;
    }
    return code;
}
