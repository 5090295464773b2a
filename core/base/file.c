/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/base/error.h"
#include "core/base/strbuf.h"

/* Maximum number of attempts to find an unused name. */
#define NAME_TRIES 1000u

int32_t accel_file_code(int system_error)
{
    switch (system_error) {
    case ENOENT:
    case ENOTDIR:
        return ACCEL_E_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return ACCEL_E_DENIED;
    case ENOMEM:
        return ACCEL_E_MEMORY;
    default:
        return ACCEL_E_IO;
    }
}

int32_t accel_file_fail(struct accel_error *error, const char *operation, const char *path, int system_error)
{
    char reason[128];
    int32_t code = accel_file_code(system_error);
    /* strerror is not thread-safe; GNU strerror_r may return a constant text and leave the buffer unchanged. */
    const char *text = strerror_r(system_error, reason, sizeof(reason));
    return accel_error_native(error,
                              code == ACCEL_E_NOT_FOUND || code == ACCEL_E_DENIED ? ACCEL_FROM_FILE : ACCEL_FROM_SYSTEM,
                              code, system_error, "%s: cannot %s: %s", path, operation, text);
}

static int32_t fail_memory(struct accel_error *error, const char *path)
{
    return accel_error_set(error, ACCEL_E_MEMORY, "%s: out of memory", path);
}

static ssize_t read_some(int fd, char *data, size_t bytes)
{
    ssize_t got;
    do
        got = read(fd, data, bytes);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Reads to the end, because stat does not report the length of files of /proc and /sys. */
static int32_t read_all(int fd, const char *path, size_t limit, struct accel_strbuf *out, struct accel_error *error)
{
    char chunk[4096];
    for (;;) {
        ssize_t got = read_some(fd, chunk, sizeof(chunk));
        if (got < 0)
            return accel_file_fail(error, "read", path, errno);
        if (got == 0)
            return ACCEL_OK;
        if ((size_t)got > limit - out->length)
            return accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_LIMIT, "%s: longer than %zu bytes", path, limit);
        accel_strbuf_append(out, chunk, (size_t)got);
        if (out->failed)
            return fail_memory(error, path);
    }
}

static int32_t check_trust(const char *path, const struct stat *facts, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    if (facts->st_uid != 0 && facts->st_uid != geteuid()) {
        code = accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_DENIED,
                              "%s: not trusted: it belongs to user %ju, neither root nor the caller", path,
                              (uintmax_t)facts->st_uid);
        accel_error_remedy(error, "chown it to yourself if you trust its content, or remove it");
    } else if ((facts->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        code =
            accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_DENIED, "%s: not trusted: others may write to it, mode %04o",
                           path, (unsigned)(facts->st_mode & 07777));
        accel_error_remedy(error, "chmod go-w %s", path);
    }
    return code;
}

static int32_t read_file(const char *path, size_t limit, bool trusted, char **out_data, size_t *out_bytes,
                         struct accel_error *error)
{
    struct accel_strbuf text = {0};
    struct stat facts;
    int32_t code;
    /* Without O_NONBLOCK a named pipe would block until a writer opens it. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    *out_data = NULL;
    if (out_bytes)
        *out_bytes = 0;
    if (fd < 0)
        return accel_file_fail(error, "open", path, errno);
    if (fstat(fd, &facts) != 0)
        code = accel_file_fail(error, "stat", path, errno);
    else if (!S_ISREG(facts.st_mode))
        code = accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_INVALID, "%s: not a regular file", path);
    else if (!trusted || (code = check_trust(path, &facts, error)) == ACCEL_OK)
        code = read_all(fd, path, limit, &text, error);
    close(fd);
    if (code == ACCEL_OK) {
        size_t bytes = text.length;
        *out_data = accel_strbuf_detach(&text);
        if (*out_data == NULL)
            code = fail_memory(error, path);
        else if (out_bytes)
            *out_bytes = bytes;
    }
    accel_strbuf_free(&text);
    return code;
}

int32_t accel_file_read(const char *path, size_t limit, char **out_data, size_t *out_bytes, struct accel_error *error)
{
    return read_file(path, limit, false, out_data, out_bytes, error);
}

int32_t accel_file_read_trusted(const char *path, size_t limit, char **out_data, size_t *out_bytes,
                                struct accel_error *error)
{
    return read_file(path, limit, true, out_data, out_bytes, error);
}

static int write_all(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t wrote = write(fd, data, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return errno;
        data += wrote;
        bytes -= (size_t)wrote;
    }
    return 0;
}

/* Syncs the data before it gets its final name; close may report a late failure too. */
static int fill_temporary(int fd, const void *data, size_t bytes)
{
    int failure = write_all(fd, data, bytes);
    if (failure == 0 && fsync(fd) != 0)
        failure = errno;
    if (close(fd) != 0 && failure == 0)
        failure = errno;
    return failure;
}

static int sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    int failure = 0;
    int fd;
    if (folder == NULL)
        return ENOMEM;
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems cannot sync a folder (EINVAL); there the durability of the rename is best effort. */
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        failure = errno;
    if (fd >= 0)
        close(fd);
    free(folder);
    return failure;
}

