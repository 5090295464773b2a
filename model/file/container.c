/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/container.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "model/file/checked.h"
#include "model/file/fault.h"

/* Grows the list at `old` to `have + more` elements, at least doubling it so that many shards do not cost quadratic
 * time. New elements are zero. Returns NULL and leaves `old` valid if memory is out. */
static void *reserve(struct accel_model_file *file, void *old, uint64_t have, uint64_t more, uint64_t *capacity,
                     size_t bytes, struct accel_error *error)
{
    uint64_t count = 0, total;
    unsigned char *place = NULL;
    bool fits = add_u64(have, more, &count);
    if (fits && count <= *capacity && old != NULL)
        return old;
    if (count < *capacity * 2)
        count = *capacity * 2;
    if (count == 0)
        count = 1;
    if (fits && multiply_u64(count, bytes, &total) && total <= PTRDIFF_MAX)
        place = realloc(old, (size_t)total);
    if (place == NULL) {
        model_no_memory(error, file->path, more * bytes);
        return NULL;
    }
    memset(place + have * bytes, 0, (size_t)(count - have) * bytes);
    *capacity = count;
    return place;
}

int32_t model_container_reserve_tensors(struct accel_model_file *file, uint64_t count, struct accel_error *error)
{
    struct model_tensor *place =
        reserve(file, file->tensors, file->tensor_count, count, &file->tensor_capacity, sizeof(*file->tensors), error);
    if (place == NULL)
        return ACCEL_E_MEMORY;
    file->tensors = place;
    return ACCEL_OK;
}

int32_t model_container_reserve_values(struct accel_model_file *file, uint64_t count, struct accel_error *error)
{
    struct accel_model_value *place =
        reserve(file, file->values, file->value_count, count, &file->value_capacity, sizeof(*file->values), error);
    if (place == NULL)
        return ACCEL_E_MEMORY;
    file->values = place;
    return ACCEL_OK;
}

static int compare_tensors(const void *a, const void *b)
{
    const struct model_tensor *const *left = a, *const *right = b;
    int order = strcmp((*left)->face.name, (*right)->face.name);
    if (order != 0)
        return order;
    return *left < *right ? -1 : 1;
}

static int compare_values(const void *a, const void *b)
{
    const struct accel_model_value *const *left = a, *const *right = b;
    int order = strcmp((*left)->key, (*right)->key);
    if (order != 0)
        return order;
    return *left < *right ? -1 : 1;
}

static int32_t seal_tensors(struct accel_model_file *file, struct accel_error *error)
{
    const struct model_tensor **sorted = model_pool_alloc(&file->pool, file->tensor_count, sizeof(*sorted));
    char shown[MODEL_QUOTE_BYTES];
    if (sorted == NULL)
        return model_no_memory(error, file->path, file->tensor_count * sizeof(*sorted));
    for (uint64_t i = 0; i < file->tensor_count; i++)
        sorted[i] = &file->tensors[i];
    qsort(sorted, (size_t)file->tensor_count, sizeof(*sorted), compare_tensors);
    file->tensors_by_name = sorted;
    for (uint64_t i = 1; i < file->tensor_count; i++) {
        const struct model_tensor *again = sorted[i];
        if (strcmp(sorted[i - 1]->face.name, again->face.name) == 0)
            return model_fault(error, ACCEL_E_CORRUPT, file->parts[again->face.part].path, again->described_at,
                               "two tensors have the name %s",
                               model_quote(shown, again->face.name, strlen(again->face.name)));
    }
    return ACCEL_OK;
}

static int32_t seal_values(struct accel_model_file *file, struct accel_error *error)
{
    const struct accel_model_value **sorted = model_pool_alloc(&file->pool, file->value_count, sizeof(*sorted));
    char shown[MODEL_QUOTE_BYTES];
    uint64_t unique = 0;
    if (sorted == NULL)
        return model_no_memory(error, file->path, file->value_count * sizeof(*sorted));
    for (uint64_t i = 0; i < file->value_count; i++)
        sorted[i] = &file->values[i];
    qsort(sorted, (size_t)file->value_count, sizeof(*sorted), compare_values);
    for (uint64_t i = 0; i < file->value_count; i++) {
        const struct accel_model_value *value = sorted[i];
        bool again = unique > 0 && strcmp(sorted[unique - 1]->key, value->key) == 0;
        if (again && sorted[unique - 1]->part == value->part)
            return model_fault(error, ACCEL_E_CORRUPT, file->parts[value->part].path, value->offset,
                               "the key %s is duplicated", model_quote(shown, value->key, strlen(value->key)));
        if (!again)
            sorted[unique++] = value;
    }
    file->values_by_key = sorted;
    file->key_count = unique;
    return ACCEL_OK;
}

