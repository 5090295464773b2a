/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the header of a GGUF file: magic, version, counts, key-value pairs, descriptions of tensors. It is read
 * sequentially through a small window, never through the mapping, and every length is checked against the rest of the
 * file before memory is allocated for it.
 */
#include <stdlib.h>
#include <string.h>

#include "model/file/checked.h"
#include "model/file/container.h"
#include "model/file/element.h"
#include "model/file/fault.h"

#define WINDOW_BYTES ((uint64_t)32768)
#define DEFAULT_ALIGNMENT 32u
#define GGUF_RANK_MAX 4u
/* Tensor offsets count from the data section, which is aligned to this at most. */
#define ALIGNMENT_MAX ((uint64_t)1 << 31)

/* Shortest possible key-value pair and description: counts that the file cannot hold are refused. */
#define VALUE_BYTES_MIN (8u + 1u + 4u + 1u)
#define TENSOR_BYTES_MIN (8u + 1u + 4u + 4u + 8u)

enum gguf_kind {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_TEXT,
    GGUF_LIST,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_KINDS
};

/* Bytes of an element (0 if they vary), and its kind in accel/model/file.h. */
static const struct {
    uint32_t width;
    uint32_t kind;
} kinds[GGUF_KINDS] = {
    [GGUF_U8] = {1, ACCEL_MODEL_UNSIGNED},  [GGUF_I8] = {1, ACCEL_MODEL_SIGNED},
    [GGUF_U16] = {2, ACCEL_MODEL_UNSIGNED}, [GGUF_I16] = {2, ACCEL_MODEL_SIGNED},
    [GGUF_U32] = {4, ACCEL_MODEL_UNSIGNED}, [GGUF_I32] = {4, ACCEL_MODEL_SIGNED},
    [GGUF_F32] = {4, ACCEL_MODEL_FLOAT},    [GGUF_BOOL] = {1, ACCEL_MODEL_BOOL},
    [GGUF_TEXT] = {0, ACCEL_MODEL_TEXT},    [GGUF_LIST] = {0, 0},
    [GGUF_U64] = {8, ACCEL_MODEL_UNSIGNED}, [GGUF_I64] = {8, ACCEL_MODEL_SIGNED},
    [GGUF_F64] = {8, ACCEL_MODEL_FLOAT},
};

struct cursor {
    struct accel_model_file *file;
    const struct model_part *part;
    struct accel_error *error;
    uint64_t at;
    uint64_t window_at;
    uint64_t window_have;
    uint32_t part_index;
    unsigned char window[WINDOW_BYTES];
};

static uint64_t bytes_left(const struct cursor *cursor)
{
    return cursor->part->bytes - cursor->at;
}

/* Copies the next bytes; long reads bypass the window. */
static int32_t read_bytes(struct cursor *cursor, uint64_t bytes, void *out, const char *what)
{
    int32_t code = ACCEL_OK;
    if (bytes > bytes_left(cursor))
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, cursor->at,
                           "the file ends inside %s: %llu bytes are needed, %llu are left", what,
                           (unsigned long long)bytes, (unsigned long long)bytes_left(cursor));
    if (bytes > WINDOW_BYTES) {
        code = model_part_read(cursor->part, cursor->at, bytes, out, cursor->error);
        cursor->at += bytes;
        return code;
    }
    if (cursor->at < cursor->window_at || cursor->at + bytes > cursor->window_at + cursor->window_have) {
        cursor->window_at = cursor->at;
        cursor->window_have = bytes_left(cursor) < WINDOW_BYTES ? bytes_left(cursor) : WINDOW_BYTES;
        code = model_part_read(cursor->part, cursor->at, cursor->window_have, cursor->window, cursor->error);
    }
    if (code != ACCEL_OK)
        return code;
    memcpy(out, cursor->window + (cursor->at - cursor->window_at), (size_t)bytes);
    cursor->at += bytes;
    return ACCEL_OK;
}

/* Reads a string: its length, then its bytes. */
static int32_t read_text(struct cursor *cursor, struct accel_model_text *out_text, const char *what)
{
    uint64_t length, at = cursor->at;
    char *copy;
    int32_t code = read_bytes(cursor, sizeof(length), &length, what);
    if (code != ACCEL_OK)
        return code;
    if (length > bytes_left(cursor))
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, at,
                           "%s is %llu bytes long, %llu are left in the file", what, (unsigned long long)length,
                           (unsigned long long)bytes_left(cursor));
    copy = model_pool_chars(&cursor->file->pool, length);
    if (copy == NULL)
        return model_no_memory(cursor->error, cursor->part->path, length);
    out_text->text = copy;
    out_text->length = length;
    return read_bytes(cursor, length, copy, what);
}

