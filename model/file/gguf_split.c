/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads GGUF models in several files, as llama-gguf-split writes them: PREFIX-00001-of-00003.gguf and its followers.
 * The first file has the metadata; each file has its number (split.no, from 0) and the number of files (split.count).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/container.h"
#include "model/file/fault.h"

/* split.count has 16 bits. */
#define FILES_MAX 65535u

/* "-00001-of-00003.gguf" */
enum { SUFFIX_BYTES = 20 };

static const struct accel_model_value *find_own(const struct accel_model_file *file, uint32_t part, const char *key)
{
    for (uint64_t i = 0; i < file->value_count; i++)
        if (file->values[i].part == part && strcmp(file->values[i].key, key) == 0)
            return &file->values[i];
    return NULL;
}

/* Reads a number of one file; `missing` if it has none. */
static uint64_t read_count(const struct accel_model_file *file, uint32_t part, const char *key, uint64_t missing)
{
    const struct accel_model_value *value = find_own(file, part, key);
    uint64_t number;
    return value != NULL && accel_model_value_u64(value, 0, &number, NULL) == ACCEL_OK ? number : missing;
}

static int32_t refuse(const struct accel_model_file *file, uint32_t part, const char *key, uint64_t count,
                      const char *what, struct accel_error *error)
{
    const struct accel_model_value *value = find_own(file, part, key);
    model_fault(error, ACCEL_E_UNSUPPORTED, file->parts[part].path, value == NULL ? MODEL_NO_OFFSET : value->offset,
                "split.count is %llu: %s", (unsigned long long)count, what);
    return accel_error_advise(error, ACCEL_E_UNSUPPORTED,
                              "name the first file, ...-00001-of-%05llu.gguf, with the others "
                              "beside it; or merge them with llama-gguf-split --merge",
                              (unsigned long long)count);
}

/* Replaces the name of the first file by that of file `number`, from 1. */
static void name_file(char *path, uint64_t number, uint64_t count)
{
    char suffix[SUFFIX_BYTES + 1];
    snprintf(suffix, sizeof(suffix), "-%05u-of-%05u.gguf", (unsigned)(number % 100000), (unsigned)(count % 100000));
    memcpy(path + strlen(path) - SUFFIX_BYTES, suffix, SUFFIX_BYTES);
}

/* Returns whether the path ends like that of the first of `count` files. */
static bool is_first(const char *path, uint64_t count)
{
    char suffix[SUFFIX_BYTES + 1];
    const size_t length = strlen(path);
    snprintf(suffix, sizeof(suffix), "-00001-of-%05u.gguf", (unsigned)(count % 100000));
    return length > SUFFIX_BYTES && strcmp(path + length - SUFFIX_BYTES, suffix) == 0;
}

static int32_t check_file(const struct accel_model_file *file, uint32_t part, uint64_t count, struct accel_error *error)
{
    const uint64_t number = read_count(file, part, "split.no", UINT64_MAX),
                   own_count = read_count(file, part, "split.count", 0);
    const struct accel_model_value *value = find_own(file, part, "split.no");
    if (number == part && own_count == count)
        return ACCEL_OK;
    return model_fault(error, ACCEL_E_CORRUPT, file->parts[part].path, value == NULL ? MODEL_NO_OFFSET : value->offset,
                       "is not file %u of %llu of this model, by its split.no and split.count", part + 1,
                       (unsigned long long)count);
}

static int32_t read_file(struct accel_model_file *file, char *path, uint64_t count, struct accel_error *error)
{
    const uint32_t part = file->part_count;
    int32_t code;
    name_file(path, (uint64_t)part + 1, count);
    file->parts[part] = MODEL_PART_NONE;
    code = model_part_open(&file->parts[part], path, error);
    if (code != ACCEL_OK)
        return code;
    file->part_count++;
    code = model_gguf_read(file, part, error);
    return code == ACCEL_OK ? check_file(file, part, count, error) : code;
}

int32_t model_gguf_split_read(struct accel_model_file *file, struct accel_error *error)
{
    const uint64_t count = read_count(file, 0, "split.count", 0);
    struct model_part *parts;
    char *path;
    int32_t code = ACCEL_OK;
    if (count < 2)
        return ACCEL_OK;
    if (count > FILES_MAX || read_count(file, 0, "split.no", UINT64_MAX) != 0 || file->folder == NULL ||
        !is_first(file->parts[0].path, count))
        return refuse(file, 0, "split.count", count, "this is not the first file of the model by number and name",
                      error);
    parts = realloc(file->parts, (size_t)count * sizeof(*parts));
    if (parts == NULL)
        return model_no_memory(error, file->path, count * sizeof(*parts));
    file->parts = parts;
    path = strdup(file->parts[0].path);
    if (path == NULL)
        return model_no_memory(error, file->path, strlen(file->path));
    while (file->part_count < count && code == ACCEL_OK)
        code = read_file(file, path, count, error);
    free(path);
    if (code != ACCEL_OK)
        return code;
    if (read_count(file, 0, "split.tensors.count", file->tensor_count) != file->tensor_count)
        return model_fault(error, ACCEL_E_CORRUPT, file->path, MODEL_NO_OFFSET,
                           "its %llu files have %llu tensors, split.tensors.count is %llu", (unsigned long long)count,
                           (unsigned long long)file->tensor_count,
                           (unsigned long long)read_count(file, 0, "split.tensors.count", 0));
    return ACCEL_OK;
}
