/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes model files, and looks tensors up in their tables. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <accel/model/file.h>

#include "model/file/checked.h"
#include "model/file/container.h"
#include "model/file/derived.h"
#include "model/file/fault.h"
#include "model/file/not_model.h"
#include "model/file/packed.h"
#include "model/file/planes.h"
#include "model/file/text.h"

#define SINGLE_NAME "model.safetensors"
#define INDEX_NAME "model.safetensors.index.json"

static bool ends_in(const char *path, const char *end)
{
    size_t length = strlen(path), bytes = strlen(end);
    return length >= bytes && strcmp(path + length - bytes, end) == 0;
}

/* Detects the format by content: a safetensors header begins with a brace after its length. A file with neither mark is
 * read as the format of its extension, so that the message explains the fault. */
static int32_t choose_format(struct accel_model_file *file, struct accel_error *error)
{
    const struct model_part *part = &file->parts[0];
    unsigned char head[9] = {0};
    uint64_t have = part->bytes < sizeof(head) ? part->bytes : sizeof(head);
    int32_t code = model_part_read(part, 0, have, head, error);
    if (code != ACCEL_OK)
        return code;
    if (memcmp(head, "GGUF", 4) == 0)
        file->format = ACCEL_MODEL_GGUF;
    else if (head[8] == '{' || ends_in(part->path, ".safetensors"))
        file->format = ACCEL_MODEL_SAFETENSORS;
    else if (ends_in(part->path, ".gguf"))
        file->format = ACCEL_MODEL_GGUF;
    else if (head[0] == '{' && file->folder != NULL)
        return model_refuse_json(part, file->folder, error);
    else
        return model_fault(error, ACCEL_E_UNSUPPORTED, part->path, 0,
                           "is neither GGUF nor safetensors, it begins with %02x %02x %02x %02x%s", head[0], head[1],
                           head[2], head[3],
                           memcmp(head, "PK\3\4", 4) == 0 ? ", as a checkpoint of PyTorch (.pt, .bin) does" : "");
    return ACCEL_OK;
}

/* Reads the only part. */
static int32_t read_single(struct accel_model_file *file, struct accel_error *error)
{
    int32_t code = choose_format(file, error);
    if (code != ACCEL_OK)
        return code;
    code = file->format == ACCEL_MODEL_GGUF ? model_gguf_read(file, 0, error) : model_safetensors_read(file, 0, error);
    if (code == ACCEL_OK && file->format == ACCEL_MODEL_GGUF)
        code = model_gguf_split_read(file, error);
    return code == ACCEL_OK ? model_container_seal(file, error) : code;
}

static int32_t reserve_single(struct accel_model_file *file, struct accel_error *error)
{
    file->parts = calloc(1, sizeof(*file->parts));
    if (file->parts == NULL)
        return model_no_memory(error, file->path, sizeof(*file->parts));
    file->parts[0] = MODEL_PART_NONE;
    return ACCEL_OK;
}

static int32_t open_regular(struct accel_model_file *file, const char *path, int fd, const struct stat *status,
                            struct accel_error *error)
{
    int32_t code = reserve_single(file, error);
    if (code != ACCEL_OK) {
        close(fd);
        return code;
    }
    code = model_part_adopt(&file->parts[0], path, fd, status, error);
    if (code != ACCEL_OK)
        return code;
    file->part_count = 1;
    return read_single(file, error);
}

/* Opens the only GGUF model of a folder, as if its own path had been given. */
static int32_t open_folder_gguf(struct accel_model_file *file, struct accel_error *error)
{
    struct stat status;
    char *path;
    int fd;
    int32_t code = model_gguf_find(file->folder, &path, error);
    if (code != ACCEL_OK)
        return code;
    if (path == NULL)
        return model_refuse_folder(file->folder, error);
    free(file->path);
    file->path = path;
    code = model_path_open(path, &fd, &status, error);
    return code == ACCEL_OK ? open_regular(file, path, fd, &status, error) : code;
}

