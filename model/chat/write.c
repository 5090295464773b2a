/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/chat/value.h"

#define MAX_DEPTH 64

static bool put(struct token_buffer *out, const char *text)
{
    return token_buffer_append(out, text, strlen(text));
}

/* Formats a number as Python does: in the lowest precision that round-trips, with ".0" after whole numbers. */
static bool put_real(struct token_buffer *out, double value, bool json)
{
    char text[48];

    if (isnan(value))
        return put(out, json ? "NaN" : "nan");
    if (isinf(value))
        return put(out, value > 0 ? (json ? "Infinity" : "inf") : (json ? "-Infinity" : "-inf"));
    for (int precision = 0; precision <= 20; precision++) {
        bool plain = value == 0 || (fabs(value) >= 1e-4 && fabs(value) < 1e16);

        snprintf(text, sizeof(text), plain ? "%.*f" : "%.*g", plain || precision > 0 ? precision : 1, value);
        if (strtod(text, NULL) == value)
            break;
    }
    if (strpbrk(text, ".e") == NULL)
        strcat(text, ".0");
    return put(out, text);
}

static bool put_integer(struct token_buffer *out, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    return put(out, text);
}

/* Appends one byte of a quoted string. */
static bool put_escaped(struct token_buffer *out, char letter, char quote, bool json)
{
    static const char plain[] = "\n\t\r\b\f", named[] = "ntrbf";
    const char *found = letter == '\0' ? NULL : strchr(plain, letter);
    char text[8] = {'\\', letter, 0};

    if (letter == quote || letter == '\\')
        return put(out, text);
    if (found != NULL && (json || found - plain < 3)) {
        text[1] = named[found - plain];
        return put(out, text);
    }
    if ((unsigned char)letter < 32 || (letter == 127 && !json)) {
        snprintf(text, sizeof(text), json ? "\\u%04x" : "\\x%02x", (unsigned)letter);
        return put(out, text);
    }
    return token_buffer_append(out, &letter, 1);
}

static bool put_quoted(struct token_buffer *out, struct chat_text text, bool json)
{
    bool has_single = text.size > 0 && memchr(text.data, '\'', text.size) != NULL;
    bool has_double = text.size > 0 && memchr(text.data, '"', text.size) != NULL;
    char quote = json || (has_single && !has_double) ? '"' : '\'';
    bool done = token_buffer_append(out, &quote, 1);

    for (size_t i = 0; done && i < text.size; i++)
        done = put_escaped(out, text.data[i], quote, json);
    return done && token_buffer_append(out, &quote, 1);
}

static bool put_list(struct token_buffer *out, const struct chat_list *list, int depth)
{
    bool done = put(out, "[");

    for (size_t i = 0; done && i < list->count; i++)
        done = (i == 0 || put(out, ", ")) && chat_write(out, list->items[i], true, depth + 1);
    return done && put(out, "]");
}

static bool put_dict(struct token_buffer *out, const struct chat_dict *dict, int depth)
{
    bool done = put(out, "{");

    for (size_t i = 0; done && i < dict->count; i++)
        done = (i == 0 || put(out, ", ")) && put_quoted(out, dict->pairs[i].key, false) && put(out, ": ") &&
               chat_write(out, dict->pairs[i].value, true, depth + 1);
    return done && put(out, "}");
}

bool chat_write(struct token_buffer *out, struct chat_value value, bool quoted, int depth)
{
    if (depth > MAX_DEPTH)
        return put(out, "...");
    switch (value.kind) {
    case CHAT_UNDEFINED:
        return !quoted || put(out, "Undefined");
    case CHAT_NONE:
        return put(out, "None");
    case CHAT_BOOL:
        return put(out, value.as.integer ? "True" : "False");
    case CHAT_INTEGER:
        return put_integer(out, value.as.integer);
    case CHAT_REAL:
        return put_real(out, value.as.real, false);
    case CHAT_STRING:
        return quoted ? put_quoted(out, value.as.text, false)
                      : token_buffer_append(out, value.as.text.data, value.as.text.size);
    case CHAT_LIST:
        return put_list(out, value.as.list, depth);
    case CHAT_DICT:
        return put_dict(out, value.as.dict, depth);
    default:
        return put(out, "<") && put(out, chat_kind_name(value.kind)) && put(out, ">");
    }
}

static bool put_break(struct token_buffer *out, int indent, int depth)
{
    bool done = put(out, "\n");

    for (int i = 0; done && i < indent * depth; i++)
        done = put(out, " ");
    return done;
}

/* Appends the separator before entry `i`: with an indent every entry has its own line. */
static bool put_seam(struct token_buffer *out, size_t i, int indent, int depth)
{
    if (indent < 0)
        return i == 0 || put(out, ", ");
    return (i == 0 || put(out, ",")) && put_break(out, indent, depth + 1);
}

static bool put_json_list(struct token_buffer *out, const struct chat_list *list, int indent, int depth)
{
    bool done = put(out, "[");

    for (size_t i = 0; done && i < list->count; i++)
        done = put_seam(out, i, indent, depth) && chat_write_json(out, list->items[i], indent, depth + 1);
    if (done && indent >= 0 && list->count > 0)
        done = put_break(out, indent, depth);
    return done && put(out, "]");
}

static bool put_json_dict(struct token_buffer *out, const struct chat_dict *dict, int indent, int depth)
{
    bool done = put(out, "{");

    for (size_t i = 0; done && i < dict->count; i++)
        done = put_seam(out, i, indent, depth) && put_quoted(out, dict->pairs[i].key, true) && put(out, ": ") &&
               chat_write_json(out, dict->pairs[i].value, indent, depth + 1);
    if (done && indent >= 0 && dict->count > 0)
        done = put_break(out, indent, depth);
    return done && put(out, "}");
}

bool chat_write_json(struct token_buffer *out, struct chat_value value, int indent, int depth)
{
    if (depth > MAX_DEPTH)
        return put(out, "...");
    switch (value.kind) {
    case CHAT_BOOL:
        return put(out, value.as.integer ? "true" : "false");
    case CHAT_INTEGER:
        return put_integer(out, value.as.integer);
    case CHAT_REAL:
        return put_real(out, value.as.real, true);
    case CHAT_STRING:
        return put_quoted(out, value.as.text, true);
    case CHAT_LIST:
        return put_json_list(out, value.as.list, indent, depth);
    case CHAT_DICT:
        return put_json_dict(out, value.as.dict, indent, depth);
    default:
        return put(out, "null");
    }
}
