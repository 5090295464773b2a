/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of what is kept of drivers: a file of compiled kernels for each driver, device and version, and one of
 * packed weights for each model, device and version. */
#ifndef ACCELCTL_KEPT_H
#define ACCELCTL_KEPT_H

#include <stdint.h>

enum { KEPT_NAME = 128, KEPT_PATH = 512 };

struct kept_file {
    char name[KEPT_NAME];
    char driver[KEPT_NAME];
    uint64_t bytes;
    uint64_t seconds;    /* since it was written */
    uint32_t weights;    /* 1: packed weights, else kernels */
    uint32_t unfinished; /* 1: beside its name, as a writer leaves it that is at work or was killed */
};

struct kept_list {
    char folder[KEPT_PATH]; /* empty: the environment names none */
    struct kept_file *files;
    uint32_t count;
    uint64_t bytes;
};

/* Looks at the folder; one that is not there has no files. Answers 0, or errno: ELOOP where the folder itself is a
 * link, which is not followed. Free it in any case. */
int kept_read(struct kept_list *out_list);
void kept_free(struct kept_list *list);

/* Takes a file away. Answers 0, or errno: EBUSY where a writer is at work on it, which is left, ENOENT where somebody
 * else was faster. */
int kept_remove(const struct kept_list *list, const struct kept_file *file);

#endif
