/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/json_reader.h"

#include <stdio.h>
#include <string.h>

struct token_json_place token_json_enter(const struct token_json_place *outer, const char *key, int index)
{
    struct token_json_place inner = {.depth = outer->depth + 1};
    const char *dot = outer->path[0] == '\0' ? "" : ".";
    int used = snprintf(inner.path, sizeof(inner.path), "%.100s%s%s", outer->path, dot, key);

    if (index >= 0 && used > 0 && (size_t)used < sizeof(inner.path))
        snprintf(inner.path + used, sizeof(inner.path) - (size_t)used, "[%d]", index);
    return inner;
}

int32_t token_json_wrong(const struct token_json_place *place, const char *key, const char *wanted,
                         struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_CORRUPT, "%s%s%s must be %s", place->path, place->path[0] == '\0' ? "" : ".",
                           key, wanted);
}

int32_t token_json_unsupported(const struct token_json_place *place, const char *what, struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: \"%.100s\" is not supported", place->path, what);
}

int32_t token_json_string(const json_t *object, const char *key, const char *other,
                          const struct token_json_place *place, const char **out_text, struct accel_error *error)
{
    const json_t *value = json_object_get(object, key);

    *out_text = other;
    if (value == NULL || json_is_null(value))
        return ACCEL_OK;
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
        return token_json_wrong(place, key, "a string", error);
    *out_text = json_string_value(value);
    return ACCEL_OK;
}

int32_t token_json_bool(const json_t *object, const char *key, bool other, const struct token_json_place *place,
                        bool *out_value, struct accel_error *error)
{
    const json_t *value = json_object_get(object, key);

    *out_value = other;
    if (value == NULL || json_is_null(value))
        return ACCEL_OK;
    if (!json_is_boolean(value))
        return token_json_wrong(place, key, "true or false", error);
    *out_value = json_is_true(value);
    return ACCEL_OK;
}

int32_t token_json_size(const json_t *object, const char *key, size_t other, const struct token_json_place *place,
                        size_t *out_value, struct accel_error *error)
{
    const json_t *value = json_object_get(object, key);

    *out_value = other;
    if (value == NULL || json_is_null(value))
        return ACCEL_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > INT32_MAX)
        return token_json_wrong(place, key, "a count", error);
    *out_value = (size_t)json_integer_value(value);
    return ACCEL_OK;
}

const char *token_json_type(const json_t *component)
{
    const char *type = json_string_value(json_object_get(component, "type"));

    return type == NULL ? "" : type;
}
