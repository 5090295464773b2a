/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens, maps and reads one file on disk or in memory. Reads are checked against the size that the file had when it was
 * opened. Any thread may read an open part.
 */
#ifndef ACCEL_MODEL_FILE_PART_H
#define ACCEL_MODEL_FILE_PART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <accel/error.h>

struct model_part {
    char *path;                /* owned; for messages */
    const unsigned char *data; /* the whole file if it is mapped or in memory, else NULL */
    uint64_t bytes;
    struct timespec written; /* modification time when it was opened */
    int fd;                  /* -1 in memory */
    bool mapped;             /* data came from mmap */
};

/* An empty part, which model_part_close accepts. */
#define MODEL_PART_NONE ((struct model_part){.fd = -1})

/* Opens a path without blocking (a FIFO would block) and examines it. The caller closes *out_fd. */
int32_t model_path_open(const char *path, int *out_fd, struct stat *out_stat, struct accel_error *error);

/* Returns the kind of a file that is not regular, for messages: "a folder". */
const char *model_mode_name(mode_t mode);

/* Takes ownership of `fd`, also on failure. Refuses files that are not regular, and empty ones. */
int32_t model_part_adopt(struct model_part *part, const char *path, int fd, const struct stat *status,
                         struct accel_error *error);

/* Opens a path as a part: model_path_open and model_part_adopt. */
int32_t model_part_open(struct model_part *part, const char *path, struct accel_error *error);

/* Creates a part over the caller's memory. */
int32_t model_part_memory(struct model_part *part, const char *name, const void *bytes, uint64_t length,
                          struct accel_error *error);

/* Maps the whole file read-only; does nothing for memory. */
int32_t model_part_map(struct model_part *part, struct accel_error *error);

/* Copies a range of the file. A range past the end is ACCEL_E_CORRUPT, also if the file shrank since. */
int32_t model_part_read(const struct model_part *part, uint64_t offset, uint64_t bytes, void *out,
                        struct accel_error *error);

/* Returns ACCEL_E_CORRUPT if the file was written to since it was opened. */
int32_t model_part_check(const struct model_part *part, struct accel_error *error);

/* Unmaps and closes a part. */
void model_part_close(struct model_part *part);

#endif
