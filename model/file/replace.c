/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/file/fault.h"
#include "model/file/part.h"
#include "model/file/pool.h"
#include "model/file/text.h"

/* Names to try before giving up. */
#define NAME_TRIES 1000u

int32_t model_check_target(const char *path, struct accel_error *error)
{
    size_t length = strlen(path);
    struct stat status;
    if (length == 0)
        return model_fault(error, ACCEL_E_INVALID, "the file to write", MODEL_NO_OFFSET, "its name is empty");
    if (path[length - 1] == '/')
        model_fault(error, ACCEL_E_INVALID, path, MODEL_NO_OFFSET, "is the name of a folder, not of a file");
    else if (lstat(path, &status) != 0)
        return errno == ENOENT ? ACCEL_OK : model_fault_errno(error, path, "cannot examine", errno);
    else if (S_ISREG(status.st_mode))
        return ACCEL_OK;
    else
        model_fault(error, ACCEL_E_INVALID, path, MODEL_NO_OFFSET, "is %s, not a regular file",
                    model_mode_name(status.st_mode));
    return accel_error_advise(error, ACCEL_E_INVALID, "name a new file, or a regular file to replace");
}

int32_t model_create_beside(const char *path, char **out_name, int *out_fd, struct accel_error *error)
{
    size_t bytes = strlen(path) + 48;
    char *name = malloc(bytes);
    int native = EEXIST;
    *out_fd = -1;
    *out_name = name;
    if (name == NULL)
        return model_no_memory(error, path, bytes);
    for (unsigned i = 0; i < NAME_TRIES && *out_fd < 0 && native == EEXIST; i++) {
        snprintf(name, bytes, "%s.%ld.%u.tmp", path, (long)getpid(), i);
        *out_fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
        native = errno;
    }
    return *out_fd >= 0 ? ACCEL_OK : model_fault_errno(error, name, "cannot create", native);
}

/* Writes all bytes at `offset`, or at the file position if it is negative. */
static int32_t write_all(int fd, const char *path, const void *bytes, uint64_t count, off_t offset,
                         struct accel_error *error)
{
    const unsigned char *at = bytes;
    while (count > 0) {
        size_t chunk = count < (1u << 30) ? (size_t)count : (size_t)1 << 30;
        ssize_t done = offset < 0 ? write(fd, at, chunk) : pwrite(fd, at, chunk, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return model_fault_errno(error, path, "cannot write", errno);
        at += done;
        offset += offset < 0 ? 0 : done;
        count -= (uint64_t)done;
    }
    return ACCEL_OK;
}

int32_t model_write_all(int fd, const char *path, const void *bytes, uint64_t count, struct accel_error *error)
{
    return write_all(fd, path, bytes, count, -1, error);
}

int32_t model_write_at(int fd, const char *path, const void *bytes, uint64_t count, uint64_t offset,
                       struct accel_error *error)
{
    return write_all(fd, path, bytes, count, (off_t)offset, error);
}

int32_t model_replace(int fd, const char *name, const char *path, int32_t code, struct accel_error *error)
{
    if (close(fd) != 0 && code == ACCEL_OK)
        code = model_fault_errno(error, name, "cannot write", errno);
    if (code == ACCEL_OK && rename(name, path) != 0)
        code = model_fault_errno(error, path, "cannot replace", errno);
    if (code == ACCEL_OK)
        model_sync_folder(path);
    else
        unlink(name);
    return code;
}

void model_sync_folder(const char *path)
{
    char *folder = model_text_folder(path);
    int fd = folder == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}
