/* SPDX-License-Identifier: Apache-2.0 */
/* Reads typed metadata values. */
#include <string.h>

#include <accel/model/file.h>

#include "model/file/container.h"
#include "model/file/fault.h"

/* One element, widened to 64 bits. */
struct number {
    uint32_t kind;
    uint64_t bits; /* UNSIGNED and BOOL: the value; SIGNED: two's complement */
    double real;   /* FLOAT */
};

static const char *kind_name(const struct accel_model_value *value)
{
    static const char *const single[] = {"?",       "an unsigned integer", "a signed integer",
                                         "a float", "a truth value",       "a string"};
    static const char *const many[] = {"?",
                                       "a list of unsigned integers",
                                       "a list of signed integers",
                                       "a list of floats",
                                       "a list of truth values",
                                       "a list of strings"};
    uint32_t kind = value->kind <= ACCEL_MODEL_TEXT ? value->kind : 0;
    return value->list != 0 ? many[kind] : single[kind];
}

static int32_t wrong_kind(const struct accel_model_value *value, const char *expected, struct accel_error *error)
{
    accel_error_set(error, ACCEL_E_CORRUPT, "%s is %s, not %s", value->key, kind_name(value), expected);
    return accel_error_origin(error, ACCEL_FROM_MODEL, ACCEL_E_CORRUPT);
}

static int64_t read_signed(const unsigned char *at, uint32_t width)
{
    int16_t half;
    int32_t word;
    int64_t full;
    switch (width) {
    case 1:
        return (int8_t)*at;
    case 2:
        memcpy(&half, at, sizeof(half));
        return half;
    case 4:
        memcpy(&word, at, sizeof(word));
        return word;
    default:
        memcpy(&full, at, sizeof(full));
        return full;
    }
}

static int32_t read_number(const struct accel_model_value *value, uint64_t index, struct number *out_number,
                           struct accel_error *error)
{
    const unsigned char *at = value->data;
    float single;
    if (value->kind < ACCEL_MODEL_UNSIGNED || value->kind > ACCEL_MODEL_BOOL)
        return wrong_kind(value, "a number", error);
    if (index >= value->count)
        return accel_error_set(error, ACCEL_E_INVALID, "%s has %llu elements, not %llu", value->key,
                               (unsigned long long)value->count, (unsigned long long)index + 1);
    at += index * value->width;
    out_number->kind = value->kind;
    out_number->bits = 0;
    out_number->real = 0;
    if (value->kind == ACCEL_MODEL_SIGNED) {
        out_number->bits = (uint64_t)read_signed(at, value->width);
    } else if (value->kind == ACCEL_MODEL_FLOAT && value->width == sizeof(single)) {
        memcpy(&single, at, sizeof(single));
        out_number->real = (double)single;
    } else if (value->kind == ACCEL_MODEL_FLOAT) {
        memcpy(&out_number->real, at, sizeof(out_number->real));
    } else {
        memcpy(&out_number->bits, at, value->width);
    }
    return ACCEL_OK;
}

int32_t accel_model_value_u64(const struct accel_model_value *value, uint64_t index, uint64_t *out_value,
                              struct accel_error *error) ACCEL_NOEXCEPT
{
    struct number number;
    int32_t code;
    if (value == NULL || out_value == NULL)
        return model_refuse_null(__func__, error);
    code = read_number(value, index, &number, error);
    if (code != ACCEL_OK)
        return code;
    if (number.kind == ACCEL_MODEL_SIGNED && (int64_t)number.bits < 0)
        return accel_error_origin(
            error, ACCEL_FROM_MODEL,
            accel_error_set(error, ACCEL_E_CORRUPT, "%s is %lld, negative", value->key, (long long)number.bits));
    if (number.kind == ACCEL_MODEL_FLOAT || number.kind == ACCEL_MODEL_BOOL)
        return wrong_kind(value, "an integer", error);
    *out_value = number.bits;
    return ACCEL_OK;
}

int32_t accel_model_value_i64(const struct accel_model_value *value, uint64_t index, int64_t *out_value,
                              struct accel_error *error) ACCEL_NOEXCEPT
{
    struct number number;
    int32_t code;
    if (value == NULL || out_value == NULL)
        return model_refuse_null(__func__, error);
    code = read_number(value, index, &number, error);
    if (code != ACCEL_OK)
        return code;
    if (number.kind == ACCEL_MODEL_FLOAT || number.kind == ACCEL_MODEL_BOOL)
        return wrong_kind(value, "an integer", error);
    if (number.kind == ACCEL_MODEL_UNSIGNED && number.bits > INT64_MAX)
        return accel_error_origin(error, ACCEL_FROM_MODEL,
                                  accel_error_set(error, ACCEL_E_CORRUPT, "%s is %llu, too large", value->key,
                                                  (unsigned long long)number.bits));
    *out_value = (int64_t)number.bits;
    return ACCEL_OK;
}

int32_t accel_model_value_f64(const struct accel_model_value *value, uint64_t index, double *out_value,
                              struct accel_error *error) ACCEL_NOEXCEPT
{
    struct number number;
    int32_t code;
    if (value == NULL || out_value == NULL)
        return model_refuse_null(__func__, error);
    code = read_number(value, index, &number, error);
    if (code != ACCEL_OK)
        return code;
    if (number.kind == ACCEL_MODEL_BOOL)
        return wrong_kind(value, "a number", error);
    if (number.kind == ACCEL_MODEL_FLOAT)
        *out_value = number.real;
    else
        *out_value = number.kind == ACCEL_MODEL_SIGNED ? (double)(int64_t)number.bits : (double)number.bits;
    return ACCEL_OK;
}

