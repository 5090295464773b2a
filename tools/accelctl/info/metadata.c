/* SPDX-License-Identifier: Apache-2.0 */
/* Lists metadata of a model as rows: key, type, number of elements, value. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/info/info.h"

enum { SHOWN = 8, KEY_MOST = 512, DEPTH_MOST = 32 };

/* ---- GGUF ---- */

/* Returns a text as JSON, cut at its first zero byte. */
static json_t *text_json(const struct accel_model_text *text)
{
    return text == NULL || text->text == NULL ? json_string("") : json_text(text->text);
}

/* Returns a number as JSON, infinities and NaN as words, since JSON has no numbers for them. */
static json_t *real_json(double value)
{
    return isnan(value)   ? json_string("nan")
           : isinf(value) ? json_string(value < 0 ? "-inf" : "inf")
                          : json_real(value);
}

static json_t *element_json(const struct accel_model_value *value, uint64_t index)
{
    uint64_t bits = 0;
    int64_t whole = 0;
    double real = 0;

    switch (value->kind) {
    case ACCEL_MODEL_TEXT:
        return text_json(value->list ? accel_model_value_text(value, index) : value->data);
    case ACCEL_MODEL_BOOL:
        return json_boolean(((const unsigned char *)value->data)[index] != 0);
    case ACCEL_MODEL_FLOAT:
        accel_model_value_f64(value, index, &real, NULL);
        return real_json(real);
    case ACCEL_MODEL_SIGNED:
        accel_model_value_i64(value, index, &whole, NULL);
        return json_integer((json_int_t)whole);
    default:
        accel_model_value_u64(value, index, &bits, NULL);
        return bits > INT64_MAX ? json_real((double)bits) : json_integer((json_int_t)bits);
    }
}

/* Names the type as llama.cpp does: "u32", "f32", "str", "arr[str,49152]". */
static const char *type_name_of(const struct accel_model_value *value, char text[48])
{
    static const char letters[] = {[ACCEL_MODEL_UNSIGNED] = 'u', [ACCEL_MODEL_SIGNED] = 'i', [ACCEL_MODEL_FLOAT] = 'f'};
    char element[16];

    if (value->kind == ACCEL_MODEL_TEXT || value->kind == ACCEL_MODEL_BOOL)
        snprintf(element, sizeof(element), "%s", value->kind == ACCEL_MODEL_TEXT ? "str" : "bool");
    else
        snprintf(element, sizeof(element), "%c%u", letters[value->kind], value->width * 8);
    if (value->list)
        snprintf(text, 48, "arr[%s,%llu]", element, (unsigned long long)value->count);
    else
        snprintf(text, 48, "%s", element);
    return text;
}

static json_t *value_json(const struct accel_model_value *value, uint32_t whole)
{
    json_t *list;

    if (!value->list)
        return element_json(value, 0);
    list = json_array();
    for (uint64_t i = 0; i < value->count && (whole || i < SHOWN); i++)
        json_array_append_new(list, element_json(value, i));
    return list;
}

static void add_row(json_t *rows, const char *key, const char *type, uint64_t count, uint64_t shown, json_t *value)
{
    json_array_append_new(rows, json_pack("{s:o, s:s, s:I, s:b, s:o}", "key", json_text(key), "type", type, "count",
                                          (json_int_t)count, "shortened", shown < count, "value", value));
}

static void add_values(json_t *rows, const struct accel_model_file *file, uint32_t whole)
{
    const uint32_t is_gguf = accel_model_file_format(file) == ACCEL_MODEL_GGUF;
    char type[48], key[KEY_MOST];

    for (uint64_t i = 0; i < accel_model_file_value_count(file); i++) {
        const struct accel_model_value *value = accel_model_file_value(file, i);
        const uint64_t shown = whole || value->count < SHOWN ? value->count : SHOWN;

        /* Skips keys that an earlier file of the model has. */
        if (accel_model_file_find_value(file, value->key) != value)
            continue;
        snprintf(key, sizeof(key), "%s%s", is_gguf ? "" : "__metadata__.", value->key);
        add_row(rows, key, type_name_of(value, type), value->count, value->list ? shown : value->count,
                value_json(value, whole));
    }
}

/* ---- config.json ---- */

static const char *member_type(const json_t *value)
{
    return json_is_string(value)    ? "str"
           : json_is_integer(value) ? "int"
           : json_is_real(value)    ? "float"
           : json_is_boolean(value) ? "bool"
           : json_is_null(value)    ? "null"
           : json_is_array(value)   ? "arr"
                                    : "object";
}

/* Adds members; those of nested objects get dotted keys: "rope_scaling.factor". */
static void add_members(json_t *rows, const char *prefix, json_t *value, uint32_t whole, uint32_t depth)
{
    char key[KEY_MOST];
    const char *name;
    json_t *member, *list;

    if (json_is_object(value) && depth < DEPTH_MOST) {
        json_object_foreach(value, name, member)
        {
            snprintf(key, sizeof(key), "%s%s%s", prefix, prefix[0] == '\0' ? "" : ".", name);
            add_members(rows, key, member, whole, depth + 1);
        }
    } else if (json_is_array(value)) {
        list = json_array();
        for (size_t i = 0; i < json_array_size(value) && (whole || i < SHOWN); i++)
            json_array_append(list, json_array_get(value, i));
        add_row(rows, prefix, "arr", json_array_size(value), json_array_size(list), list);
    } else {
        add_row(rows, prefix, member_type(value), 1, 1, json_incref(value));
    }
}

/* Adds the values of config.json. A config.json that is no JSON is reported with the facts of the architecture,
 * which come from it. */
static void add_config(json_t *rows, const struct vocabulary *vocabulary, uint32_t whole)
{
    char *text = NULL;
    uint64_t length = 0;
    json_t *root = NULL;

    if (vocabulary_read(vocabulary, "config.json", &text, &length, NULL) == ACCEL_OK)
        root = json_loadb(text, length, 0, NULL);
    if (json_is_object(root))
        add_members(rows, "", root, whole, 0);
    json_decref(root);
    free(text);
}

json_t *info_metadata(const struct vocabulary *vocabulary, uint32_t whole)
{
    const struct accel_model_file *file = vocabulary->file;
    json_t *rows = json_array();

    if (file == NULL || accel_model_file_format(file) != ACCEL_MODEL_GGUF)
        add_config(rows, vocabulary, whole);
    if (file != NULL)
        add_values(rows, file, whole);
    return rows;
}
