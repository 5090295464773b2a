/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/doctor/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

void accel_json_key(struct accel_json *json, const char *key)
{
    if (json->failed || json->has_key || json->depth == 0 || json->open[json->depth - 1] != '{') {
        json->failed = true;
        return;
    }
    start_member(json);
    accel_strbuf_json(json->out, key);
    accel_strbuf_text(json->out, json->indent ? ": " : ":");
    json->has_key = true;
}

void accel_json_literal(struct accel_json *json, const char *literal)
{
    if (start_value(json))
        accel_strbuf_text(json->out, literal);
}

void accel_json_text(struct accel_json *json, const char *text)
{
    if (text == NULL)
        accel_json_literal(json, "null");
    else if (start_value(json))
        accel_strbuf_json(json->out, text);
}

void accel_json_i64(struct accel_json *json, int64_t value)
{
    char number[24];
    snprintf(number, sizeof(number), "%" PRId64, value);
    accel_json_literal(json, number);
}

void accel_json_u64(struct accel_json *json, uint64_t value)
{
    char number[24];
    snprintf(number, sizeof(number), "%" PRIu64, value);
    accel_json_literal(json, number);
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