const struct accel_model_text *accel_model_value_text(const struct accel_model_value *value,
                                                      uint64_t index) ACCEL_NOEXCEPT
{
    if (value == NULL || value->kind != ACCEL_MODEL_TEXT || index >= value->count)
        return NULL;
    return (const struct accel_model_text *)value->data + index;
}

uint64_t accel_model_file_value_count(const struct accel_model_file *file) ACCEL_NOEXCEPT
{
    return file->value_count;
}

const struct accel_model_value *accel_model_file_value(const struct accel_model_file *file,
                                                       uint64_t index) ACCEL_NOEXCEPT
{
    return index < file->value_count ? &file->values[index] : NULL;
}

const struct accel_model_value *accel_model_file_find_value(const struct accel_model_file *file,
                                                            const char *key) ACCEL_NOEXCEPT
{
    uint64_t low = 0, high = file->key_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order = strcmp(file->values_by_key[middle]->key, key);
        if (order == 0)
            return file->values_by_key[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Prefixes the error of a bare value, if it has one, with file and offset. */
static int32_t locate_fault(const struct accel_model_file *file, const struct accel_model_value *value, int32_t code,
                            const struct accel_error *inner, struct accel_error *error)
{
    return code == ACCEL_OK ? code
                            : model_fault(error, code, file->parts[value->part].path, value->offset, "%s", inner->text);
}

/* Returns the offset to report for a missing key. */
static uint64_t missing_key_offset(const struct accel_model_file *file)
{
    return file->format == ACCEL_MODEL_GGUF ? MODEL_GGUF_KEYS : MODEL_NO_OFFSET;
}

/* Finds the single value of a key for a public function, whose parameter `out` is checked with the others. */
static int32_t get_single(const char *function, const struct accel_model_file *file, const char *key, const void *out,
                          const struct accel_model_value **out_value, struct accel_error *error)
{
    char shown[MODEL_QUOTE_BYTES];
    if (file == NULL || key == NULL || out == NULL)
        return model_refuse_null(function, error);
    *out_value = accel_model_file_find_value(file, key);
    if (*out_value == NULL)
        return model_fault(error, ACCEL_E_NOT_FOUND, file->path, missing_key_offset(file), "the key %s is missing",
                           model_quote(shown, key, strlen(key)));
    if ((*out_value)->list != 0)
        return model_fault(error, ACCEL_E_CORRUPT, file->parts[(*out_value)->part].path, (*out_value)->offset,
                           "%s is %s, not a single value", key, kind_name(*out_value));
    return ACCEL_OK;
}

int32_t accel_model_file_get_u64(const struct accel_model_file *file, const char *key, uint64_t *out_value,
                                 struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_model_value *value;
    struct accel_error inner = {0};
    int32_t code = get_single(__func__, file, key, out_value, &value, error);
    if (code != ACCEL_OK)
        return code;
    return locate_fault(file, value, accel_model_value_u64(value, 0, out_value, &inner), &inner, error);
}

int32_t accel_model_file_get_i64(const struct accel_model_file *file, const char *key, int64_t *out_value,
                                 struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_model_value *value;
    struct accel_error inner = {0};
    int32_t code = get_single(__func__, file, key, out_value, &value, error);
    if (code != ACCEL_OK)
        return code;
    return locate_fault(file, value, accel_model_value_i64(value, 0, out_value, &inner), &inner, error);
}

int32_t accel_model_file_get_f64(const struct accel_model_file *file, const char *key, double *out_value,
                                 struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_model_value *value;
    struct accel_error inner = {0};
    int32_t code = get_single(__func__, file, key, out_value, &value, error);
    if (code != ACCEL_OK)
        return code;
    return locate_fault(file, value, accel_model_value_f64(value, 0, out_value, &inner), &inner, error);
}

int32_t accel_model_file_get_bool(const struct accel_model_file *file, const char *key, int32_t *out_value,
                                  struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_model_value *value;
    int32_t code = get_single(__func__, file, key, out_value, &value, error);
    if (code != ACCEL_OK)
        return code;
    if (value->kind != ACCEL_MODEL_BOOL)
        return model_fault(error, ACCEL_E_CORRUPT, file->parts[value->part].path, value->offset,
                           "%s is %s, not a truth value", key, kind_name(value));
    *out_value = *(const unsigned char *)value->data;
    return ACCEL_OK;
}

int32_t accel_model_file_get_text(const struct accel_model_file *file, const char *key,
                                  struct accel_model_text *out_text, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_model_value *value;
    int32_t code = get_single(__func__, file, key, out_text, &value, error);
    if (code != ACCEL_OK)
        return code;
    if (value->kind != ACCEL_MODEL_TEXT)
        return model_fault(error, ACCEL_E_CORRUPT, file->parts[value->part].path, value->offset,
                           "%s is %s, not a string", key, kind_name(value));
    *out_text = *accel_model_value_text(value, 0);
    return ACCEL_OK;
}

int32_t accel_model_file_get_list(const struct accel_model_file *file, const char *key, uint32_t kind,
                                  const struct accel_model_value **out_list, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_model_value *value;
    char shown[MODEL_QUOTE_BYTES];
    if (file == NULL || key == NULL || out_list == NULL)
        return model_refuse_null(__func__, error);
    *out_list = NULL;
    value = accel_model_file_find_value(file, key);
    if (value == NULL)
        return model_fault(error, ACCEL_E_NOT_FOUND, file->path, missing_key_offset(file), "the key %s is missing",
                           model_quote(shown, key, strlen(key)));
    if (value->list == 0 || value->kind != kind) {
        struct accel_model_value expected = {.kind = kind, .list = 1};
        return model_fault(error, ACCEL_E_CORRUPT, file->parts[value->part].path, value->offset, "%s is %s, not %s",
                           key, kind_name(value), kind_name(&expected));
    }
    *out_list = value;
    return ACCEL_OK;
}
