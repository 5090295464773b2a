/* SPDX-License-Identifier: Apache-2.0 */
/* What files of packed weights may take of a disk. */
#define _GNU_SOURCE
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/checked.h"
#include "core/base/env.h"
#include "core/device/packed.h"
#include "core/profile/keys.h"

/* Of a disk's free space one file takes at most one part in so many. */
#define SHARE 2u
#define NAME_BYTES 128u

struct old {
    char name[NAME_BYTES];
    struct timespec used;
    uint64_t bytes;
};

struct list {
    struct old *files;
    size_t count;
    uint64_t bytes;
};

/* A number of bytes, with or without a unit as settings have them. */
static int32_t limit_of_all(uint64_t *out_limit, struct accel_error *error)
{
    const char *text = accel_env_get("ACCEL_PACKED_BYTES", NULL), *unit = "";
    int64_t number = ACCEL_PACKED_BYTES;
    if (text != NULL &&
        (!accel_number_parse(text, &number, &unit) || number < 0 || (*unit != '\0' && strcmp(unit, "bytes") != 0))) {
        accel_error_set(error, ACCEL_E_INVALID, "ACCEL_PACKED_BYTES=%.40s is no number of bytes", text);
        accel_error_remedy(error, "set it to one as 16GiB, to 0 to keep no packed weights, or not at all");
        return ACCEL_E_INVALID;
    }
    *out_limit = (uint64_t)number;
    return ACCEL_OK;
}

/* One that no process holds a lock of: its writer was killed. */
static void remove_left(int folder, const char *name)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(file);
}

static bool add(struct list *list, int folder, const char *name)
{
    struct old *more;
    struct stat facts;
    bool unfinished;
    if (!accel_packed_is_name(name, &unfinished) || strlen(name) >= NAME_BYTES ||
        fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid())
        return true;
    if (unfinished) {
        remove_left(folder, name);
        return true;
    }
    more = realloc(list->files, (list->count + 1) * sizeof(*more));
    if (more == NULL)
        return false;
    list->files = more;
    more[list->count] = (struct old){.used = facts.st_atim, .bytes = (uint64_t)facts.st_size};
    strcpy(more[list->count++].name, name); /* its length was looked at */
    list->bytes += (uint64_t)facts.st_size;
    return true;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct old *)a)->used, *y = &((const struct old *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static int32_t read_folder(int folder, struct list *out_list, struct accel_error *error)
{
    int handle = openat(folder, ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    DIR *open = handle < 0 ? NULL : fdopendir(handle);
    const struct dirent *entry;
    bool fits = true;
    if (open == NULL) {
        if (handle >= 0)
            close(handle);
        return accel_error_set(error, ACCEL_E_IO, "the folder of packed weights cannot be listed: error %d", errno);
    }
    while (fits && (entry = readdir(open)) != NULL)
        fits = add(out_list, folder, entry->d_name);
    closedir(open);
    if (out_list->count > 1)
        qsort(out_list->files, out_list->count, sizeof(*out_list->files), by_use);
    return fits ? ACCEL_OK : accel_error_set(error, ACCEL_E_MEMORY, "no memory to list packed weights");
}

int32_t accel_packed_make_room(int folder, uint64_t bytes, struct accel_error *error)
{
    struct list list = {0};
    struct statvfs disk;
    uint64_t limit, gone = 0;
    size_t goes = 0;
    int32_t code = limit_of_all(&limit, error);
    if (code != ACCEL_OK)
        return code;
    if (bytes > limit) {
        accel_error_set(error, ACCEL_E_LIMIT,
                        "%llu bytes of packed weights are not kept: ACCEL_PACKED_BYTES allows %llu",
                        (unsigned long long)bytes, (unsigned long long)limit);
        accel_error_remedy(error, "set ACCEL_PACKED_BYTES=%llu or more", (unsigned long long)bytes);
        return ACCEL_E_LIMIT;
    }
    code = read_folder(folder, &list, error);
    while (code == ACCEL_OK && goes < list.count && list.bytes - gone > limit - bytes)
        gone += list.files[goes++].bytes;
    if (code == ACCEL_OK && fstatvfs(folder, &disk) == 0 &&
        ((uint64_t)disk.f_bavail * disk.f_frsize + gone) / SHARE < bytes) {
        code = accel_error_set(error, ACCEL_E_LIMIT,
                               "%llu bytes of packed weights are not kept: that is more than half of what is free",
                               (unsigned long long)bytes);
        accel_error_remedy(error, "make room, or set XDG_CACHE_HOME to a folder on another disk");
    }
    /* What goes goes only for one that fits. */
    for (size_t i = 0; code == ACCEL_OK && i < goes; i++)
        (void)unlinkat(folder, list.files[i].name, 0);
    free(list.files);
    return code;
}
