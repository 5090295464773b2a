/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/pattern.h"

#include <pcre2.h>

struct token_pattern {
    pcre2_code *code; /* NULL: a plain string */
    char *text;       /* the string, or the source for messages */
    size_t size;
};

#define SPACES "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define WORDS "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}"

static bool append_string(struct token_buffer *out, const char *text)
{
    return token_buffer_append(out, text, strlen(text));
}

/* Replacement of an escape outside ([0]) and inside ([1]) of a class; NULL: not expressible there. */
struct escape {
    char letter;
    const char *text[2];
};

static const struct escape escapes[] = {
    {'s', {"[" SPACES "]", SPACES}},
    {'S', {"[^" SPACES "]", NULL}},
    {'w', {"[" WORDS "]", WORDS}},
    {'W', {"[^" WORDS "]", NULL}},
};

static const struct escape *find_escape(char letter)
{
    for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
        if (escapes[i].letter == letter)
            return &escapes[i];
    }
    return NULL;
}

/* A class that holds nothing but \S and \s, such as [\s\S], needs the negated forms inside: PCRE2's serve there, since
 * together with their opposites they cover all of Unicode whatever the border. */
static int32_t translate(const char *source, size_t size, const char *where, struct token_buffer *out,
                         struct accel_error *error)
{
    bool in_class = false;
    bool added = true;

    for (size_t at = 0; at < size && added; at++) {
        const struct escape *escape = NULL;
        const char *text = NULL;

        if (source[at] == '\\' && at + 1 < size) {
            escape = find_escape(source[at + 1]);
            text = escape == NULL ? NULL : escape->text[in_class];
            added = text != NULL ? append_string(out, text) : token_buffer_append(out, source + at, 2);
            at++;
            continue;
        }
        if (source[at] == '[' && in_class && !(at + 1 < size && source[at + 1] == ':'))
            return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: a class within a class in the pattern \"%.*s\"",
                                   where, (int)(size < 200 ? size : 200), source);
        if (source[at] == '&' && in_class && at + 1 < size && source[at + 1] == '&')
            return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: an intersection of classes in the pattern \"%.*s\"",
                                   where, (int)(size < 200 ? size : 200), source);
        added = token_buffer_append(out, source + at, 1);
        if (source[at] == '[' && in_class) { /* [:name:] ends at its own bracket */
            size_t end = at + 1;

            while (end + 1 < size && !(source[end] == ':' && source[end + 1] == ']' && end > at + 1))
                end++;
            added = added && token_buffer_append(out, source + at + 1, end - at);
            at = end < size ? end : size - 1;
            if (at + 1 < size)
                added = added && token_buffer_append(out, source + ++at, 1);
        } else if (source[at] == '[') {
            in_class = true;
            /* A bracket that comes first is a member of the class. */
            if (at + 1 < size && source[at + 1] == '^')
                added = added && token_buffer_append(out, source + ++at, 1);
            if (at + 1 < size && source[at + 1] == ']')
                added = added && token_buffer_append(out, source + ++at, 1);
        } else if (source[at] == ']') {
            in_class = false;
        }
    }
    return added ? ACCEL_OK : accel_error_no_memory(error, "for a pattern");
}

static int32_t compile(struct token_pattern *pattern, const char *where, struct accel_error *error)
{
    struct token_buffer out = {0};
    int32_t code = translate(pattern->text, pattern->size, where, &out, error);
    pcre2_compile_context *context = NULL;
    PCRE2_SIZE offset = 0;
    int problem = 0;

    if (code == ACCEL_OK)
        context = pcre2_compile_context_create(NULL);
    if (context != NULL) {
        pcre2_set_parens_nest_limit(context, 64);
        pattern->code = pcre2_compile((PCRE2_SPTR)(out.data == NULL ? "" : out.data), out.size,
                                      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &problem, &offset, context);
        pcre2_compile_context_free(context);
    }
    token_buffer_free(&out);
    if (code != ACCEL_OK)
        return code;
    if (pattern->code == NULL) {
        char message[128] = "no memory";

        if (problem != 0)
            pcre2_get_error_message(problem, (PCRE2_UCHAR *)message, sizeof(message));
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: pattern \"%.*s\": %s", where,
                               (int)(pattern->size < 200 ? pattern->size : 200), pattern->text, message);
    }
    /* Without just-in-time code matching is slower and equal, so a refusal of executable memory does not matter. */
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
    return ACCEL_OK;
}

