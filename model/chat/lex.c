/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/chat/syntax.h"

bool chat_fail(const struct accel_chat_template *chat, uint32_t offset, int32_t code, struct accel_error *error,
               const char *format, ...)
{
    size_t line = 1, column = 1;
    char text[384];
    va_list values;

    for (size_t i = 0; i < offset && i < chat->source.size; i++) {
        column = chat->source.data[i] == '\n' ? 1 : column + (((unsigned char)chat->source.data[i] & 0xc0) != 0x80);
        line += chat->source.data[i] == '\n';
    }
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    accel_error_origin(error, ACCEL_FROM_MODEL,
                       accel_error_set(error, code, "%.100s:%zu:%zu: %s", chat->name, line, column, text));
    return false;
}

bool chat_fail_memory(const struct accel_chat_template *chat, const struct chat_arena *arena, struct accel_error *error)
{
    if (arena->exhausted)
        accel_error_origin(error, ACCEL_FROM_MODEL,
                           accel_error_set(error, ACCEL_E_LIMIT,
                                           "%.100s: the template needs more memory than the limit allows", chat->name));
    else
        accel_error_set(error, ACCEL_E_MEMORY, "%.100s: no memory", chat->name);
    return false;
}

struct lexer {
    struct accel_chat_template *chat;
    const char *source;
    size_t size, at;
    bool line_starting; /* the last consumed text ended with a line break, or none was consumed */
    struct accel_error *error;
};

static bool add(struct lexer *lexer, enum chat_token_kind kind, size_t offset, const char *data, size_t size)
{
    struct accel_chat_template *chat = lexer->chat;

    if (!token_array_grow(&chat->tokens, &chat->token_capacity, chat->token_count + 1, sizeof(*chat->tokens)))
        return chat_fail_memory(chat, &chat->arena, lexer->error);
    chat->tokens[chat->token_count++] =
        (struct chat_token){.kind = kind, .offset = (uint32_t)offset, .text = {data, size}};
    return true;
}