/* Opens a folder: its single file, its index, or its only GGUF model. */
static int32_t open_folder(struct accel_model_file *file, struct accel_error *error)
{
    char *single = model_text_join(file->folder, SINGLE_NAME);
    char *index = model_text_join(file->folder, INDEX_NAME);
    struct stat status;
    int32_t code;
    int fd;
    if (single == NULL || index == NULL) {
        code = model_no_memory(error, file->path, strlen(file->path) + sizeof(INDEX_NAME));
    } else if (access(single, F_OK) == 0) {
        code = model_path_open(single, &fd, &status, error);
        if (code == ACCEL_OK)
            code = open_regular(file, single, fd, &status, error);
    } else if (access(index, F_OK) == 0) {
        file->format = ACCEL_MODEL_SAFETENSORS;
        code = model_shards_read(file, index, error);
    } else {
        code = open_folder_gguf(file, error);
    }
    free(single);
    free(index);
    return code;
}

static int32_t open_path(struct accel_model_file *file, const char *path, struct accel_error *error)
{
    struct stat status;
    int fd;
    int32_t code = model_path_open(path, &fd, &status, error);
    if (code != ACCEL_OK)
        return code;
    if (S_ISDIR(status.st_mode)) {
        close(fd);
        file->folder = strdup(path);
        return file->folder == NULL ? model_no_memory(error, path, strlen(path)) : open_folder(file, error);
    }
    file->folder = model_text_folder(path);
    if (file->folder == NULL) {
        close(fd);
        return model_no_memory(error, path, strlen(path));
    }
    if (model_is_shard(path)) {
        close(fd);
        return model_refuse_shard(path, file->folder, error);
    }
    return open_regular(file, path, fd, &status, error);
}

static int32_t create(const char *path, struct accel_model_file **out_file, struct accel_error *error)
{
    struct accel_model_file *file = calloc(1, sizeof(*file));
    char *copy = strdup(path);
    if (file == NULL || copy == NULL) {
        free(file);
        free(copy);
        return model_no_memory(error, path, sizeof(*file));
    }
    file->path = copy;
    *out_file = file;
    return ACCEL_OK;
}

/* Adds a remedy to an error about a file that cannot be opened, unless it has one. */
static void add_remedy(int32_t code, struct accel_error *error)
{
    switch (code) {
    case ACCEL_E_NOT_FOUND:
        accel_error_remedy(
            error,
            "check the path (nothing is downloaded): a model is a GGUF file, a safetensors "
            "file, or a folder with one; accelctl profile list models lists models that accelctl plan knows by name");
        break;
    case ACCEL_E_DENIED:
        accel_error_remedy(error, "let this user read the file (chmod a+r) and enter its folders (chmod a+x)");
        break;
    case ACCEL_E_INVALID:
    case ACCEL_E_UNSUPPORTED:
        accel_error_remedy(error, "name a GGUF file, a safetensors file, or a folder with one; convert a model in "
                                  "another format first");
        break;
    case ACCEL_E_CORRUPT:
        accel_error_remedy(error, "the file is damaged or incomplete: download or convert it again");
        break;
    case ACCEL_E_IO:
        accel_error_remedy(error, error != NULL && error->native == ENAMETOOLONG
                                      ? "name the file by a shorter path, as of a link"
                                      : "the disk or its file system failed: try a copy elsewhere");
        break;
    default:
        break;
    }
}

int32_t model_file_map(struct accel_model_file *file, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < file->part_count && code == ACCEL_OK; i++)
        code = model_part_map(&file->parts[i], error);
    add_remedy(code, error);
    return code;
}

