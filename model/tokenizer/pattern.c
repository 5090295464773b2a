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
/* Letters in circles and squares are words; so are the superscripts and fractions of Latin-1, as Oniguruma has it. */
#define WORDS                                                                                                          \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}"                   \
    "\\x{1f170}-\\x{1f189}\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"

static bool append_string(struct token_buffer *out, const char *text)
{
    return token_buffer_append(out, text, strlen(text));
}

#define MAX_CLASS_DEPTH 16

/* Replacement of an escape outside ([0]) and inside ([1]) of a class; NULL: [0] becomes a member of its own. */
struct escape {
    char letter;
    const char *text[2];
};

static const struct escape escapes[] = {
    {'s', {"[" SPACES "]", SPACES}},
    {'S', {"[^" SPACES "]", NULL}},
    {'w', {"[" WORDS "]", WORDS}},
    {'W', {"[^" WORDS "]", NULL}},
    {'b', {"(?:(?<=[" WORDS "])(?![" WORDS "])|(?<![" WORDS "])(?=[" WORDS "]))", "\\x08"}},
};

/* PCRE2 10.40 and later mean by a script's name its extensions too, with punctuation that several scripts share. */
#if PCRE2_MAJOR > 10 || PCRE2_MINOR >= 40
#define SCRIPT "sc:"
#else
#define SCRIPT ""
#endif

static const char *const scripts[] = {
    "Arabic",   "Armenian",  "Bengali",   "Cyrillic", "Devanagari", "Ethiopic", "Georgian", "Greek", "Gujarati",
    "Gurmukhi", "Han",       "Hangul",    "Hebrew",   "Hiragana",   "Kannada",  "Katakana", "Khmer", "Lao",
    "Latin",    "Malayalam", "Mongolian", "Myanmar",  "Sinhala",    "Tamil",    "Telugu",   "Thai",  "Tibetan",
};

static const struct escape *find_escape(char letter)
{
    for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
        if (escapes[i].letter == letter)
            return &escapes[i];
    }
    return NULL;
}

/* The source of a pattern while it is translated. */
struct reader {
    const char *source;
    size_t size, at;
    const char *where; /* names the pattern in messages */
};

/* One operand of an intersection, or a whole class. */
struct operand {
    struct token_buffer plain;  /* members of a PCRE2 class, without its brackets */
    struct token_buffer nested; /* expressions of one character each, separated by | */
};

static void operand_free(struct operand *operand)
{
    token_buffer_free(&operand->plain);
    token_buffer_free(&operand->nested);
}

static bool is_next(const struct reader *reader, size_t ahead, char letter)
{
    return reader->at + ahead < reader->size && reader->source[reader->at + ahead] == letter;
}

static int32_t refuse(const struct reader *reader, const char *what, struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: %s in the pattern \"%.*s\"", reader->where, what,
                           (int)(reader->size < 200 ? reader->size : 200), reader->source);
}

/* Returns the length of a script's property, such as \p{Han}, and its name; 0 for anything else. */
static size_t find_script(const struct reader *reader, const char **out_name)
{
    const char *at = reader->source + reader->at;
    const char *end = memchr(at, '}', reader->size - reader->at);

    if (end == NULL || end - at < 4 || at[0] != '\\' || (at[1] != 'p' && at[1] != 'P') || at[2] != '{')
        return 0;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        *out_name = scripts[i];
        if ((size_t)(end - at) - 3 == strlen(scripts[i]) && memcmp(at + 3, scripts[i], strlen(scripts[i])) == 0)
            return (size_t)(end - at) + 1;
    }
    return 0;
}

/* Appends one escape or character that has the same meaning inside and outside of a class. */
static int32_t append_plain(struct reader *reader, struct token_buffer *out, struct accel_error *error)
{
    const char *at = reader->source + reader->at;
    const char *name = NULL;
    size_t size = find_script(reader, &name);
    bool added = true;

    if (size > 0) {
        added = token_buffer_append(out, at, 3) && append_string(out, SCRIPT) && append_string(out, name) &&
                append_string(out, "}");
    } else {
        size = *at == '\\' && reader->at + 1 < reader->size ? 2 : 1;
        added = token_buffer_append(out, at, size);
    }
    reader->at += size;
    return added ? ACCEL_OK : accel_error_no_memory(error, "for a pattern");
}

/* Appends the operand as a group that matches one character. */
static int32_t append_operand(const struct reader *reader, const struct operand *operand, struct token_buffer *out,
                              struct accel_error *error)
{
    bool both = operand->plain.size > 0 && operand->nested.size > 0;
    bool added = append_string(out, "(?:");

    if (operand->plain.size == 0 && operand->nested.size == 0)
        return refuse(reader, "an empty class", error);
    if (operand->plain.size > 0)
        added = added && append_string(out, "[") &&
                token_buffer_append(out, operand->plain.data, operand->plain.size) && append_string(out, "]");
    added = added && (!both || append_string(out, "|"));
    if (operand->nested.size > 0)
        added = added && token_buffer_append(out, operand->nested.data, operand->nested.size);
    return added && append_string(out, ")") ? ACCEL_OK : accel_error_no_memory(error, "for a pattern");
}

static int32_t read_class(struct reader *reader, int depth, struct token_buffer *out, struct accel_error *error);

