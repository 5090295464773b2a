/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled modules on disk: a header of 64 bytes followed by the blob. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/runtime/worker.h"

struct blob_header {
    char magic[8];
    uint32_t major, minor;
    uint64_t bytes;
    struct accel_hash128 content;
    char zero[ACCEL_BLOB_HEADER - 40];
};

_Static_assert(sizeof(struct blob_header) == ACCEL_BLOB_HEADER, "accel_blob reserves the size of the header");

static const char magic[8] = {'a', 'c', 'c', 'e', 'l', 'b', '1', '\n'};

static struct blob_header head_of(const struct accel_blob *blob)
{
    struct blob_header head = {.major = ACCEL_ABI_MAJOR, .minor = ACCEL_ABI_MINOR, .bytes = blob->bytes};
    memcpy(head.magic, magic, sizeof(magic));
    head.content = accel_hash128(blob->memory + ACCEL_BLOB_HEADER, (size_t)blob->bytes, 0);
    return head;
}

static int32_t path_of(const char *folder, const char *name, char **out_path, struct accel_error *error)
{
    char file[ACCEL_HASH128_HEX_BYTES + 8];
    snprintf(file, sizeof(file), "%.32s.blob", name);
    *out_path = accel_file_join(folder, file);
    return *out_path ? ACCEL_OK : accel_error_no_memory(error, "for the path of a blob");
}

int32_t accel_blob_read(const char *folder, const char *name, struct accel_blob *out_blob, struct accel_error *error)
{
    struct accel_blob blob = {0};
    struct blob_header head;
    char *path = NULL;
    size_t bytes = 0;
    int32_t code = path_of(folder, name, &path, error);
    *out_blob = blob;
    if (code != ACCEL_OK)
        return code;
    code = accel_file_read_trusted(path, (size_t)ACCEL_BLOB_BYTES, &blob.memory, &bytes, error);
    if (code == ACCEL_OK && bytes >= sizeof(head)) {
        blob.bytes = bytes - sizeof(head);
        head = head_of(&blob);
    }
    if (code == ACCEL_OK && (bytes <= sizeof(head) || memcmp(&head, blob.memory, sizeof(head)) != 0))
        code = accel_error_set(error, ACCEL_E_CORRUPT, "%s: damaged: its header does not match its %zu bytes", path,
                               bytes);
    if (code == ACCEL_OK)
        *out_blob = blob;
    else
        free(blob.memory);
    free(path);
    return code;
}

int32_t accel_blob_write(const char *folder, const char *name, struct accel_blob *blob, struct accel_error *error)
{
    struct blob_header head = head_of(blob);
    char *path = NULL;
    int32_t code = path_of(folder, name, &path, error);
    if (code == ACCEL_OK)
        code = accel_file_make_folders(folder, 0700, error);
    memcpy(blob->memory, &head, sizeof(head));
    if (code == ACCEL_OK)
        code = accel_file_write(path, blob->memory, sizeof(head) + (size_t)blob->bytes, 0600, error);
    free(path);
    return code;
}
