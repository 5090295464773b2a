/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

void accel_json_init(struct accel_json *json, struct accel_strbuf *out, uint32_t indent)
{
    memset(json, 0, sizeof(*json));
    json->out = out;
    json->indent = indent;
}

static void new_line(struct accel_json *json)
{
    if (json->indent == 0)
        return;
    accel_strbuf_char(json->out, '\n');
    for (uint32_t i = 0; i < json->depth * json->indent; i++)
        accel_strbuf_char(json->out, ' ');
}

/* Writes the comma and the indent before a member of the innermost object or array. */
static void start_member(struct accel_json *json)
{
    bool *filled = &json->filled[json->depth - 1];
    if (*filled)
        accel_strbuf_char(json->out, ',');
    *filled = true;
    new_line(json);
}

/* Returns whether a value is allowed here. */
static bool start_value(struct accel_json *json)
{
    bool in_object = json->depth > 0 && json->open[json->depth - 1] == '{';
    if (json->failed || json->done || in_object != json->has_key) {
        json->failed = true;
        return false;
    }
    if (json->depth > 0 && !in_object)
        start_member(json);
    json->has_key = false;
    json->done = json->depth == 0;
    return true;
}

static void begin(struct accel_json *json, char bracket)
{
    if (!start_value(json))
        return;
    json->done = false;
    if (json->depth == ACCEL_JSON_DEPTH) {
        json->failed = true;
        return;
    }
    json->open[json->depth] = bracket;
    json->filled[json->depth] = false;
    json->depth++;
    accel_strbuf_char(json->out, bracket);
}

static void end(struct accel_json *json, char bracket, char closing)
{
    if (json->failed || json->has_key || json->depth == 0 || json->open[json->depth - 1] != bracket) {
        json->failed = true;
        return;
    }
    json->depth--;
    if (json->filled[json->depth])
        new_line(json);
    accel_strbuf_char(json->out, closing);
    json->done = json->depth == 0;
}

void accel_json_object_begin(struct accel_json *json)
{
    begin(json, '{');
}

void accel_json_object_end(struct accel_json *json)
{
    end(json, '{', '}');
}

void accel_json_array_begin(struct accel_json *json)
{
    begin(json, '[');
}

void accel_json_array_end(struct accel_json *json)
{
    end(json, '[', ']');
}

static void write_escaped_byte(struct accel_strbuf *out, unsigned char byte)
{
    static const char shorts[] = "\b\f\n\r\t\"\\";
    static const char letters[] = "bfnrt\"\\";
    const char *found = byte ? strchr(shorts, byte) : NULL;
    if (found)
        accel_strbuf_printf(out, "\\%c", letters[found - shorts]);
    else if (byte < 0x20 || byte == 0x7f)
        accel_strbuf_printf(out, "\\u%04x", byte);
    else
        accel_strbuf_char(out, (char)byte);
}

static void write_string(struct accel_strbuf *out, const char *text, size_t bytes)
{
    accel_strbuf_char(out, '"');
    for (size_t at = 0; at < bytes;) {
        size_t length = accel_utf8_char(text + at, bytes - at);
        if (length == 0)
            accel_strbuf_text(out, "\\ufffd");
        else if (length == 1)
            write_escaped_byte(out, (unsigned char)text[at]);
        else
            accel_strbuf_append(out, text + at, length);
        at += length ? length : 1;
    }
    accel_strbuf_char(out, '"');
}

void accel_json_key(struct accel_json *json, const char *key)
{
    if (json->failed || json->has_key || json->depth == 0 || json->open[json->depth - 1] != '{') {
        json->failed = true;
        return;
    }
    start_member(json);
    write_string(json->out, key, strlen(key));
    accel_strbuf_text(json->out, json->indent ? ": " : ":");
    json->has_key = true;
}

void accel_json_text_bytes(struct accel_json *json, const char *text, size_t bytes)
{
    if (start_value(json))
        write_string(json->out, text, bytes);
}

void accel_json_text(struct accel_json *json, const char *text)
{
    if (text)
        accel_json_text_bytes(json, text, strlen(text));
    else
        accel_json_null(json);
}

void accel_json_i64(struct accel_json *json, int64_t value)
{
    if (start_value(json))
        accel_strbuf_printf(json->out, "%" PRId64, value);
}

void accel_json_u64(struct accel_json *json, uint64_t value)
{
    if (start_value(json))
        accel_strbuf_printf(json->out, "%" PRIu64, value);
}

/* Replaces the decimal point of the locale, which may have several bytes; nothing else in %g depends on the
 * locale. */
static void write_number(struct accel_strbuf *out, const char *number)
{
    static const char portable[] = "0123456789+-e";
    size_t length = strspn(number, portable);
    accel_strbuf_append(out, number, length);
    if (number[length] == '\0')
        return;
    accel_strbuf_char(out, '.');
    accel_strbuf_text(out, strpbrk(number + length, portable));
}

void accel_json_double(struct accel_json *json, double value)
{
    char number[40];
    if (!isfinite(value)) {
        accel_json_null(json);
        return;
    }
    if (!start_value(json))
        return;
    /* Tries short forms first: a precision of 17 always reads back as the same number, a lower one usually does. */
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(number, sizeof(number), "%.*g", precision, value);
        if (strtod(number, NULL) == value)
            break;
    }
    write_number(json->out, number);
}

void accel_json_bool(struct accel_json *json, bool value)
{
    if (start_value(json))
        accel_strbuf_text(json->out, value ? "true" : "false");
}

void accel_json_null(struct accel_json *json)
{
    if (start_value(json))
        accel_strbuf_text(json->out, "null");
}

void accel_json_member_text(struct accel_json *json, const char *key, const char *text)
{
    accel_json_key(json, key);
    accel_json_text(json, text);
}

void accel_json_member_i64(struct accel_json *json, const char *key, int64_t value)
{
    accel_json_key(json, key);
    accel_json_i64(json, value);
}

void accel_json_member_u64(struct accel_json *json, const char *key, uint64_t value)
{
    accel_json_key(json, key);
    accel_json_u64(json, value);
}

void accel_json_member_double(struct accel_json *json, const char *key, double value)
{
    accel_json_key(json, key);
    accel_json_double(json, value);
}

void accel_json_member_bool(struct accel_json *json, const char *key, bool value)
{
    accel_json_key(json, key);
    accel_json_bool(json, value);
}

void accel_json_member_object(struct accel_json *json, const char *key)
{
    accel_json_key(json, key);
    accel_json_object_begin(json);
}

void accel_json_member_array(struct accel_json *json, const char *key)
{
    accel_json_key(json, key);
    accel_json_array_begin(json);
}

bool accel_json_finish(const struct accel_json *json)
{
    return json->done && !json->failed && !json->out->failed;
}
