/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/gguf_write.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/checked.h"
#include "model/file/element.h"
#include "model/file/fault.h"
#include "model/file/pool.h"

/* Alignment of tensor data without general.alignment. */
#define DEFAULT_ALIGNMENT ((uint64_t)32)
#define GGUF_VERSION 3u

/* GGUF's numbers of value types, by kind and width. */
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

/* State of a header under construction. `name` is the file's, for messages. */
struct writer {
    FILE *out;
    const char *name;
    uint64_t alignment;
    uint64_t data; /* offset of the next tensor's data after the header */
    struct accel_error *error;
};

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

static int32_t put_value(const struct writer *writer, const struct accel_model_value *value)
{
    const struct accel_model_text *texts = value->data;
    FILE *out = writer->out;
    uint32_t number = NUMBER_LIST;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].kind == value->kind && numbers[i].width == value->width)
            number = numbers[i].number;
    if (number == NUMBER_LIST)
        return model_fault(writer->error, ACCEL_E_INVALID, writer->name, MODEL_NO_OFFSET,
                           "GGUF cannot hold the value %.100s", value->key);
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

/* Readers locate the data by this value, so the file has to obey it. */
static int32_t set_alignment(struct writer *writer, const struct accel_model_value *value)
{
    uint64_t alignment = 0;
    if (accel_model_value_u64(value, 0, &alignment, NULL) != ACCEL_OK || alignment == 0 ||
        (alignment & (alignment - 1)) != 0)
        return model_fault(writer->error, ACCEL_E_INVALID, writer->name, MODEL_NO_OFFSET, "%s is not a power of two",
                           value->key);
    writer->alignment = alignment;
    return ACCEL_OK;
}

static int32_t refuse_size(const struct writer *writer)
{
    return model_fault(writer->error, ACCEL_E_LIMIT, writer->name, MODEL_NO_OFFSET, "the file would pass 2^63 bytes");
}

static int32_t put_tensor(struct writer *writer, struct model_gguf_tensor *tensor)
{
    const struct model_element *element = model_element_gguf_type(tensor->type);
    FILE *out = writer->out;
    const char *reason;
    if (element == NULL)
        return model_fault(writer->error, ACCEL_E_UNSUPPORTED, writer->name, MODEL_NO_OFFSET,
                           "GGUF has no type for tensor %.100s", tensor->name);
    if (model_element_bytes(element, tensor->dims, tensor->rank, &tensor->bytes, &reason) != ACCEL_OK)
        return model_fault(writer->error, ACCEL_E_INVALID, writer->name, MODEL_NO_OFFSET,
                           "tensor %.100s of type %s: %s", tensor->name, element->name, reason);
    put_text(out, tensor->name, strlen(tensor->name));
    put_u32(out, tensor->rank);
    for (uint32_t i = tensor->rank; i > 0; i--)
        put_u64(out, tensor->dims[i - 1]);
    put_u32(out, element->number);
    put_u64(out, writer->data);
    tensor->offset = writer->data;
    if (!add_u64(writer->data, tensor->bytes, &writer->data) ||
        !align_u64(writer->data, writer->alignment, &writer->data) || writer->data > INT64_MAX)
        return refuse_size(writer);
    return ACCEL_OK;
}

static int32_t put_all(struct writer *writer, const struct accel_model_value *const *values, uint64_t value_count,
                       struct model_gguf_tensor *tensors, uint64_t tensor_count)
{
    int32_t code = ACCEL_OK;
    put(writer->out, "GGUF", 4);
    put_u32(writer->out, GGUF_VERSION);
    put_u64(writer->out, tensor_count);
    put_u64(writer->out, value_count);
    for (uint64_t i = 0; i < value_count && code == ACCEL_OK; i++) {
        code = put_value(writer, values[i]);
        if (code == ACCEL_OK && strcmp(values[i]->key, "general.alignment") == 0)
            code = set_alignment(writer, values[i]);
    }
    for (uint64_t i = 0; i < tensor_count && code == ACCEL_OK; i++)
        code = put_tensor(writer, &tensors[i]);
    return code;
}

/* Data begins at the next multiple of the alignment after the header. */
static int32_t assign_offsets(const struct writer *writer, struct model_gguf_tensor *tensors, uint64_t tensor_count,
                              struct model_gguf_header *header)
{
    uint64_t begin;
    if (!align_u64(header->bytes, writer->alignment, &begin) || !add_u64(begin, writer->data, &header->file_bytes) ||
        header->file_bytes > INT64_MAX)
        return refuse_size(writer);
    for (uint64_t i = 0; i < tensor_count; i++)
        tensors[i].offset += begin;
    return ACCEL_OK;
}

int32_t model_gguf_header(const char *name, const struct accel_model_value *const *values, uint64_t value_count,
                          struct model_gguf_tensor *tensors, uint64_t tensor_count,
                          struct model_gguf_header *out_header, struct accel_error *error)
{
    struct model_gguf_header header = {0};
    struct writer writer = {.name = name, .alignment = DEFAULT_ALIGNMENT, .error = error};
    bool failed;
    int32_t code;
    writer.out = open_memstream(&header.data, &header.bytes);
    if (writer.out == NULL)
        return model_no_memory(error, name, sizeof(header));
    code = put_all(&writer, values, value_count, tensors, tensor_count);
    failed = ferror(writer.out) != 0;
    failed = fclose(writer.out) != 0 || failed;
    if (failed && code == ACCEL_OK)
        code = model_no_memory(error, name, header.bytes);
    if (code == ACCEL_OK)
        code = assign_offsets(&writer, tensors, tensor_count, &header);
    if (code == ACCEL_OK)
        *out_header = header;
    else
        free(header.data);
    return code;
}