int32_t token_pattern_create_text(const char *text, size_t size, struct token_pattern **out_pattern,
                                  struct accel_error *error)
{
    struct token_pattern *pattern = calloc(1, sizeof(*pattern));

    *out_pattern = NULL;
    if (pattern != NULL)
        pattern->text = token_copy(text, size);
    if (pattern == NULL || pattern->text == NULL) {
        free(pattern);
        return accel_error_no_memory(error, "for a pattern");
    }
    pattern->size = size;
    *out_pattern = pattern;
    return ACCEL_OK;
}

int32_t token_pattern_create(const char *source, size_t size, const char *where, struct token_pattern **out_pattern,
                             struct accel_error *error)
{
    struct token_pattern *pattern;
    int32_t code = token_pattern_create_text(source, size, &pattern, error);

    *out_pattern = NULL;
    if (code == ACCEL_OK)
        code = compile(pattern, where, error);
    if (code != ACCEL_OK) {
        token_pattern_free(pattern);
        return code;
    }
    *out_pattern = pattern;
    return ACCEL_OK;
}

void token_pattern_free(struct token_pattern *pattern)
{
    if (pattern == NULL)
        return;
    pcre2_code_free(pattern->code);
    free(pattern->text);
    free(pattern);
}

void token_step_free(struct token_pattern *pattern, char *text)
{
    token_pattern_free(pattern);
    free(text);
}

static void find_text(struct token_cursor *cursor, size_t *out_start, size_t *out_end)
{
    const struct token_pattern *pattern = cursor->pattern;
    const char *found = NULL;

    if (pattern->size > 0 && cursor->at < cursor->size)
        found = memmem(cursor->text + cursor->at, cursor->size - cursor->at, pattern->text, pattern->size);
    *out_start = found == NULL ? cursor->size : (size_t)(found - cursor->text);
    *out_end = found == NULL ? cursor->size : *out_start + pattern->size;
    cursor->at = *out_end;
}

/* Searches once from cursor->at; JIT code has a small stack, and the interpreter takes over if it overflows. */
static int search(struct token_cursor *cursor)
{
    int found = pcre2_match(cursor->pattern->code, (PCRE2_SPTR)cursor->text, cursor->size, cursor->at,
                            PCRE2_NO_UTF_CHECK, cursor->match, NULL);

    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
        found = pcre2_match(cursor->pattern->code, (PCRE2_SPTR)cursor->text, cursor->size, cursor->at,
                            PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, cursor->match, NULL);
    return found;
}

int32_t token_cursor_next(struct token_cursor *cursor, size_t *out_start, size_t *out_end, struct accel_error *error)
{
    if (cursor->pattern->code == NULL) {
        find_text(cursor, out_start, out_end);
        return ACCEL_OK;
    }
    if (cursor->match == NULL) {
        cursor->match = pcre2_match_data_create_from_pattern(cursor->pattern->code, NULL);
        if (cursor->match == NULL)
            return accel_error_no_memory(error, "to match a pattern");
    }
    *out_start = *out_end = cursor->size;
    while (cursor->at < cursor->size) {
        int found = search(cursor);
        const PCRE2_SIZE *ends;

        if (found == PCRE2_ERROR_NOMATCH)
            break;
        if (found < 0)
            return accel_error_set(error, ACCEL_E_LIMIT, "pattern \"%.*s\" needs too many steps at byte %zu (PCRE2 %d)",
                                   (int)(cursor->pattern->size < 200 ? cursor->pattern->size : 200),
                                   cursor->pattern->text, cursor->at, found);
        ends = pcre2_get_ovector_pointer(cursor->match);
        if (ends[1] > ends[0] && ends[0] >= cursor->at) {
            *out_start = ends[0];
            *out_end = cursor->at = ends[1];
            return ACCEL_OK;
        }
        /* An empty match splits nothing; go on behind the next character. */
        cursor->at = ends[0] >= cursor->at ? ends[0] + 1 : cursor->at + 1;
        while (cursor->at < cursor->size && ((unsigned char)cursor->text[cursor->at] & 0xc0) == 0x80)
            cursor->at++;
    }
    cursor->at = cursor->size;
    return ACCEL_OK;
}

void token_cursor_end(struct token_cursor *cursor)
{
    pcre2_match_data_free(cursor->match);
    cursor->match = NULL;
    cursor->at = 0;
}