int32_t accel_model_file_open(const char *path, const struct accel_model_open_options *options,
                              struct accel_model_file **out_file, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_model_file *file = NULL;
    uint32_t flags = 0;
    int32_t code;
    if (out_file == NULL || path == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_model_file_open: path or out_file is NULL");
    *out_file = NULL;
    if (options != NULL && ACCEL_HAS(options, flags))
        flags = options->flags;
    if ((flags & ~(ACCEL_MODEL_OPEN_READ | ACCEL_MODEL_OPEN_PACKED | ACCEL_MODEL_OPEN_BLOCKS)) != 0 ||
        (options != NULL && (!ACCEL_HAS(options, flags) || options->size > sizeof(*options))))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_model_file_open: unknown options, flags 0x%x", flags);
    code = create(path, &file, error);
    if (code == ACCEL_OK)
        code = open_path(file, path, error);
    if (code == ACCEL_OK)
        code = model_planes_replace(file, error);
    if (code == ACCEL_OK && (flags & ACCEL_MODEL_OPEN_PACKED) != 0)
        code = model_packed_replace(file, error);
    if (code == ACCEL_OK && (flags & ACCEL_MODEL_OPEN_BLOCKS) != 0)
        code = model_packed_keep_all(file, error);
    if (code == ACCEL_OK && (flags & ACCEL_MODEL_OPEN_READ) == 0)
        code = model_file_map(file, error);
    if (code != ACCEL_OK) {
        accel_model_file_close(file);
        add_remedy(code, error);
        return code;
    }
    *out_file = file;
    return ACCEL_OK;
}

int32_t accel_model_file_open_memory(const void *bytes, uint64_t length, const char *name,
                                     struct accel_model_file **out_file, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_model_file *file = NULL;
    int32_t code;
    if (out_file == NULL || name == NULL || (bytes == NULL && length > 0))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_model_file_open_memory: a pointer is NULL");
    *out_file = NULL;
    code = create(name, &file, error);
    if (code == ACCEL_OK)
        code = reserve_single(file, error);
    if (code == ACCEL_OK)
        code = model_part_memory(&file->parts[0], name, bytes, length, error);
    if (code == ACCEL_OK) {
        file->part_count = 1;
        code = read_single(file, error);
    }
    if (code == ACCEL_OK)
        code = model_planes_replace(file, error);
    if (code != ACCEL_OK) {
        accel_model_file_close(file);
        return code;
    }
    *out_file = file;
    return ACCEL_OK;
}

void accel_model_file_close(struct accel_model_file *file) ACCEL_NOEXCEPT
{
    if (file == NULL)
        return;
    for (uint32_t i = 0; i < file->part_count; i++)
        model_part_close(&file->parts[i]);
    model_pool_free(&file->pool);
    free(file->tensors);
    free(file->values);
    free(file->parts);
    free(file->folder);
    free(file->path);
    free(file);
}

uint32_t accel_model_file_format(const struct accel_model_file *file) ACCEL_NOEXCEPT
{
    return file->format;
}

const char *accel_model_file_path(const struct accel_model_file *file) ACCEL_NOEXCEPT
{
    return file->path;
}

uint32_t accel_model_file_part_count(const struct accel_model_file *file) ACCEL_NOEXCEPT
{
    return file->part_count;
}

const char *accel_model_file_part_path(const struct accel_model_file *file, uint32_t part) ACCEL_NOEXCEPT
{
    return part < file->part_count ? file->parts[part].path : NULL;
}

uint64_t accel_model_file_part_bytes(const struct accel_model_file *file, uint32_t part) ACCEL_NOEXCEPT
{
    return part < file->part_count ? file->parts[part].bytes : 0;
}

int32_t accel_model_file_part_fd(const struct accel_model_file *file, uint32_t part) ACCEL_NOEXCEPT
{
    return part < file->part_count ? file->parts[part].fd : -1;
}

uint64_t accel_model_file_tensor_count(const struct accel_model_file *file) ACCEL_NOEXCEPT
{
    return file->tensor_count;
}

const struct accel_model_tensor *accel_model_file_tensor(const struct accel_model_file *file,
                                                         uint64_t index) ACCEL_NOEXCEPT
{
    return index < file->tensor_count ? &file->tensors[index].face : NULL;
}

/* Returns the first tensor whose name is not before `name`, or tensor_count. */
static uint64_t lower_bound(const struct accel_model_file *file, const char *name)
{
    uint64_t low = 0, high = file->tensor_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (strcmp(file->tensors_by_name[middle]->face.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct accel_model_tensor *accel_model_file_find(const struct accel_model_file *file,
                                                       const char *name) ACCEL_NOEXCEPT
{
    uint64_t at = name == NULL ? file->tensor_count : lower_bound(file, name);
    if (at == file->tensor_count || strcmp(file->tensors_by_name[at]->face.name, name) != 0)
        return NULL;
    return &file->tensors_by_name[at]->face;
}

int32_t accel_model_file_has_prefix(const struct accel_model_file *file, const char *prefix) ACCEL_NOEXCEPT
{
    uint64_t at = lower_bound(file, prefix);
    return at < file->tensor_count && strncmp(file->tensors_by_name[at]->face.name, prefix, strlen(prefix)) == 0;
}

/* Finds the assembled tensor of this file, or NULL. Callers may have copied the tensor, so it is found by name. */
static const struct model_tensor *find_assembled(const struct accel_model_file *file,
                                                 const struct accel_model_tensor *tensor)
{
    uint64_t at = file->packed_count + file->planes_count + file->derived_count == 0 ? file->tensor_count
                                                                                     : lower_bound(file, tensor->name);
    if (at == file->tensor_count || strcmp(file->tensors_by_name[at]->face.name, tensor->name) != 0)
        return NULL;
    return file->tensors_by_name[at];
}

const void *accel_model_file_plane(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                                   uint32_t plane, uint64_t *out_bytes) ACCEL_NOEXCEPT
{
    const struct model_tensor *own;
    struct model_plane place;
    *out_bytes = 0;
    if (tensor == NULL || tensor->part >= file->part_count)
        return NULL;
    own = find_assembled(file, tensor);
    if (own != NULL && (own->packed != NULL || own->derived != NULL))
        return NULL;
    place = (struct model_plane){tensor->offset, tensor->bytes, tensor->part};
    if (own != NULL && own->planes != NULL && plane < own->planes->count)
        place = own->planes->plane[plane];
    else if (plane > 0)
        return NULL;
    *out_bytes = place.bytes;
    return file->parts[place.part].data == NULL ? NULL : file->parts[place.part].data + place.offset;
}

const void *accel_model_file_data(const struct accel_model_file *file,
                                  const struct accel_model_tensor *tensor) ACCEL_NOEXCEPT
{
    uint64_t bytes;
    const void *data = accel_model_file_plane(file, tensor, 0, &bytes);
    return data == NULL || bytes != tensor->bytes ? NULL : data;
}

int32_t model_stored_read(const struct accel_model_file *file, const struct model_tensor *tensor, uint64_t offset,
                          uint64_t bytes, void *out, struct accel_error *error)
{
    if (tensor->packed != NULL)
        return model_packed_read(file, tensor->packed, offset, bytes, out, error);
    if (tensor->planes != NULL)
        return model_planes_read(file, tensor->planes, offset, bytes, out, error);
    return model_part_read(&file->parts[tensor->face.part], tensor->face.offset + offset, bytes, out, error);
}

int32_t accel_model_file_read(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                              uint64_t offset, uint64_t bytes, void *out, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct model_tensor *own;
    uint64_t end;
    if (file == NULL || tensor == NULL || tensor->part >= file->part_count || (out == NULL && bytes > 0))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_model_file_read: a pointer is NULL");
    if (!add_u64(offset, bytes, &end) || end > tensor->bytes)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_model_file_read: %llu bytes at %llu, the tensor has %llu",
                               (unsigned long long)bytes, (unsigned long long)offset,
                               (unsigned long long)tensor->bytes);
    own = find_assembled(file, tensor);
    if (own != NULL && own->derived != NULL)
        return model_derived_read(file, own->derived, offset, bytes, out, error);
    if (own != NULL)
        return model_stored_read(file, own, offset, bytes, out, error);
    return model_part_read(&file->parts[tensor->part], tensor->offset + offset, bytes, out, error);
}

int32_t accel_model_file_check(const struct accel_model_file *file, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = ACCEL_OK;
    if (file == NULL)
        return model_refuse_null(__func__, error);
    for (uint32_t i = 0; i < file->part_count && code == ACCEL_OK; i++)
        code = model_part_check(&file->parts[i], error);
    return code;
}

int32_t accel_model_file_mapping(const struct accel_model_file *file, uint32_t index,
                                 struct accel_model_mapping *out_mapping, struct accel_error *error) ACCEL_NOEXCEPT
{
    if (out_mapping == NULL)
        return model_refuse_null(__func__, error);
    if (file == NULL || index >= file->part_count || !file->parts[index].mapped)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "accel_model_file_mapping: there is no mapping %u", index);
    out_mapping->address = file->parts[index].data;
    out_mapping->bytes = file->parts[index].bytes;
    out_mapping->path = file->parts[index].path;
    return ACCEL_OK;
}