static int32_t read_name(struct cursor *cursor, const char **out_name, const char *what)
{
    struct accel_model_text text = {NULL, 0};
    uint64_t at = cursor->at;
    int32_t code = read_text(cursor, &text, what);
    *out_name = text.text;
    if (code != ACCEL_OK)
        return code;
    return model_container_check_name(cursor->part, at, what, text.text, text.length, cursor->error);
}

static int32_t check_bools(struct cursor *cursor, const unsigned char *bytes, uint64_t count, uint64_t at)
{
    for (uint64_t i = 0; i < count; i++) {
        if (bytes[i] > 1)
            return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, at + i,
                               "a truth value is %u, allowed are 0 and 1", bytes[i]);
    }
    return ACCEL_OK;
}

static int32_t read_numbers(struct cursor *cursor, uint32_t kind, struct accel_model_value *value, const char *what)
{
    uint64_t bytes, at = cursor->at;
    void *data;
    int32_t code;
    if (!multiply_u64(value->count, kinds[kind].width, &bytes) || bytes > bytes_left(cursor))
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, at,
                           "%s has %llu elements of %u bytes, %llu bytes are left in the file", what,
                           (unsigned long long)value->count, kinds[kind].width, (unsigned long long)bytes_left(cursor));
    data = model_pool_alloc(&cursor->file->pool, bytes, 1);
    if (data == NULL)
        return model_no_memory(cursor->error, cursor->part->path, bytes);
    value->data = data;
    value->width = kinds[kind].width;
    code = read_bytes(cursor, bytes, data, what);
    if (code == ACCEL_OK && kind == GGUF_BOOL)
        code = check_bools(cursor, data, value->count, at);
    return code;
}

static int32_t read_texts(struct cursor *cursor, struct accel_model_value *value, const char *what)
{
    struct accel_model_text *texts;
    uint64_t bytes;
    int32_t code = ACCEL_OK;
    if (!multiply_u64(value->count, sizeof(uint64_t), &bytes) || bytes > bytes_left(cursor))
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, cursor->at,
                           "%s has %llu strings, %llu bytes are left in the file", what,
                           (unsigned long long)value->count, (unsigned long long)bytes_left(cursor));
    texts = model_pool_alloc(&cursor->file->pool, value->count, sizeof(*texts));
    if (texts == NULL)
        return model_no_memory(cursor->error, cursor->part->path, value->count * sizeof(*texts));
    value->data = texts;
    value->width = sizeof(*texts);
    for (uint64_t i = 0; i < value->count && code == ACCEL_OK; i++)
        code = read_text(cursor, &texts[i], what);
    return code;
}

/* Reads the type and count of a list. */
static int32_t read_list_header(struct cursor *cursor, struct accel_model_value *value, uint32_t *out_kind,
                                const char *what)
{
    uint64_t at = cursor->at;
    int32_t code = read_bytes(cursor, sizeof(*out_kind), out_kind, what);
    if (code == ACCEL_OK)
        code = read_bytes(cursor, sizeof(value->count), &value->count, what);
    if (code != ACCEL_OK)
        return code;
    value->list = 1;
    if (*out_kind == GGUF_LIST)
        return model_fault(cursor->error, ACCEL_E_UNSUPPORTED, cursor->part->path, at,
                           "%s is a list of lists, which is not supported", what);
    if (*out_kind >= GGUF_KINDS)
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, at, "%s is a list of unknown type %u",
                           what, *out_kind);
    return ACCEL_OK;
}

static int32_t read_value(struct cursor *cursor, struct accel_model_value *value)
{
    char shown[MODEL_QUOTE_BYTES], what[MODEL_QUOTE_BYTES + 16] = "the value of ";
    uint32_t kind;
    uint64_t at;
    int32_t code = read_name(cursor, &value->key, "a key");
    if (code != ACCEL_OK)
        return code;
    strcat(what, model_quote(shown, value->key, strlen(value->key)));
    at = cursor->at;
    code = read_bytes(cursor, sizeof(kind), &kind, what);
    if (code != ACCEL_OK)
        return code;
    if (kind >= GGUF_KINDS)
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, at, "%s has unknown type %u", what,
                           kind);
    value->size = sizeof(*value);
    value->part = cursor->part_index;
    value->offset = cursor->at;
    value->count = 1;
    if (kind == GGUF_LIST)
        code = read_list_header(cursor, value, &kind, what);
    if (code != ACCEL_OK)
        return code;
    value->kind = kinds[kind].kind;
    if (kind == GGUF_TEXT)
        return read_texts(cursor, value, what);
    return read_numbers(cursor, kind, value, what);
}

