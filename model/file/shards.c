/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a model in several safetensors files: model.safetensors.index.json maps each tensor to its file. The index is
 * untrusted, so it may name files of its own folder only.
 */
#include <stdlib.h>
#include <string.h>

#include "model/file/container.h"
#include "model/file/fault.h"
#include "model/file/json.h"
#include "model/file/text.h"

#define INDEX_BYTES_MAX ((uint64_t)64 << 20)
#define INDEX_DEPTH 16u
/* Each part holds a file descriptor; published models have a few hundred parts. */
#define SHARDS_MAX 4096u

static int compare_names(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

/* Lists the distinct file names of the index, sorted; the JSON owns them. */
static int32_t list_shards(const char *path, const json_t *map, const char ***out_names, size_t *out_count,
                           struct accel_error *error)
{
    size_t count = 0, unique = 0, size = json_object_size(map);
    const char **names = calloc(size == 0 ? 1 : size, sizeof(*names));
    const char *tensor;
    json_t *value;
    int32_t code = ACCEL_OK;
    char shown[MODEL_QUOTE_BYTES];
    *out_names = names;
    if (names == NULL)
        return model_no_memory(error, path, size * sizeof(*names));
    json_object_foreach((json_t *)(uintptr_t)map, tensor, value)
    {
        const char *name = json_string_value(value);
        if (name == NULL || !model_text_plain_name(name))
            code = model_fault(error, ACCEL_E_CORRUPT, path, MODEL_NO_OFFSET,
                               "weight_map: the file of tensor %s is not the name of a file in this folder",
                               model_quote(shown, tensor, strlen(tensor)));
        names[count++] = name;
    }
    if (code != ACCEL_OK)
        return code;
    qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < count; i++) {
        if (unique == 0 || strcmp(names[unique - 1], names[i]) != 0)
            names[unique++] = names[i];
    }
    *out_count = unique;
    if (unique == 0 || unique > SHARDS_MAX)
        return model_fault(error, ACCEL_E_CORRUPT, path, MODEL_NO_OFFSET,
                           "weight_map names %zu files, allowed are 1 to %u", unique, SHARDS_MAX);
    return ACCEL_OK;
}

static int32_t open_shards(struct accel_model_file *file, const char *const *names, size_t count,
                           struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    file->parts = calloc(count, sizeof(*file->parts));
    if (file->parts == NULL)
        return model_no_memory(error, file->path, count * sizeof(*file->parts));
    for (size_t i = 0; i < count && code == ACCEL_OK; i++) {
        char *path = model_text_join(file->folder, names[i]);
        file->parts[i] = MODEL_PART_NONE;
        if (path == NULL)
            return model_no_memory(error, file->path, strlen(names[i]));
        code = model_part_open(&file->parts[i], path, error);
        free(path);
        if (code == ACCEL_E_NOT_FOUND)
            accel_error_remedy(error, "a file of the model is missing that model.safetensors.index.json names: "
                                      "download it into the folder");
        if (code != ACCEL_OK)
            return code;
        file->part_count++;
        code = model_safetensors_read(file, (uint32_t)i, error);
    }
    return code;
}

/* Checks that every tensor of the index is in the file that the index names. */
static int32_t check_index(struct accel_model_file *file, const char *path, const json_t *map, const char *const *names,
                           struct accel_error *error)
{
    char shown[MODEL_QUOTE_BYTES];
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        const struct accel_model_tensor *tensor = accel_model_file_find(file, name);
        if (tensor == NULL || strcmp(names[tensor->part], json_string_value(value)) != 0)
            return model_fault(error, ACCEL_E_CORRUPT, path, MODEL_NO_OFFSET,
                               "weight_map: tensor %s is not in the file that it names",
                               model_quote(shown, name, strlen(name)));
    }
    return ACCEL_OK;
}

int32_t model_shards_read(struct accel_model_file *file, const char *index_path, struct accel_error *error)
{
    const char **names = NULL;
    char *text = NULL;
    json_t *root = NULL;
    const json_t *map;
    uint64_t length = 0;
    size_t count = 0;
    int32_t code = model_text_read(index_path, INDEX_BYTES_MAX, &text, &length, error);
    if (code == ACCEL_OK)
        code = model_json_parse(index_path, 0, text, length, INDEX_DEPTH, &root, error);
    map = json_object_get(root, "weight_map");
    if (code == ACCEL_OK && !json_is_object(map))
        code = model_fault(error, ACCEL_E_CORRUPT, index_path, MODEL_NO_OFFSET, "weight_map is %s, not an object",
                           model_json_kind(map));
    if (code == ACCEL_OK)
        code = list_shards(index_path, map, &names, &count, error);
    if (code == ACCEL_OK)
        code = open_shards(file, names, count, error);
    if (code == ACCEL_OK)
        code = model_container_seal(file, error);
    if (code == ACCEL_OK)
        code = check_index(file, index_path, map, names, error);
    free(names);
    json_decref(root);
    accel_model_text_free(text);
    return code;
}
