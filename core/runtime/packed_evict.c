/* SPDX-License-Identifier: Apache-2.0 */
/* Evicts packed weights from the cache: limits the disk space of all files. */
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

#include "core/base/error.h"
#include "core/profile/environment.h"
#include "core/runtime/packed.h"

/* One file takes at most 1/SHARE of the free disk space. */
#define SHARE 2u
#define NAME_BYTES 128u

struct cached_file {
    char name[NAME_BYTES];
    struct timespec used;
    uint64_t bytes;
};

struct list {
    struct cached_file *files;
    size_t count;
    uint64_t bytes;
};

/* Removes a temporary file that no process has locked: its writer was killed. */
static void remove_abandoned(int folder, const char *name)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(file);
}

static bool add_file(struct list *list, int folder, const char *name)
{
    struct cached_file *more;
    struct stat facts;
    bool unfinished;
    if (!accel_packed_is_name(name, &unfinished) || strlen(name) >= NAME_BYTES ||
        fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid())
        return true;
    if (unfinished) {
        remove_abandoned(folder, name);
        return true;
    }
    more = realloc(list->files, (list->count + 1) * sizeof(*more));
    if (more == NULL)
        return false;
    list->files = more;
    more[list->count] = (struct cached_file){.used = facts.st_atim, .bytes = (uint64_t)facts.st_size};
    strcpy(more[list->count++].name, name); /* fits: the length of the name was checked */
    list->bytes += (uint64_t)facts.st_size;
    return true;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct cached_file *)a)->used, *y = &((const struct cached_file *)b)->used;
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
        fits = add_file(out_list, folder, entry->d_name);
    closedir(open);
    if (out_list->count > 1)
        qsort(out_list->files, out_list->count, sizeof(*out_list->files), by_use);
    return fits ? ACCEL_OK : accel_error_no_memory(error, "to list packed weights");
}

int32_t accel_packed_evict(int folder, const char *path, uint64_t bytes, struct accel_error *error)
{
    struct list list = {0};
    struct statvfs disk;
    uint64_t limit, freed = 0;
    size_t evicted = 0;
    int32_t code = accel_environment_limit("ACCEL_PACKED_BYTES", ACCEL_PACKED_BYTES, &limit, error);
    if (code != ACCEL_OK)
        return code;
    if (bytes > limit) {
        accel_error_by(
            error, ACCEL_FROM_SETTING, ACCEL_E_LIMIT,
            "environment ACCEL_PACKED_BYTES: %llu bytes of packed weights are not stored, since it allows %llu",
            (unsigned long long)bytes, (unsigned long long)limit);
        accel_error_remedy(error, "set ACCEL_PACKED_BYTES=%llu or more", (unsigned long long)bytes);
        return ACCEL_E_LIMIT;
    }
    code = read_folder(folder, &list, error);
    while (code == ACCEL_OK && evicted < list.count && list.bytes - freed > limit - bytes)
        freed += list.files[evicted++].bytes;
    if (code == ACCEL_OK && fstatvfs(folder, &disk) == 0 &&
        ((uint64_t)disk.f_bavail * disk.f_frsize + freed) / SHARE < bytes) {
        code = accel_error_by(error, ACCEL_FROM_SYSTEM, ACCEL_E_LIMIT,
                              "%.300s: %llu bytes of packed weights are not stored: that is more than half of the free "
                              "disk space",
                              path, (unsigned long long)bytes);
        accel_error_remedy(error, "free disk space, or set XDG_CACHE_HOME to a folder on another disk");
    }
    /* Evicts files only if the new file fits afterwards. */
    for (size_t i = 0; code == ACCEL_OK && i < evicted; i++)
        (void)unlinkat(folder, list.files[i].name, 0);
    free(list.files);
    return code;
}