static int32_t read_dims(struct cursor *cursor, struct accel_model_tensor *tensor, const char *shown)
{
    uint64_t at = cursor->at;
    int32_t code = read_bytes(cursor, sizeof(tensor->rank), &tensor->rank, "the description of a tensor");
    if (code != ACCEL_OK)
        return code;
    if (tensor->rank > GGUF_RANK_MAX)
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, at,
                           "tensor %s has %u dimensions, at most %u are allowed", shown, tensor->rank, GGUF_RANK_MAX);
    /* The file lists the innermost dimension first, accel the outermost. */
    for (uint32_t i = tensor->rank; i > 0 && code == ACCEL_OK; i--)
        code = read_bytes(cursor, sizeof(tensor->dims[0]), &tensor->dims[i - 1], "the description of a tensor");
    return code;
}

static int32_t read_tensor(struct cursor *cursor, struct model_tensor *tensor)
{
    struct accel_model_tensor *face = &tensor->face;
    const struct model_element *element;
    char shown[MODEL_QUOTE_BYTES];
    const char *reason;
    uint32_t number;
    uint64_t at;
    int32_t code;
    tensor->described_at = cursor->at;
    face->size = sizeof(*face);
    face->part = cursor->part_index;
    code = read_name(cursor, &face->name, "the name of a tensor");
    if (code != ACCEL_OK)
        return code;
    model_quote(shown, face->name, strlen(face->name));
    code = read_dims(cursor, face, shown);
    at = cursor->at;
    if (code == ACCEL_OK)
        code = read_bytes(cursor, sizeof(number), &number, "the description of a tensor");
    if (code == ACCEL_OK)
        code = read_bytes(cursor, sizeof(face->offset), &face->offset, "the description of a tensor");
    if (code != ACCEL_OK)
        return code;
    element = model_element_gguf(number);
    if (element == NULL) {
        model_fault(cursor->error, ACCEL_E_UNSUPPORTED, cursor->part->path, at,
                    "tensor %s has type %u, which is not known here", shown, number);
        return accel_error_advise(cursor->error, ACCEL_E_UNSUPPORTED,
                                  "take the model in another type: the file is damaged, or of a newer llama.cpp");
    }
    face->type = element->type;
    face->type_name = element->name;
    if (model_element_bytes(element, face->dims, face->rank, &face->bytes, &reason) != ACCEL_OK)
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, tensor->described_at,
                           "tensor %s of type %s: %s", shown, element->name, reason);
    face->stored_type = face->type_name;
    face->stored_bytes = face->bytes;
    return ACCEL_OK;
}

static int32_t check_count(const struct cursor *cursor, uint64_t count, uint64_t bytes_min, uint64_t at,
                           const char *what)
{
    if (count <= bytes_left(cursor) / bytes_min)
        return ACCEL_OK;
    return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, at,
                       "the header announces %llu %s, the %llu bytes after it cannot hold them",
                       (unsigned long long)count, what, (unsigned long long)bytes_left(cursor));
}

static int32_t read_version(struct cursor *cursor)
{
    uint32_t version;
    char magic[4];
    int32_t code = read_bytes(cursor, sizeof(magic), magic, "the magic");
    if (code != ACCEL_OK)
        return code;
    if (memcmp(magic, "GGUF", sizeof(magic)) != 0)
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, 0, "the file does not begin with GGUF");
    code = read_bytes(cursor, sizeof(version), &version, "the version");
    if (code != ACCEL_OK)
        return code;
    /* A small number in the other byte order has bits in its upper half only. */
    if (version != 0 && (version & 0xffff) == 0)
        return model_fault(cursor->error, ACCEL_E_UNSUPPORTED, cursor->part->path, 4,
                           "the file is big-endian, only little-endian files are supported");
    if (version < 2 || version > 3)
        return model_fault(cursor->error, ACCEL_E_UNSUPPORTED, cursor->part->path, 4,
                           "GGUF version %u, only versions 2 and 3 are supported", version);
    return ACCEL_OK;
}

static int32_t read_values(struct cursor *cursor, uint64_t count)
{
    struct accel_model_file *file = cursor->file;
    int32_t code = model_container_reserve_values(file, count, cursor->error);
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++) {
        code = read_value(cursor, &file->values[file->value_count]);
        file->value_count++;
    }
    return code;
}