static bool is_blank(char letter)
{
    return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

/* Returns the offset of the next "{{", "{%" or "{#" from `at` on, or the end. */
static size_t find_tag(const struct lexer *lexer, size_t at)
{
    for (; at + 1 < lexer->size; at++) {
        char next = lexer->source[at + 1];

        if (lexer->source[at] == '{' && (next == '{' || next == '%' || next == '#'))
            return at;
    }
    return lexer->size;
}

/* Adds the text before a tag. "-" strips all blanks before it; blocks and comments that begin a line strip its indent
 * (lstrip_blocks), which "+" prevents. */
static bool add_text(struct lexer *lexer, size_t end)
{
    size_t start = lexer->at, stop = end;
    char kind = end + 1 < lexer->size ? lexer->source[end + 1] : 0;
    char mark = end + 2 < lexer->size ? lexer->source[end + 2] : 0;

    if (end < lexer->size && mark == '-') {
        while (stop > start && is_blank(lexer->source[stop - 1]))
            stop--;
    } else if (end < lexer->size && kind != '{' && mark != '+') {
        size_t line = end;

        while (line > start && is_blank(lexer->source[line - 1]) && lexer->source[line - 1] != '\n')
            line--;
        if (line > start ? lexer->source[line - 1] == '\n' : lexer->line_starting)
            stop = line;
    }
    return stop == start || add(lexer, CHAT_T_TEXT, start, lexer->source + start, stop - start);
}

/* Continues after a tag's end: "-" strips all blanks, a block or comment strips one line break (trim_blocks)
 * unless "+". */
static void skip_behind(struct lexer *lexer, char mark, bool output)
{
    size_t from = lexer->at;

    if (mark == '-') {
        while (lexer->at < lexer->size && is_blank(lexer->source[lexer->at]))
            lexer->at++;
    } else if (!output && mark != '+' && lexer->at < lexer->size && lexer->source[lexer->at] == '\n') {
        lexer->at++;
    }
    lexer->line_starting = lexer->at > from && lexer->source[lexer->at - 1] == '\n';
}

static bool skip_comment(struct lexer *lexer)
{
    const char *from = lexer->source + lexer->at + 2;
    size_t rest = lexer->size - lexer->at - 2;
    const char *end = rest == 0 ? NULL : memmem(from, rest, "#}", 2);

    if (end == NULL)
        return chat_fail(lexer->chat, (uint32_t)lexer->at, ACCEL_E_CORRUPT, lexer->error, "a comment has no end");
    lexer->at = (size_t)(end - lexer->source) + 2;
    skip_behind(lexer, end > from ? end[-1] : 0, false);
    return true;
}

static bool is_word(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
}

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

static bool lex_number(struct lexer *lexer)
{
    size_t start = lexer->at;
    enum chat_token_kind kind = CHAT_T_INTEGER;

    while (lexer->at < lexer->size && is_digit(lexer->source[lexer->at]))
        lexer->at++;
    if (lexer->at + 1 < lexer->size && lexer->source[lexer->at] == '.' && is_digit(lexer->source[lexer->at + 1])) {
        kind = CHAT_T_REAL;
        lexer->at++;
        while (lexer->at < lexer->size && is_digit(lexer->source[lexer->at]))
            lexer->at++;
    }
    if (lexer->at < lexer->size && (lexer->source[lexer->at] | 32) == 'e') {
        size_t exponent = lexer->at + 1;

        exponent += exponent < lexer->size && (lexer->source[exponent] == '-' || lexer->source[exponent] == '+');
        if (exponent < lexer->size && is_digit(lexer->source[exponent])) {
            kind = CHAT_T_REAL;
            for (lexer->at = exponent; lexer->at < lexer->size && is_digit(lexer->source[lexer->at]);)
                lexer->at++;
        }
    }
    return add(lexer, kind, start, lexer->source + start, lexer->at - start);
}

/* Reads `count` hexadecimal characters after \x, \u or \U. */
static bool read_code(struct lexer *lexer, int count, uint32_t *out_code)
{
    *out_code = 0;
    for (int i = 0; i < count; i++) {
        char letter = lexer->at < lexer->size ? lexer->source[lexer->at] : 0;
        int value = is_digit(letter)                 ? letter - '0'
                    : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                    : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                                     : -1;

        if (value < 0)
            return false;
        *out_code = *out_code * 16 + (uint32_t)value;
        lexer->at++;
    }
    return *out_code <= 0x10ffff && (*out_code < 0xd800 || *out_code > 0xdfff);
}

/* Decodes one escape, after its backslash, into `out`; returns its bytes, 0 if it is malformed. */
static size_t lex_escape(struct lexer *lexer, char out[4])
{
    static const char letters[] = "nrtabfv0\\'\"", meant[] = "\n\r\t\a\b\f\v\0\\'\"";
    char letter = lexer->at < lexer->size ? lexer->source[lexer->at] : 0;
    const char *found = letter == 0 ? NULL : strchr(letters, letter);
    uint32_t code;

    lexer->at++;
    if (found != NULL) {
        out[0] = meant[found - letters];
        return 1;
    }
    if (letter == 'x' || letter == 'u' || letter == 'U')
        return read_code(lexer, letter == 'x' ? 2 : letter == 'u' ? 4 : 8, &code) ? token_utf8_put(code, out) : 0;
    out[0] = '\\'; /* not an escape */
    lexer->at--;
    return 1;
}

static bool lex_string(struct lexer *lexer)
{
    size_t start = lexer->at;
    char quote = lexer->source[lexer->at++];
    size_t end = lexer->at, used = 0;
    char *text;

    while (end < lexer->size && lexer->source[end] != quote)
        end += lexer->source[end] == '\\' ? 2 : 1;
    if (end >= lexer->size)
        return chat_fail(lexer->chat, (uint32_t)start, ACCEL_E_CORRUPT, lexer->error, "a string has no end");
    text = chat_arena_take(&lexer->chat->arena, end - start + 4);
    if (text == NULL)
        return chat_fail_memory(lexer->chat, &lexer->chat->arena, lexer->error);
    while (lexer->at < end) {
        size_t size = 1;

        text[used] = lexer->source[lexer->at++];
        if (text[used] == '\\') {
            size = lex_escape(lexer, text + used);
            if (size == 0 || lexer->at > end)
                return chat_fail(lexer->chat, (uint32_t)start, ACCEL_E_CORRUPT, lexer->error,
                                 "a string holds an escape that is no character");
        }
        used += size;
    }
    lexer->at = end + 1;
    return add(lexer, CHAT_T_STRING, start, text, used);
}

static bool lex_sign(struct lexer *lexer, int *depth)
{
    static const char *const pairs[] = {"==", "!=", "<=", ">=", "//", "**"};
    const char *here = lexer->source + lexer->at;
    size_t size = 1;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (lexer->at + 1 < lexer->size && memcmp(here, pairs[i], 2) == 0)
            size = 2;
    }
    if (size == 1 && strchr("+-*/%~<>()[]{},.:|=", *here) == NULL)
        return chat_fail(lexer->chat, (uint32_t)lexer->at, ACCEL_E_CORRUPT, lexer->error, "unexpected character \"%c\"",
                         *here >= 32 && *here < 127 ? *here : '?');
    *depth += strchr("([{", *here) != NULL && size == 1;
    *depth -= strchr(")]}", *here) != NULL && size == 1;
    lexer->at += size;
    return add(lexer, CHAT_T_SIGN, lexer->at - size, here, size);
}

