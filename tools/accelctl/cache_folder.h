/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the cache folder of drivers: a file of compiled kernels for each driver, device and version, and one of
 * packed weights for each model, device and version. */
#ifndef ACCELCTL_CACHE_FOLDER_H
#define ACCELCTL_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/run.h>

enum { CACHED_NAME_BYTES = 128, CACHE_PATH_BYTES = 512 };

struct cached_file {
    char name[CACHED_NAME_BYTES];
    char driver[CACHED_NAME_BYTES];
    char model[ACCEL_WEIGHTS_LABEL]; /* whose weights these are; empty: unknown, or kernels */
    uint64_t bytes;
    uint64_t seconds;    /* since it was written */
    uint32_t weights;    /* 1: packed weights, else kernels */
    uint32_t unfinished; /* 1: beside its name, as a writer leaves it that is at work or was killed */
};

struct cache_folder {
    char folder[CACHE_PATH_BYTES]; /* empty: the environment names none */
    struct cached_file *files;
    uint32_t count;
    uint64_t bytes;
};

/* Lists the folder; a missing one has no files. Answers 0, or errno: ELOOP if the folder itself is a link, which
 * is not followed. Free it in any case. */
int cache_folder_read(struct cache_folder *out_list);
void cache_folder_free(struct cache_folder *list);

/* Writes why a run that has ended has stored nothing there, or has stored it elsewhere than XDG_CACHE_HOME names; false
 * if neither is so. */
bool cache_folder_fault(char *text, size_t size);

/* Removes a file. Answers 0, or errno: EBUSY if a process is writing it, which leaves the file, ENOENT if another
 * process has removed it. */
int cache_folder_remove(const struct cache_folder *list, const struct cached_file *file);

#endif