static int32_t read_tensors(struct cursor *cursor, uint64_t count)
{
    struct accel_model_file *file = cursor->file;
    int32_t code = model_container_reserve_tensors(file, count, cursor->error);
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++) {
        code = read_tensor(cursor, &file->tensors[file->tensor_count]);
        file->tensor_count++;
    }
    return code;
}

/* Finds the value of `key` among the keys of this file, which are not sorted yet; other files of a split model have
 * keys of their own. */
static const struct accel_model_value *find_value(const struct cursor *cursor, const char *key)
{
    for (uint64_t i = 0; i < cursor->file->value_count; i++) {
        if (cursor->file->values[i].part == cursor->part_index && strcmp(cursor->file->values[i].key, key) == 0)
            return &cursor->file->values[i];
    }
    return NULL;
}

static int32_t read_alignment(const struct cursor *cursor, uint64_t *out_alignment)
{
    const struct accel_model_value *value = find_value(cursor, "general.alignment");
    *out_alignment = DEFAULT_ALIGNMENT;
    if (value == NULL)
        return ACCEL_OK;
    if (value->kind != ACCEL_MODEL_UNSIGNED || value->list != 0)
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, value->offset,
                           "general.alignment is not an unsigned integer");
    if (accel_model_value_u64(value, 0, out_alignment, NULL) != ACCEL_OK || *out_alignment == 0 ||
        (*out_alignment & (*out_alignment - 1)) != 0 || *out_alignment > ALIGNMENT_MAX)
        return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, value->offset,
                           "general.alignment is %llu, allowed are powers of two", (unsigned long long)*out_alignment);
    return ACCEL_OK;
}

/* Converts offsets in the data section to offsets in the file. */
static int32_t locate_tensors(const struct cursor *cursor, uint64_t first, uint64_t alignment)
{
    struct accel_model_file *file = cursor->file;
    char shown[MODEL_QUOTE_BYTES];
    uint64_t begin, end = 0;
    if (!align_u64(cursor->at, alignment, &begin))
        begin = UINT64_MAX;
    for (uint64_t i = first; i < file->tensor_count; i++) {
        struct accel_model_tensor *face = &file->tensors[i].face;
        uint64_t offset = face->offset;
        model_quote(shown, face->name, strlen(face->name));
        if (offset % alignment != 0)
            return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, file->tensors[i].described_at,
                               "tensor %s: its offset %llu is not a multiple of the alignment %llu", shown,
                               (unsigned long long)offset, (unsigned long long)alignment);
        if (!add_u64(begin, offset, &face->offset) || !add_u64(face->offset, face->bytes, &end) ||
            end > cursor->part->bytes)
            return model_fault(cursor->error, ACCEL_E_CORRUPT, cursor->part->path, file->tensors[i].described_at,
                               "tensor %s: its %llu bytes at %llu of the data pass the end of the file, %llu", shown,
                               (unsigned long long)face->bytes, (unsigned long long)offset,
                               (unsigned long long)cursor->part->bytes);
    }
    return model_container_check_layout(file, first, begin, end, false, cursor->error);
}

static int32_t read_header(struct cursor *cursor)
{
    uint64_t tensors, values, alignment, first = cursor->file->tensor_count;
    int32_t code = read_version(cursor);
    if (code == ACCEL_OK)
        code = read_bytes(cursor, sizeof(tensors), &tensors, "the number of tensors");
    if (code == ACCEL_OK)
        code = read_bytes(cursor, sizeof(values), &values, "the number of keys");
    if (code == ACCEL_OK)
        code = check_count(cursor, tensors, TENSOR_BYTES_MIN, 8, "tensors");
    if (code == ACCEL_OK)
        code = check_count(cursor, values, VALUE_BYTES_MIN, 16, "keys");
    if (code == ACCEL_OK)
        code = read_values(cursor, values);
    if (code == ACCEL_OK)
        code = read_alignment(cursor, &alignment);
    if (code == ACCEL_OK)
        code = read_tensors(cursor, tensors);
    if (code == ACCEL_OK)
        code = locate_tensors(cursor, first, alignment);
    return code;
}

int32_t model_gguf_read(struct accel_model_file *file, uint32_t part, struct accel_error *error)
{
    struct cursor *cursor = calloc(1, sizeof(*cursor));
    int32_t code;
    if (cursor == NULL)
        return model_no_memory(error, file->parts[part].path, sizeof(*cursor));
    cursor->file = file;
    cursor->part = &file->parts[part];
    cursor->part_index = part;
    cursor->error = error;
    code = read_header(cursor);
    free(cursor);
    return code;
}
