/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "config.h"

#include "tools/accelctl/cache_folder.h"

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

/* Length of a fingerprint in hexadecimal. */
enum { HASH_BYTES = 32 };

static void find_folder(struct cache_folder *list)
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    int used = 0;

    if (cache != NULL && cache[0] == '/')
        used = snprintf(list->folder, sizeof(list->folder), "%s/accel/kernels", cache);
    else if (home != NULL && home[0] == '/')
        used = snprintf(list->folder, sizeof(list->folder), "%s/.cache/accel/kernels", home);
    if (used < 0 || (size_t)used >= sizeof(list->folder))
        list->folder[0] = '\0';
}

bool cache_folder_fault(char *text, size_t size)
{
    const char *cache = secure_getenv("XDG_CACHE_HOME");
    struct cache_folder list = {.count = 0};
    char *end;

    find_folder(&list);
    end = strrchr(list.folder, '/');
    if (end == NULL)
        return false;
    /* The folder above has what is known of the drivers, so that a run finds it unless it cannot be made. */
    *end = '\0';
    if (access(list.folder, W_OK | X_OK) != 0)
        snprintf(text, size, "not used: %s: %s; set XDG_CACHE_HOME to a folder that you may write to", list.folder,
                 strerror(errno));
    else if (cache != NULL && cache[0] != '\0' && cache[0] != '/')
        snprintf(text, size, "XDG_CACHE_HOME=%.100s is no absolute path and ignored: %s is used", cache, list.folder);
    else
        return false;
    return true;
}

/* Parses DRIVER-FINGERPRINT, DRIVER-weights-HASH, or one of these with the suffix of a writer; other names in the
 * folder are not ours. */
static uint32_t parse_name(const char *name, struct cached_file *out_file)
{
    static const char infix[] = "-weights";
    const char *dash = strrchr(name, '-'), *end = dash;
    size_t hash_bytes = dash == NULL ? 0 : strspn(dash + 1, "0123456789abcdef");

    if (dash == NULL || dash == name || hash_bytes != HASH_BYTES || strlen(name) >= CACHED_NAME_BYTES ||
        (dash[1 + HASH_BYTES] != '\0' && dash[1 + HASH_BYTES] != '.') ||
        memchr(name, '.', (size_t)(dash - name)) != NULL)
        return 0;
    snprintf(out_file->name, sizeof(out_file->name), "%s", name);
    out_file->weights =
        (size_t)(dash - name) > strlen(infix) && strncmp(dash - strlen(infix), infix, strlen(infix)) == 0;
    if (out_file->weights)
        end -= strlen(infix);
    snprintf(out_file->driver, sizeof(out_file->driver), "%.*s", (int)(end - name), name);
    out_file->unfinished = dash[1 + HASH_BYTES] != '\0';
    return 1;
}

static int add(struct cache_folder *list, int folder, const char *name, time_t now)
{
    struct cached_file file = {.bytes = 0};
    struct cached_file *more;
    struct stat status;
    char path[CACHE_PATH_BYTES + CACHED_NAME_BYTES];

    if (!parse_name(name, &file) || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode) || status.st_uid != geteuid())
        return 0;
    if (file.weights && !file.unfinished &&
        snprintf(path, sizeof(path), "%s/%s", list->folder, name) < (int)sizeof(path))
        accel_weights_label_read(path, file.model, NULL);
    file.bytes = (uint64_t)status.st_size;
    file.seconds = status.st_mtime < now ? (uint64_t)(now - status.st_mtime) : 0;
    more = realloc(list->files, (list->count + 1) * sizeof(*more));
    if (more == NULL)
        return ENOMEM;
    list->files = more;
    list->files[list->count++] = file;
    list->bytes += file.bytes;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct cached_file *)a)->name, ((const struct cached_file *)b)->name);
}

/* Opens the folder, but no link in its place: a handle, or -1 with errno. */
static int open_folder(const struct cache_folder *list)
{
    struct stat status;
    int handle = open(list->folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);

    if (handle < 0 && errno == ENOTDIR && lstat(list->folder, &status) == 0)
        errno = S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
    return handle;
}

int cache_folder_read(struct cache_folder *out_list)
{
    const struct dirent *entry;
    const time_t now = time(NULL);
    DIR *folder;
    int handle, code = 0;

    *out_list = (struct cache_folder){.count = 0};
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
        qsort(out_list->files, out_list->count, sizeof(*out_list->files), by_name);
    return code;
}

void cache_folder_free(struct cache_folder *list)
{
    free(list->files);
    *list = (struct cache_folder){.count = 0};
}

/* Removes a file. Writers lock the file beside it; readers have the whole file open, and continue after its
 * removal. */
static int remove_from(int folder, const struct cached_file *file)
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

int cache_folder_remove(const struct cache_folder *list, const struct cached_file *file)
{
    int folder = open_folder(list);
    int code = folder < 0 ? errno : remove_from(folder, file);

    if (folder >= 0)
        close(folder);
    return code;
}
