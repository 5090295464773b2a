/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a plan into a file, whole or not at all. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdk/model/plan/internal.h"

static int32_t io_error(const char *path, const char *what, struct accel_error *error)
{
    int number = errno;
    int32_t code = number == EACCES || number == EPERM || number == EROFS ? ACCEL_E_DENIED
                   : number == ENOENT || number == ENOTDIR                ? ACCEL_E_NOT_FOUND
                                                                          : ACCEL_E_IO;

    if (error != NULL && error->code == ACCEL_OK)
        error->native = number;
    return accel_error_set(error, code, "%s: %s: %s", path, what, strerror(number));
}

static int32_t write_all(int fd, const char *text, const char *path, struct accel_error *error)
{
    size_t length = strlen(text);

    while (length > 0) {
        ssize_t written = write(fd, text, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return io_error(path, "cannot be written", error);
        text += written;
        length -= (size_t)written;
    }
    return fsync(fd) == 0 ? ACCEL_OK : io_error(path, "cannot be written", error);
}

/* The new file lies beside the old one until it is whole, and takes its place in one step. */
static int32_t replace(const char *path, const char *text, struct accel_error *error)
{
    size_t bytes = strlen(path) + sizeof ".XXXXXX";
    char *beside = malloc(bytes);
    mode_t mask = umask(0);
    int32_t code;
    int fd;

    umask(mask);
    if (beside == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory to write it", path);
    snprintf(beside, bytes, "%s.XXXXXX", path);
    fd = mkstemp(beside);
    if (fd < 0) {
        code = io_error(path, "cannot be made", error);
        free(beside);
        return code;
    }
    code = write_all(fd, text, path, error);
    if (code == ACCEL_OK && (fchmod(fd, 0666 & ~mask) != 0 || rename(beside, path) != 0))
        code = io_error(path, "cannot be written", error);
    if (code != ACCEL_OK)
        unlink(beside);
    close(fd);
    free(beside);
    return code;
}

int32_t accel_model_plan_write(const struct accel_model_plan *plan, const char *path, struct accel_error *error)
{
    struct stat target;
    char *text = NULL;
    int32_t code;

    if (stat(path, &target) == 0 && !S_ISREG(target.st_mode))
        return accel_error_set(error, ACCEL_E_INVALID, "%s: is not a regular file", path);
    code = accel_model_plan_json(plan, &text, error);
    if (code == ACCEL_OK)
        code = replace(path, text, error);
    accel_model_plan_json_free(text);
    return code;
}