int32_t model_container_seal(struct accel_model_file *file, struct accel_error *error)
{
    int32_t code = seal_tensors(file, error);
    if (code == ACCEL_OK)
        code = seal_values(file, error);
    return code;
}

static int compare_places(const void *a, const void *b)
{
    const struct model_tensor *const *left = a, *const *right = b;
    const struct accel_model_tensor *first = &(*left)->face, *second = &(*right)->face;
    if (first->offset != second->offset)
        return first->offset < second->offset ? -1 : 1;
    if (first->bytes != second->bytes)
        return first->bytes < second->bytes ? -1 : 1;
    return 0;
}

static int32_t check_order(const struct accel_model_file *file, const struct model_tensor *const *sorted,
                           uint64_t count, uint64_t begin, uint64_t end, bool dense, struct accel_error *error)
{
    const char *path = count == 0 ? NULL : file->parts[sorted[0]->face.part].path;
    char shown[MODEL_QUOTE_BYTES];
    uint64_t reached = begin;
    for (uint64_t i = 0; i < count; i++) {
        const struct accel_model_tensor *face = &sorted[i]->face;
        model_quote(shown, face->name, strlen(face->name));
        if (face->offset < reached && (face->bytes > 0 || dense))
            return model_fault(error, ACCEL_E_CORRUPT, path, sorted[i]->described_at,
                               "tensor %s begins at 0x%llx, inside the tensor before it", shown,
                               (unsigned long long)face->offset);
        if (dense && face->offset > reached)
            return model_fault(error, ACCEL_E_CORRUPT, path, reached, "%llu bytes before tensor %s belong to no tensor",
                               (unsigned long long)(face->offset - reached), shown);
        if (face->bytes > 0)
            reached = face->offset + face->bytes;
    }
    if (dense && reached != end)
        return model_fault(error, ACCEL_E_CORRUPT, path == NULL ? file->path : path, reached,
                           "%llu bytes after the last tensor belong to none", (unsigned long long)(end - reached));
    return ACCEL_OK;
}

int32_t model_container_check_layout(const struct accel_model_file *file, uint64_t first, uint64_t begin, uint64_t end,
                                     bool dense, struct accel_error *error)
{
    uint64_t count = file->tensor_count - first;
    const struct model_tensor **sorted = calloc(count == 0 ? 1 : (size_t)count, sizeof(*sorted));
    int32_t code;
    if (sorted == NULL)
        return model_no_memory(error, file->path, count * sizeof(*sorted));
    for (uint64_t i = 0; i < count; i++)
        sorted[i] = &file->tensors[first + i];
    qsort(sorted, (size_t)count, sizeof(*sorted), compare_places);
    code = check_order(file, sorted, count, begin, end, dense, error);
    free(sorted);
    return code;
}

int32_t model_container_check_name(const struct model_part *part, uint64_t offset, const char *what, const char *name,
                                   uint64_t length, struct accel_error *error)
{
    const utf8proc_uint8_t *text = (const utf8proc_uint8_t *)name;
    utf8proc_int32_t character;
    if (length == 0)
        return model_fault(error, ACCEL_E_CORRUPT, part->path, offset, "%s is empty", what);
    for (uint64_t at = 0; at < length;) {
        uint64_t left = length - at;
        utf8proc_ssize_t step = utf8proc_iterate(text + at, left < 4 ? (utf8proc_ssize_t)left : 4, &character);
        if (step < 1 || character == 0)
            return model_fault(error, ACCEL_E_CORRUPT, part->path, offset, "%s %s at its byte %llu", what,
                               step < 1 ? "is not UTF-8" : "has a zero byte", (unsigned long long)at);
        at += (uint64_t)step;
    }
    return ACCEL_OK;
}