/* Reads one member of a class, or several characters that stand for one: an escape, [:name:], a class. */
static int32_t read_member(struct reader *reader, int depth, struct operand *operand, struct accel_error *error)
{
    const char *at = reader->source + reader->at;
    const struct escape *escape = is_next(reader, 0, '\\') && reader->at + 1 < reader->size ? find_escape(at[1]) : NULL;
    bool nested = escape != NULL ? escape->text[1] == NULL : *at == '[' && !is_next(reader, 1, ':');
    bool added = true;

    if (nested && operand->nested.size > 0 && !append_string(&operand->nested, "|"))
        return accel_error_no_memory(error, "for a pattern");
    if (escape != NULL) {
        reader->at += 2;
        added = append_string(nested ? &operand->nested : &operand->plain, escape->text[nested ? 0 : 1]);
    } else if (nested) {
        return read_class(reader, depth + 1, &operand->nested, error);
    } else if (*at == '[') { /* [:name:] ends at its own bracket */
        const char *end = memmem(at + 2, reader->size - reader->at - 2, ":]", 2);
        size_t size = end == NULL ? reader->size - reader->at : (size_t)(end - at) + 2;

        reader->at += size;
        added = token_buffer_append(&operand->plain, at, size);
    } else {
        return append_plain(reader, &operand->plain, error);
    }
    return added ? ACCEL_OK : accel_error_no_memory(error, "for a pattern");
}

/* Reads the operands of a class up to its closing bracket: all but the last become lookaheads in `ahead`. */
static int32_t read_operands(struct reader *reader, int depth, struct operand *last, struct token_buffer *ahead,
                             struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    /* A bracket that comes first is a member of the class. */
    if (is_next(reader, 0, ']') && !token_buffer_append(&last->plain, reader->source + reader->at++, 1))
        return accel_error_no_memory(error, "for a pattern");
    while (code == ACCEL_OK && reader->at < reader->size && !is_next(reader, 0, ']')) {
        if (!is_next(reader, 0, '&') || !is_next(reader, 1, '&')) {
            code = read_member(reader, depth, last, error);
            continue;
        }
        reader->at += 2;
        if (!append_string(ahead, "(?="))
            return accel_error_no_memory(error, "for a pattern");
        code = append_operand(reader, last, ahead, error);
        last->plain.size = last->nested.size = 0;
        if (code == ACCEL_OK && !append_string(ahead, ")"))
            code = accel_error_no_memory(error, "for a pattern");
    }
    if (code == ACCEL_OK && reader->at >= reader->size)
        code = refuse(reader, "a class without an end", error);
    reader->at++;
    return code;
}

/* Reads a class at its opening bracket. PCRE2 has no class within a class and no intersection (&&), so a class with
 * these becomes a group that matches one character. */
static int32_t read_class(struct reader *reader, int depth, struct token_buffer *out, struct accel_error *error)
{
    struct operand last = {0};
    struct token_buffer ahead = {0};
    bool negated = is_next(reader, 1, '^');
    bool added = true;
    int32_t code;

    if (depth > MAX_CLASS_DEPTH)
        return accel_error_set(error, ACCEL_E_LIMIT, "%s: classes nested deeper than %d", reader->where,
                               MAX_CLASS_DEPTH);
    reader->at += negated ? 2 : 1;
    code = read_operands(reader, depth, &last, &ahead, error);
    if (code == ACCEL_OK && ahead.size == 0 && last.nested.size == 0) {
        added = append_string(out, negated ? "[^" : "[") &&
                token_buffer_append(out, last.plain.data, last.plain.size) && append_string(out, "]");
    } else if (code == ACCEL_OK) {
        added = append_string(out, negated ? "(?:(?!" : "(?:") && token_buffer_append(out, ahead.data, ahead.size);
        code = append_operand(reader, &last, out, error);
        added = added && append_string(out, negated ? ")(?s:.))" : ")");
    }
    operand_free(&last);
    token_buffer_free(&ahead);
    return code == ACCEL_OK && !added ? accel_error_no_memory(error, "for a pattern") : code;
}

static int32_t translate(const char *source, size_t size, const char *where, struct token_buffer *out,
                         struct accel_error *error)
{
    struct reader reader = {.source = source, .size = size, .where = where};
    int32_t code = ACCEL_OK;

    while (code == ACCEL_OK && reader.at < size) {
        const char *at = source + reader.at;
        const struct escape *escape = *at == '\\' && reader.at + 1 < size ? find_escape(at[1]) : NULL;

        if (*at == '[') {
            code = read_class(&reader, 0, out, error);
        } else if (escape == NULL) {
            code = append_plain(&reader, out, error);
        } else {
            reader.at += 2;
            code = append_string(out, escape->text[0]) ? ACCEL_OK : accel_error_no_memory(error, "for a pattern");
        }
    }
    return code;
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
        pcre2_set_newline(context, PCRE2_NEWLINE_LF);
        pattern->code = pcre2_compile((PCRE2_SPTR)(out.data == NULL ? "" : out.data), out.size,
                                      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &problem,
                                      &offset, context);
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

void token_step_free(struct token_pattern *pattern, const char *text)
{
    token_pattern_free(pattern);
    free((char *)text);
}

int32_t token_step_reserve(void *items, size_t *capacity, size_t count, size_t bytes, struct token_pattern *pattern,
                           const char **text, size_t size, struct accel_error *error)
{
    const char *copy = *text == NULL ? NULL : token_copy(*text, size);

    if ((copy == NULL && *text != NULL) || !token_array_grow(items, capacity, count + 1, bytes)) {
        token_step_free(pattern, copy);
        return accel_error_no_memory(error, "for a tokenizer");
    }
    *text = copy;
    return ACCEL_OK;
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
        size_t empty;

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
        /* Behind an empty match the search goes on at the next character. */
        empty = ends[0];
        cursor->at = empty >= cursor->at ? empty + 1 : cursor->at + 1;
        while (cursor->at < cursor->size && ((unsigned char)cursor->text[cursor->at] & 0xc0) == 0x80)
            cursor->at++;
        if (cursor->empty_matches && ends[1] == empty && empty > 0 && empty < cursor->size) {
            *out_start = *out_end = empty;
            return ACCEL_OK;
        }
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
