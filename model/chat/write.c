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

static bool put_value(struct token_buffer *out, struct chat_value value, bool json, int indent, int depth);

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

static bool put_list(struct token_buffer *out, const struct chat_list *list, bool json, int indent, int depth)
{
    bool done = put(out, "[");

    for (size_t i = 0; done && i < list->count; i++)
        done = put_seam(out, i, indent, depth) && put_value(out, list->items[i], json, indent, depth + 1);
    if (done && indent >= 0 && list->count > 0)
        done = put_break(out, indent, depth);
    return done && put(out, "]");
}

static bool put_dict(struct token_buffer *out, const struct chat_dict *dict, bool json, int indent, int depth)
{
    bool done = put(out, "{");

    for (size_t i = 0; done && i < dict->count; i++)
        done = put_seam(out, i, indent, depth) && put_quoted(out, dict->pairs[i].key, json) && put(out, ": ") &&
               put_value(out, dict->pairs[i].value, json, indent, depth + 1);
    if (done && indent >= 0 && dict->count > 0)
        done = put_break(out, indent, depth);
    return done && put(out, "}");
}

/* Appends a value as JSON, or as Python's repr prints it. */
static bool put_value(struct token_buffer *out, struct chat_value value, bool json, int indent, int depth)
{
    if (depth > MAX_DEPTH)
        return put(out, "...");
    switch (value.kind) {
    case CHAT_BOOL:
        return put(out, value.as.integer ? (json ? "true" : "True") : (json ? "false" : "False"));
    case CHAT_INTEGER:
        return put_integer(out, value.as.integer);
    case CHAT_REAL:
        return put_real(out, value.as.real, json);
    case CHAT_STRING:
        return put_quoted(out, value.as.text, json);
    case CHAT_LIST:
        return put_list(out, value.as.list, json, indent, depth);
    case CHAT_DICT:
        return put_dict(out, value.as.dict, json, indent, depth);
    default:
        if (json || value.kind == CHAT_NONE || value.kind == CHAT_UNDEFINED)
            return put(out, json ? "null" : value.kind == CHAT_NONE ? "None" : "Undefined");
        return put(out, "<") && put(out, chat_kind_name(value.kind)) && put(out, ">");
    }
}

bool chat_write(struct token_buffer *out, struct chat_value value)
{
    if (value.kind == CHAT_STRING)
        return token_buffer_append(out, value.as.text.data, value.as.text.size);
    return value.kind == CHAT_UNDEFINED || put_value(out, value, false, -1, 0);
}

bool chat_write_json(struct token_buffer *out, struct chat_value value, int indent)
{
    return put_value(out, value, true, indent, 0);
}