/* Checks that the target does not exist or is a regular file, since rename replaces it. */
static int32_t check_target(const char *path, struct accel_error *error)
{
    size_t length = strlen(path);
    struct stat facts;
    if (length > 0 && path[length - 1] != '/') {
        if (lstat(path, &facts) != 0)
            return errno == ENOENT ? ACCEL_OK : accel_file_fail(error, "write", path, errno);
        if (S_ISREG(facts.st_mode))
            return ACCEL_OK;
    }
    accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_INVALID, "%s: not a regular file", length == 0 ? "\"\"" : path);
    return accel_error_advise(error, ACCEL_E_INVALID, "name a new file, or a regular file to replace");
}

/* Creates a file with an unused name. mkstemp would not apply the umask to its mode. */
static int create_temporary(const char *path, mode_t mode, struct accel_strbuf *out_name)
{
    int fd = -1;
    errno = EEXIST;
    for (unsigned i = 0; i < NAME_TRIES && fd < 0 && errno == EEXIST; i++) {
        accel_strbuf_free(out_name);
        accel_strbuf_printf(out_name, "%s.%ld.%u.tmp", path, (long)getpid(), i);
        if (out_name->failed)
            errno = ENOMEM;
        else
            fd = open(out_name->text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, mode);
    }
    return fd;
}

int32_t accel_file_write(const char *path, const void *data, size_t bytes, mode_t mode, struct accel_error *error)
{
    struct accel_strbuf temporary = {0};
    int32_t code = check_target(path, error);
    int failure, fd;
    if (code != ACCEL_OK)
        return code;
    fd = create_temporary(path, mode, &temporary);
    if (fd < 0) {
        code = accel_file_fail(error, "create a temporary file beside", path, errno);
        accel_strbuf_free(&temporary);
        return code;
    }
    failure = fill_temporary(fd, data, bytes);
    if (failure == 0 && rename(temporary.text, path) != 0)
        failure = errno;
    if (failure != 0)
        unlink(temporary.text);
    else
        failure = sync_folder_of(path);
    if (failure != 0)
        code = accel_file_fail(error, "write", path, failure);
    accel_strbuf_free(&temporary);
    return code;
}

static int make_folder(const char *path, mode_t mode)
{
    struct stat facts;
    int failure = mkdir(path, mode) == 0 ? 0 : errno;
    /* For a folder that exists mkdir may fail with EROFS or EACCES as well as with EEXIST. */
    if (failure != 0 && stat(path, &facts) == 0)
        failure = S_ISDIR(facts.st_mode) ? 0 : ENOTDIR;
    return failure;
}

int32_t accel_file_make_folders(const char *path, mode_t mode, struct accel_error *error)
{
    char *partial = strdup(path);
    int failure = partial ? 0 : ENOMEM;
    for (char *p = partial; failure == 0 && p && *p; p++) {
        if (p == partial || *p != '/')
            continue;
        *p = '\0';
        failure = make_folder(partial, mode);
        *p = '/';
    }
    if (failure == 0)
        failure = make_folder(path, mode);
    free(partial);
    return failure ? accel_file_fail(error, "make the folder", path, failure) : ACCEL_OK;
}

char *accel_file_join(const char *first, const char *second)
{
    struct accel_strbuf path = {0};
    size_t length = strlen(first);
    while (length > 1 && first[length - 1] == '/')
        length--;
    while (*second == '/')
        second++;
    accel_strbuf_append(&path, first, length);
    if (length == 0 || first[length - 1] != '/')
        accel_strbuf_char(&path, '/');
    accel_strbuf_text(&path, second);
    return accel_strbuf_detach(&path);
}

int32_t accel_file_user_folder(enum accel_user_folder kind, char **out_path, struct accel_error *error)
{
    static const char *const rows[][2] = {[ACCEL_USER_CACHE] = {"XDG_CACHE_HOME", ".cache/accel"},
                                          [ACCEL_USER_DATA] = {"XDG_DATA_HOME", ".local/share/accel"},
                                          [ACCEL_USER_STATE] = {"XDG_STATE_HOME", ".local/state/accel"},
                                          [ACCEL_USER_CONFIG] = {"XDG_CONFIG_HOME", ".config/accel"}};
    const char *variable = rows[kind][0], *base = accel_env_get(variable, NULL), *home = accel_env_get("HOME", NULL);
    *out_path = NULL;
    if (accel_env_is_elevated())
        return accel_error_set(error, ACCEL_E_DENIED, "a program with elevated privileges does not use user folders");
    if (base && base[0] == '/') {
        *out_path = accel_file_join(base, "accel");
    } else if (home && home[0] == '/') {
        *out_path = accel_file_join(home, rows[kind][1]);
    } else {
        accel_error_set(error, ACCEL_E_NOT_FOUND, "neither %s nor HOME names an absolute folder", variable);
        return accel_error_advise(error, ACCEL_E_NOT_FOUND, "set HOME or %s", variable);
    }
    return *out_path ? ACCEL_OK : fail_memory(error, variable);
}
