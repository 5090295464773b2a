/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "config.h"

#include "tools/accelctl/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Digits of a fingerprint. */
enum { DIGITS = 32 };

static void find_folder(struct kept_list *list)
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    int used = 0;

    if (cache != NULL && cache[0] == '/')
        used = snprintf(list->folder, sizeof list->folder, "%s/accel/kernels", cache);
    else if (home != NULL && home[0] == '/')
        used = snprintf(list->folder, sizeof list->folder, "%s/.cache/accel/kernels", home);
    if (used < 0 || (size_t)used >= sizeof list->folder)
        list->folder[0] = '\0';
}

/* DRIVER-FINGERPRINT, DRIVER-weights-HASH, or one of these with a suffix of a writer: anything else in the folder is
 * not ours. */
static uint32_t take_name(const char *name, struct kept_file *out_file)
{
    static const char infix[] = "-weights";
    const char *dash = strrchr(name, '-'), *end = dash;
    size_t digits = dash == NULL ? 0 : strspn(dash + 1, "0123456789abcdef");

    if (dash == NULL || dash == name || digits != DIGITS || strlen(name) >= KEPT_NAME ||
        (dash[1 + DIGITS] != '\0' && dash[1 + DIGITS] != '.') || memchr(name, '.', (size_t)(dash - name)) != NULL)
        return 0;
    snprintf(out_file->name, sizeof out_file->name, "%s", name);
    out_file->weights =
        (size_t)(dash - name) > strlen(infix) && strncmp(dash - strlen(infix), infix, strlen(infix)) == 0;
    if (out_file->weights)
        end -= strlen(infix);
    snprintf(out_file->driver, sizeof out_file->driver, "%.*s", (int)(end - name), name);
    out_file->unfinished = dash[1 + DIGITS] != '\0';
    return 1;
}

static int add(struct kept_list *list, int folder, const char *name, time_t now)
{
    struct kept_file file = {.bytes = 0};
    struct kept_file *more;
    struct stat status;

    if (!take_name(name, &file) || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode) || status.st_uid != geteuid())
        return 0;
    file.bytes = (uint64_t)status.st_size;
    file.seconds = status.st_mtime < now ? (uint64_t)(now - status.st_mtime) : 0;
    more = realloc(list->files, (list->count + 1) * sizeof *more);
    if (more == NULL)
        return ENOMEM;
    list->files = more;
    list->files[list->count++] = file;
    list->bytes += file.bytes;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct kept_file *)a)->name, ((const struct kept_file *)b)->name);
}

/* Not what a link in its place leads to: a handle, or -1 with errno. */
static int open_folder(const struct kept_list *list)
{
    struct stat status;
    int handle = open(list->folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);

    if (handle < 0 && errno == ENOTDIR && lstat(list->folder, &status) == 0)
        errno = S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
    return handle;
}

int kept_read(struct kept_list *out_list)
{
    const struct dirent *entry;
    const time_t now = time(NULL);
    DIR *folder;
    int handle, code = 0;

    *out_list = (struct kept_list){.count = 0};
    find_folder(out_list);
    if (out_list->folder[0] == '\0')
        return ENOENT;
    handle = open_folder(out_list);
    if (handle < 0)
        return errno == ENOENT ? 0 : errno;
    folder = fdopendir(handle);
    if (folder == NULL) {
        close(handle);
        return ENOMEM;
    }
    while (code == 0 && (entry = readdir(folder)) != NULL)
        code = add(out_list, dirfd(folder), entry->d_name, now);
    closedir(folder);
    if (out_list->count > 1)
        qsort(out_list->files, out_list->count, sizeof *out_list->files, by_name);
    return code;
}

void kept_free(struct kept_list *list)
{
    free(list->files);
    *list = (struct kept_list){.count = 0};
}

/* Writers hold a lock of the file beside; readers have the whole one open, and read on where its name has gone. */
static int remove_from(int folder, const struct kept_file *file)
{
    int handle = -1, code = 0;

    if (file->unfinished) {
        handle = openat(folder, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (handle < 0)
            return errno;
        if (flock(handle, LOCK_EX | LOCK_NB) != 0) {
            close(handle);
            return EBUSY;
        }
    }
    if (unlinkat(folder, file->name, 0) != 0)
        code = errno;
    if (handle >= 0)
        close(handle);
    return code;
}

int kept_remove(const struct kept_list *list, const struct kept_file *file)
{
    int folder = open_folder(list);
    int code = folder < 0 ? errno : remove_from(folder, file);

    if (folder >= 0)
        close(folder);
    return code;
}
