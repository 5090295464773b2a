/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the header of a safetensors file: eight bytes of length, a JSON object of that length, the data. Stricter than
 * the format's reference library in one point: duplicate names are refused, as the format's specification requires.
 */
#include <stdlib.h>
#include <string.h>

#include "model/file/container.h"
#include "model/file/element.h"
#include "model/file/fault.h"
#include "model/file/json.h"

/* The format's limit on the header. */
#define HEADER_BYTES_MAX ((uint64_t)100000000)
#define LENGTH_BYTES ((uint64_t)8)
/* The object, an entry, its lists; one more so that a malformed entry is reported by name. */
#define HEADER_DEPTH 4u
#define METADATA_KEY "__metadata__"

struct header {
    struct accel_model_file *file;
    const struct model_part *part;
    struct accel_error *error;
    char *text;
    uint64_t length;
    uint32_t part_index;
};

/* Returns the offset of the entry of `name` in the file. */
static uint64_t find_entry_offset(const struct header *header, const char *name)
{
    return LENGTH_BYTES + model_json_find_key(header->text, header->length, name);
}

static int32_t fault(const struct header *header, const char *name, const char *what)
{
    char shown[MODEL_QUOTE_BYTES];
    if (strcmp(name, METADATA_KEY) == 0)
        return model_fault(header->error, ACCEL_E_CORRUPT, header->part->path, find_entry_offset(header, name),
                           "%s: %s", name, what);
    return model_fault(header->error, ACCEL_E_CORRUPT, header->part->path, find_entry_offset(header, name),
                       "tensor %s: %s", model_quote(shown, name, strlen(name)), what);
}

