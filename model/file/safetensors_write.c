/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <accel/model/safetensors.h>

#include "model/file/checked.h"
#include "model/file/container.h"
#include "model/file/element.h"
#include "model/file/fault.h"
#include "model/file/replace.h"

#define HEADER_ALIGNMENT ((uint64_t)8)

/* An entry with its computed size and element. */
struct placed {
    const struct accel_safetensors_entry *entry;
    const struct model_element *element;
    uint64_t bytes;
};

static int32_t invalid(const char *path, const char *name, const char *what, struct accel_error *error)
{
    char shown[MODEL_QUOTE_BYTES];
    return model_fault(error, ACCEL_E_INVALID, path, MODEL_NO_OFFSET, "tensor %s: %s",
                       model_quote(shown, name, strlen(name)), what);
}

static int32_t check_entry(const char *path, const struct accel_safetensors_entry *entry, struct placed *placed,
                           struct accel_error *error)
{
    struct model_part part = {.path = (char *)(uintptr_t)path};
    const char *reason;
    int32_t code;
    if (entry == NULL || entry->size < sizeof(*entry) || entry->name == NULL)
        return model_fault(error, ACCEL_E_INVALID, path, MODEL_NO_OFFSET, "an entry is NULL, too small or has no name");
    code = model_container_check_name(&part, 0, "the name of a tensor", entry->name, strlen(entry->name), error);
    if (code != ACCEL_OK)
        return ACCEL_E_INVALID;
    if (strcmp(entry->name, "__metadata__") == 0)
        return invalid(path, entry->name, "this name is reserved by the format", error);
    if (entry->rank > ACCEL_MODEL_RANK_MAX || (entry->rank > 0 && entry->dims == NULL))
        return invalid(path, entry->name, "more than 8 dimensions, or no pointer to them", error);
    placed->entry = entry;
    placed->element = model_element_writable(entry->type);
    if (placed->element == NULL)
        return invalid(path, entry->name, "safetensors has no such type", error);
    if (model_element_bytes(placed->element, entry->dims, entry->rank, &placed->bytes, &reason) != ACCEL_OK)
        return invalid(path, entry->name, reason, error);
    if (placed->bytes > 0 && entry->data == NULL)
        return invalid(path, entry->name, "it has no data", error);
    return ACCEL_OK;
}

/* Sorts larger elements first, which aligns all of them, since sizes are multiples of their element. */
static int compare_widths(const void *a, const void *b)
{
    const struct placed *left = a, *right = b;
    if (left->element->block_bytes != right->element->block_bytes)
        return left->element->block_bytes > right->element->block_bytes ? -1 : 1;
    return strcmp(left->entry->name, right->entry->name);
}

static json_t *describe(const struct placed *placed, uint64_t begin)
{
    json_t *dims = json_array();
    for (uint32_t i = 0; i < placed->entry->rank; i++)
        json_array_append_new(dims, json_integer((json_int_t)placed->entry->dims[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", placed->element->name, "shape", dims, "data_offsets",
                     (json_int_t)begin, (json_int_t)(begin + placed->bytes));
}

/* Builds the header's text, padded with blanks to a multiple of eight; the caller frees it. NULL if memory is out or a
 * name is duplicated, which *out_twice then names. */
static char *make_header(const struct placed *list, uint64_t count, const char **out_twice, uint64_t *out_length)
{
    json_t *root = json_object();
    uint64_t begin = 0;
    char *text = NULL, *padded = NULL;
    *out_twice = NULL;
    for (uint64_t i = 0; i < count && *out_twice == NULL; i++) {
        if (json_object_get(root, list[i].entry->name) != NULL)
            *out_twice = list[i].entry->name;
        else if (json_object_set_new(root, list[i].entry->name, describe(&list[i], begin)) != 0)
            break;
        begin += list[i].bytes;
    }
    if (*out_twice == NULL && json_object_size(root) == count)
        text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (text != NULL) {
        uint64_t length = strlen(text);
        *out_length = (length + HEADER_ALIGNMENT - 1) & ~(HEADER_ALIGNMENT - 1);
        padded = malloc((size_t)*out_length + 1);
        if (padded != NULL) {
            memset(padded, ' ', (size_t)*out_length);
            memcpy(padded, text, (size_t)length);
        }
    }
    free(text);
    return padded;
}

static int32_t write_content(int fd, const char *path, const char *header, uint64_t length, const struct placed *list,
                             uint64_t count, struct accel_error *error)
{
    int32_t code = model_write_all(fd, path, &length, sizeof(length), error);
    if (code == ACCEL_OK)
        code = model_write_all(fd, path, header, length, error);
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++)
        code = model_write_all(fd, path, list[i].entry->data, list[i].bytes, error);
    if (code == ACCEL_OK && fsync(fd) != 0)
        code = model_fault_errno(error, path, "cannot write to the disk", errno);
    return code;
}

static int32_t write_file(const char *path, const char *header, uint64_t length, const struct placed *list,
                          uint64_t count, struct accel_error *error)
{
    char *name = NULL;
    int fd = -1;
    int32_t code = model_check_target(path, error);
    if (code == ACCEL_OK)
        code = model_create_beside(path, &name, &fd, error);
    if (code == ACCEL_OK)
        code = model_replace(fd, name, path, write_content(fd, name, header, length, list, count, error), error);
    free(name);
    return code;
}

static int32_t check_entries(const char *path, const struct accel_safetensors_entry *const *entries, uint64_t count,
                             struct placed *list, struct accel_error *error)
{
    uint64_t total = 0;
    int32_t code = ACCEL_OK;
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++) {
        code = check_entry(path, entries[i], &list[i], error);
        if (code == ACCEL_OK && (!add_u64(total, list[i].bytes, &total) || total > INT64_MAX))
            code = invalid(path, entries[i]->name, "the file would pass 2^63 bytes", error);
    }
    if (code == ACCEL_OK)
        qsort(list, (size_t)count, sizeof(*list), compare_widths);
    return code;
}

int32_t accel_safetensors_write(const char *path, const struct accel_safetensors_entry *const *entries, uint64_t count,
                                struct accel_error *error) ACCEL_NOEXCEPT
{
    struct placed *list;
    const char *twice = NULL;
    char *header = NULL;
    uint64_t length = 0;
    int32_t code;
    if (path == NULL || (entries == NULL && count > 0))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_safetensors_write: a pointer is NULL");
    list = calloc(count == 0 ? 1 : (size_t)count, sizeof(*list));
    if (list == NULL)
        return model_no_memory(error, path, count);
    code = check_entries(path, entries, count, list, error);
    if (code == ACCEL_OK) {
        header = make_header(list, count, &twice, &length);
        if (twice != NULL)
            code = invalid(path, twice, "the name is duplicated", error);
        else if (header == NULL)
            code = model_no_memory(error, path, count);
    }
    if (code == ACCEL_OK)
        code = write_file(path, header, length, list, count, error);
    free(header);
    free(list);
    return code;
}
