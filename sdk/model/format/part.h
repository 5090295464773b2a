/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file on disk or in memory: opened, measured, mapped or read. Reading is checked against the size that the file
 * had when it was opened. Any thread may read an open part.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_PART_H
#define ACCEL_SDK_MODEL_FORMAT_PART_H

#include <accel/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct model_part {
    char *path;                /* owned; what messages say */
    const unsigned char *data; /* the whole file where it is mapped or lies in memory, else NULL */
    uint64_t bytes;
    struct timespec written; /* when it last was, as of the opening */
    int fd;                  /* -1 in memory */
    bool mapped;             /* data came from mmap */
};

/* A part that model_part_close accepts and that holds nothing. */
#define MODEL_PART_NONE ((struct model_part){.fd = -1})

/* Opens a path without waiting (a FIFO would) and says what it is. The caller closes *out_fd. */
int32_t model_path_open(const char *path, int *out_fd, struct stat *out_stat, struct accel_error *error);

/* What a file is that is not a regular one, for messages: "a folder". */
const char *model_mode_name(mode_t mode);

/* Takes over `fd`, also when it fails. Refuses all but regular files, and empty ones. */
int32_t model_part_adopt(struct model_part *part, const char *path, int fd, const struct stat *status,
                         struct accel_error *error);

/* model_path_open and model_part_adopt. */
int32_t model_part_open(struct model_part *part, const char *path, struct accel_error *error);

/* A part over memory of the caller. */
int32_t model_part_memory(struct model_part *part, const char *name, const void *bytes, uint64_t length,
                          struct accel_error *error);

/* Maps the whole file read-only; does nothing for memory. */
int32_t model_part_map(struct model_part *part, struct accel_error *error);

/* Copies a range of the file. A range past the end is ACCEL_E_CORRUPT, also where the file shrank since. */
int32_t model_part_read(const struct model_part *part, uint64_t offset, uint64_t bytes, void *out,
                        struct accel_error *error);

/* ACCEL_E_CORRUPT when the file has been written to since it was opened. */
int32_t model_part_check(const struct model_part *part, struct accel_error *error);

/* Releases what the part holds. */
void model_part_close(struct model_part *part);

#endif
