/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/file/container.h"
#include "model/file/fault.h"

bool model_text_plain_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool model_text_is_one_of(const char *list, const char *word, size_t length)
{
    for (size_t here; *list != '\0'; list += here + (list[here] != '\0')) {
        here = strcspn(list, " ");
        if (here == length && memcmp(list, word, length) == 0)
            return true;
    }
    return false;
}

char *model_text_join(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + 1 + strlen(name) + 1;
    size_t length = strlen(folder);
    char *path = malloc(bytes);
    if (path != NULL)
        snprintf(path, bytes, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", name);
    return path;
}

char *model_text_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static int32_t read_open(const char *path, int fd, const struct stat *status, uint64_t limit, char **out_text,
                         uint64_t *out_length, struct accel_error *error)
{
    struct model_part part;
    uint64_t bytes = status->st_size > 0 ? (uint64_t)status->st_size : 0;
    int32_t code;
    char *text;
    if (bytes > limit) {
        close(fd);
        return model_fault(error, ACCEL_E_LIMIT, path, MODEL_NO_OFFSET, "has %llu bytes, at most %llu are allowed",
                           (unsigned long long)bytes, (unsigned long long)limit);
    }
    code = model_part_adopt(&part, path, fd, status, error);
    if (code != ACCEL_OK)
        return code;
    text = calloc(1, (size_t)bytes + 1);
    if (text == NULL)
        code = model_no_memory(error, path, bytes + 1);
    if (code == ACCEL_OK)
        code = model_part_read(&part, 0, bytes, text, error);
    model_part_close(&part);
    if (code != ACCEL_OK) {
        free(text);
        return code;
    }
    *out_text = text;
    *out_length = bytes;
    return ACCEL_OK;
}

int32_t model_text_read(const char *path, uint64_t limit, char **out_text, uint64_t *out_length,
                        struct accel_error *error)
{
    struct stat status;
    int fd;
    int32_t code;
    *out_text = NULL;
    *out_length = 0;
    code = model_path_open(path, &fd, &status, error);
    if (code != ACCEL_OK)
        return code;
    return read_open(path, fd, &status, limit, out_text, out_length, error);
}

int32_t accel_model_file_sibling(const struct accel_model_file *file, const char *name, uint64_t limit, char **out_text,
                                 uint64_t *out_length, struct accel_error *error) ACCEL_NOEXCEPT
{
    char shown[MODEL_QUOTE_BYTES];
    char *path;
    int32_t code;
    if (out_text == NULL || out_length == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_model_file_sibling: a pointer is NULL");
    *out_text = NULL;
    *out_length = 0;
    if (file == NULL || name == NULL || !model_text_plain_name(name))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_model_file_sibling: %s is not a plain file name",
                               name == NULL ? "NULL" : model_quote(shown, name, strlen(name)));
    if (file->folder == NULL)
        return model_fault(error, ACCEL_E_NOT_FOUND, file->path, MODEL_NO_OFFSET,
                           "the model is in memory and has no %s beside it", name);
    path = model_text_join(file->folder, name);
    if (path == NULL)
        return model_no_memory(error, file->folder, strlen(name));
    code = model_text_read(path, limit, out_text, out_length, error);
    free(path);
    return code;
}

void accel_model_text_free(char *text) ACCEL_NOEXCEPT
{
    free(text);
}