static int32_t read_dims(const struct header *header, const json_t *list, struct accel_model_tensor *face)
{
    size_t count = json_array_size(list);
    char shown[MODEL_QUOTE_BYTES];
    model_quote(shown, face->name, strlen(face->name));
    if (!json_is_array(list))
        return fault(header, face->name, "its shape is not a list");
    if (count > ACCEL_MODEL_RANK_MAX)
        return model_fault(header->error, ACCEL_E_LIMIT, header->part->path, find_entry_offset(header, face->name),
                           "tensor %s has %zu dimensions, at most %u are read", shown, count, ACCEL_MODEL_RANK_MAX);
    for (size_t i = 0; i < count; i++) {
        const json_t *dim = json_array_get(list, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return fault(header, face->name, "a dimension is not an integer of 0 or more");
        face->dims[i] = (uint64_t)json_integer_value(dim);
    }
    face->rank = (uint32_t)count;
    return ACCEL_OK;
}

/* data_offsets counts from the end of the header. */
static int32_t read_range(const struct header *header, const json_t *list, struct accel_model_tensor *face)
{
    const json_t *begin = json_array_get(list, 0);
    const json_t *end = json_array_get(list, 1);
    uint64_t data = LENGTH_BYTES + header->length;
    char shown[MODEL_QUOTE_BYTES];
    if (json_array_size(list) != 2 || !json_is_integer(begin) || !json_is_integer(end) || json_integer_value(begin) < 0)
        return fault(header, face->name, "its data_offsets are not two integers of 0 or more");
    if (json_integer_value(end) < json_integer_value(begin))
        return fault(header, face->name, "its data end before they begin");
    if ((uint64_t)json_integer_value(end) > header->part->bytes - data)
        return model_fault(header->error, ACCEL_E_CORRUPT, header->part->path, find_entry_offset(header, face->name),
                           "tensor %s ends at %llu of the data, the file has %llu bytes of data",
                           model_quote(shown, face->name, strlen(face->name)),
                           (unsigned long long)json_integer_value(end),
                           (unsigned long long)(header->part->bytes - data));
    face->offset = data + (uint64_t)json_integer_value(begin);
    face->bytes = (uint64_t)(json_integer_value(end) - json_integer_value(begin));
    return ACCEL_OK;
}

static int32_t read_type(const struct header *header, const json_t *value, struct accel_model_tensor *face)
{
    const struct model_element *element;
    const char *reason;
    char shown[MODEL_QUOTE_BYTES];
    uint64_t bytes;
    if (!json_is_string(value))
        return fault(header, face->name, "it has no dtype");
    element = model_element_safetensors(json_string_value(value));
    if (element == NULL)
        return fault(header, face->name, "its dtype is unknown");
    face->type = element->type;
    face->type_name = element->name;
    face->stored_type = face->type_name;
    face->stored_bytes = face->bytes;
    if (model_element_bytes(element, face->dims, face->rank, &bytes, &reason) != ACCEL_OK)
        return fault(header, face->name, reason);
    if (bytes == face->bytes)
        return ACCEL_OK;
    return model_fault(header->error, ACCEL_E_CORRUPT, header->part->path, find_entry_offset(header, face->name),
                       "the shape of tensor %s takes %llu bytes, its data_offsets give %llu",
                       model_quote(shown, face->name, strlen(face->name)), (unsigned long long)bytes,
                       (unsigned long long)face->bytes);
}

static int32_t read_entry(const struct header *header, const char *name, const json_t *entry)
{
    struct model_tensor *tensor = &header->file->tensors[header->file->tensor_count];
    struct accel_model_tensor *face = &tensor->face;
    int32_t code = model_container_check_name(header->part, find_entry_offset(header, name), "the name of a tensor",
                                              name, strlen(name), header->error);
    if (code != ACCEL_OK)
        return code;
    face->size = sizeof(*face);
    face->part = header->part_index;
    face->name = model_pool_text(&header->file->pool, name, strlen(name));
    if (face->name == NULL)
        return model_no_memory(header->error, header->part->path, strlen(name));
    if (!json_is_object(entry))
        return fault(header, name, "its entry is not an object");
    code = read_dims(header, json_object_get(entry, "shape"), face);
    if (code == ACCEL_OK)
        code = read_range(header, json_object_get(entry, "data_offsets"), face);
    if (code == ACCEL_OK)
        code = read_type(header, json_object_get(entry, "dtype"), face);
    /* An unknown key may change the meaning of the others. */
    if (code == ACCEL_OK && json_object_size(entry) != 3)
        code = fault(header, name, "its entry has a key besides dtype, shape and data_offsets");
    tensor->described_at = face->offset;
    header->file->tensor_count++;
    return code;
}

static int32_t read_metadata(const struct header *header, json_t *metadata)
{
    struct accel_model_file *file = header->file;
    const char *key;
    json_t *text;
    int32_t code;
    if (!json_is_object(metadata))
        return fault(header, METADATA_KEY, "the metadata are not an object");
    code = model_container_reserve_values(file, json_object_size(metadata), header->error);
    if (code != ACCEL_OK)
        return code;
    json_object_foreach(metadata, key, text)
    {
        struct accel_model_value *value = &file->values[file->value_count];
        struct accel_model_text *copy = model_pool_alloc(&file->pool, 1, sizeof(*copy));
        if (!json_is_string(text))
            return fault(header, METADATA_KEY, "a value of the metadata is not a string");
        value->key = model_pool_text(&file->pool, key, strlen(key));
        if (copy == NULL || value->key == NULL)
            return model_no_memory(header->error, header->part->path, json_string_length(text));
        copy->length = json_string_length(text);
        copy->text = model_pool_text(&file->pool, json_string_value(text), copy->length);
        if (copy->text == NULL)
            return model_no_memory(header->error, header->part->path, copy->length);
        value->size = sizeof(*value);
        value->kind = ACCEL_MODEL_TEXT;
        value->data = copy;
        value->count = 1;
        value->width = sizeof(*copy);
        value->part = header->part_index;
        file->value_count++;
    }
    return ACCEL_OK;
}

static int32_t read_entries(const struct header *header, json_t *root)
{
    struct accel_model_file *file = header->file;
    uint64_t first = file->tensor_count;
    const char *name;
    json_t *entry;
    int32_t code;
    if (!json_is_object(root))
        return model_fault(header->error, ACCEL_E_CORRUPT, header->part->path, LENGTH_BYTES,
                           "the header is %s, not an object", model_json_kind(root));
    code = model_container_reserve_tensors(file, json_object_size(root), header->error);
    if (code != ACCEL_OK)
        return code;
    json_object_foreach(root, name, entry)
    {
        bool metadata = strcmp(name, METADATA_KEY) == 0;
        code = metadata ? read_metadata(header, entry) : read_entry(header, name, entry);
        if (code != ACCEL_OK)
            return code;
    }
    return model_container_check_layout(file, first, LENGTH_BYTES + header->length, header->part->bytes, true,
                                        header->error);
}

static int32_t read_length(struct header *header)
{
    const struct model_part *part = header->part;
    int32_t code;
    if (part->bytes < LENGTH_BYTES)
        return model_fault(header->error, ACCEL_E_CORRUPT, part->path, 0,
                           "the file has %llu bytes, the length of the header alone takes 8",
                           (unsigned long long)part->bytes);
    code = model_part_read(part, 0, LENGTH_BYTES, &header->length, header->error);
    if (code != ACCEL_OK)
        return code;
    if (header->length > part->bytes - LENGTH_BYTES)
        return model_fault(header->error, ACCEL_E_CORRUPT, part->path, 0,
                           "the header should have %llu bytes, the file has %llu after the length",
                           (unsigned long long)header->length, (unsigned long long)(part->bytes - LENGTH_BYTES));
    if (header->length == 0 || header->length > HEADER_BYTES_MAX)
        return model_fault(header->error, ACCEL_E_CORRUPT, part->path, 0,
                           "the header should have %llu bytes, allowed are 2 to %llu",
                           (unsigned long long)header->length, (unsigned long long)HEADER_BYTES_MAX);
    return ACCEL_OK;
}

int32_t model_safetensors_read(struct accel_model_file *file, uint32_t part, struct accel_error *error)
{
    struct header header = {.file = file, .part = &file->parts[part], .part_index = part, .error = error};
    json_t *root = NULL;
    int32_t code = read_length(&header);
    if (code != ACCEL_OK)
        return code;
    header.text = malloc((size_t)header.length);
    if (header.text == NULL)
        return model_no_memory(error, header.part->path, header.length);
    code = model_part_read(header.part, LENGTH_BYTES, header.length, header.text, error);
    if (code == ACCEL_OK && header.text[0] != '{')
        code = model_fault(error, ACCEL_E_CORRUPT, header.part->path, LENGTH_BYTES,
                           "the header does not begin with an opening brace");
    if (code == ACCEL_OK)
        code =
            model_json_parse(header.part->path, LENGTH_BYTES, header.text, header.length, HEADER_DEPTH, &root, error);
    if (code == ACCEL_OK)
        code = read_entries(&header, root);
    json_decref(root);
    free(header.text);
    return code;
}