/* Returns whether a tag ends here; *out_mark is the "-" or "+" before the end. Brackets protect an end within an
 * expression. */
static bool at_close(const struct lexer *lexer, bool output, char *out_mark, size_t *out_size)
{
    const char *here = lexer->source + lexer->at;
    size_t rest = lexer->size - lexer->at;
    const char *close = output ? "}}" : "%}";

    *out_mark = rest > 2 && (*here == '-' || *here == '+') && memcmp(here + 1, close, 2) == 0 ? *here : 0;
    *out_size = *out_mark != 0 ? 3 : 2;
    return *out_mark != 0 || (rest >= 2 && memcmp(here, close, 2) == 0);
}

static bool lex_tag(struct lexer *lexer)
{
    bool output = lexer->source[lexer->at + 1] == '{';
    size_t begin = lexer->at, size = 0;
    int depth = 0;
    char mark = 0;
    bool done = add(lexer, output ? CHAT_T_OUTPUT : CHAT_T_BLOCK, begin, lexer->source + begin, 2);

    lexer->at += 2;
    if (lexer->at < lexer->size && (lexer->source[lexer->at] == '-' || lexer->source[lexer->at] == '+'))
        lexer->at++;
    while (done && lexer->at < lexer->size) {
        char letter = lexer->source[lexer->at];
        size_t start = lexer->at;

        if (is_blank(letter)) {
            lexer->at++;
        } else if (depth <= 0 && at_close(lexer, output, &mark, &size)) {
            lexer->at += size;
            skip_behind(lexer, mark, output);
            return add(lexer, CHAT_T_CLOSE, start, lexer->source + start, size);
        } else if (is_word(letter)) {
            while (lexer->at < lexer->size && (is_word(lexer->source[lexer->at]) || is_digit(lexer->source[lexer->at])))
                lexer->at++;
            done = add(lexer, CHAT_T_NAME, start, lexer->source + start, lexer->at - start);
        } else if (is_digit(letter)) {
            done = lex_number(lexer);
        } else if (letter == '\'' || letter == '"') {
            done = lex_string(lexer);
        } else {
            done = lex_sign(lexer, &depth);
        }
    }
    if (done)
        chat_fail(lexer->chat, (uint32_t)begin, ACCEL_E_CORRUPT, lexer->error, "a tag has no end");
    return false;
}

bool chat_lex(struct accel_chat_template *chat, struct accel_error *error)
{
    struct lexer lexer = {
        .chat = chat, .source = chat->source.data, .size = chat->source.size, .line_starting = true, .error = error};

    while (lexer.at < lexer.size) {
        size_t tag = find_tag(&lexer, lexer.at);
        bool done = add_text(&lexer, tag);

        lexer.at = tag;
        if (done && tag < lexer.size)
            done = lexer.source[tag + 1] == '#' ? skip_comment(&lexer) : lex_tag(&lexer);
        if (!done)
            return false;
    }
    return add(&lexer, CHAT_T_END, lexer.size, "", 0);
}
