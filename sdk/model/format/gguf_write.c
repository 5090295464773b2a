/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/model/format/gguf_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/model/format/checked.h"
#include "sdk/model/format/element.h"
#include "sdk/model/format/fault.h"
#include "sdk/model/format/pool.h"

#define ALIGNMENT ((uint64_t)32)

/* Numbers of GGUF for what a value is, by its kind and width. */
static const struct {
    uint32_t kind;
    uint32_t width;
    uint32_t number;
} numbers[] = {
    {ACCEL_MODEL_UNSIGNED, 1, 0}, {ACCEL_MODEL_SIGNED, 1, 1},    {ACCEL_MODEL_UNSIGNED, 2, 2},
    {ACCEL_MODEL_SIGNED, 2, 3},   {ACCEL_MODEL_UNSIGNED, 4, 4},  {ACCEL_MODEL_SIGNED, 4, 5},
    {ACCEL_MODEL_FLOAT, 4, 6},    {ACCEL_MODEL_BOOL, 1, 7},      {ACCEL_MODEL_TEXT, 16, 8},
    {ACCEL_MODEL_FLOAT, 8, 12},   {ACCEL_MODEL_UNSIGNED, 8, 10}, {ACCEL_MODEL_SIGNED, 8, 11},
};
#define NUMBER_LIST 9u

static void put(FILE *out, const void *data, uint64_t bytes)
{
    if (bytes > 0)
        fwrite(data, 1, (size_t)bytes, out);
}

static void put_u32(FILE *out, uint32_t value)
{
    put(out, &value, sizeof(value));
}

static void put_u64(FILE *out, uint64_t value)
{
    put(out, &value, sizeof(value));
}

static void put_text(FILE *out, const char *text, uint64_t length)
{
    put_u64(out, length);
    put(out, text, length);
}

static int32_t put_value(FILE *out, const char *name, const struct accel_model_value *value, struct accel_error *error)
{
    const struct accel_model_text *texts = value->data;
    uint32_t number = NUMBER_LIST;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].kind == value->kind && numbers[i].width == value->width)
            number = numbers[i].number;
    if (number == NUMBER_LIST)
        return model_fault(error, ACCEL_E_INVALID, name, MODEL_NO_OFFSET, "GGUF cannot hold the value %.100s",
                           value->key);
    put_text(out, value->key, strlen(value->key));
    put_u32(out, value->list ? NUMBER_LIST : number);
    if (value->list) {
        put_u32(out, number);
        put_u64(out, value->count);
    }
    if (value->kind != ACCEL_MODEL_TEXT)
        put(out, value->data, value->count * value->width);
    for (uint64_t i = 0; value->kind == ACCEL_MODEL_TEXT && i < value->count; i++)
        put_text(out, texts[i].text, texts[i].length);
    return ACCEL_OK;
}

static int32_t describe(FILE *out, const char *name, struct model_gguf_tensor *tensor, uint64_t *at,
                        struct accel_error *error)
{
    const struct model_element *element = model_element_gguf_type(tensor->type);
    const char *reason;
    if (element == NULL)
        return model_fault(error, ACCEL_E_UNSUPPORTED, name, MODEL_NO_OFFSET, "GGUF has no type for tensor %.100s",
                           tensor->name);
    if (model_element_bytes(element, tensor->dims, tensor->rank, &tensor->bytes, &reason) != ACCEL_OK)
        return model_fault(error, ACCEL_E_INVALID, name, MODEL_NO_OFFSET, "tensor %.100s of type %s: %s", tensor->name,
                           element->name, reason);
    put_text(out, tensor->name, strlen(tensor->name));
    put_u32(out, tensor->rank);
    for (uint32_t i = tensor->rank; i > 0; i--)
        put_u64(out, tensor->dims[i - 1]);
    put_u32(out, element->number);
    put_u64(out, *at);
    tensor->offset = *at;
    if (!add_u64(*at, tensor->bytes, at) || !align_u64(*at, ALIGNMENT, at) || *at > INT64_MAX)
        return model_fault(error, ACCEL_E_LIMIT, name, MODEL_NO_OFFSET, "the file would pass 2^63 bytes");
    return ACCEL_OK;
}

static int32_t write_header(FILE *out, const char *name, const struct accel_model_value *const *values,
                            uint64_t value_count, struct model_gguf_tensor *tensors, uint64_t tensor_count,
                            uint64_t *out_data, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    put(out, "GGUF", 4);
    put_u32(out, 3);
    put_u64(out, tensor_count);
    put_u64(out, value_count);
    for (uint64_t i = 0; i < value_count && code == ACCEL_OK; i++)
        code = put_value(out, name, values[i], error);
    *out_data = 0;
    for (uint64_t i = 0; i < tensor_count && code == ACCEL_OK; i++)
        code = describe(out, name, &tensors[i], out_data, error);
    return code;
}

int32_t model_gguf_header(const char *name, const struct accel_model_value *const *values, uint64_t value_count,
                          struct model_gguf_tensor *tensors, uint64_t tensor_count,
                          struct model_gguf_header *out_header, struct accel_error *error)
{
    static const char padding[ALIGNMENT];
    struct model_gguf_header header = {0};
    uint64_t data = 0;
    FILE *out = open_memstream(&header.data, &header.bytes);
    int32_t code;
    if (out == NULL)
        return model_no_memory(error, name, 4096);
    code = write_header(out, name, values, value_count, tensors, tensor_count, &data, error);
    if (code == ACCEL_OK && fflush(out) == 0)
        put(out, padding, (ALIGNMENT - header.bytes % ALIGNMENT) % ALIGNMENT);
    if (ferror(out) != 0 && code == ACCEL_OK)
        code = model_no_memory(error, name, header.bytes);
    if (fclose(out) != 0 && code == ACCEL_OK)
        code = model_no_memory(error, name, header.bytes);
    if (code != ACCEL_OK) {
        free(header.data);
        return code;
    }
    for (uint64_t i = 0; i < tensor_count; i++)
        tensors[i].offset += header.bytes;
    header.file_bytes = header.bytes + data;
    *out_header = header;
    return ACCEL_OK;
}
