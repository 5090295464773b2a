/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file under a temporary name and renames it, so that readers see the old file or the complete new one. Any
 * thread. */
#ifndef ACCEL_MODEL_FILE_REPLACE_H
#define ACCEL_MODEL_FILE_REPLACE_H

#include <stdint.h>

#include <accel/error.h>

/* Checks whether `path` can be replaced: it is free, or a regular file. Folders, devices, FIFOs, symbolic links (a
 * rename would replace them) and paths that end in a slash are ACCEL_E_INVALID. Call before any work. */
int32_t model_check_target(const char *path, struct accel_error *error);

/* Creates a temporary file in the folder of `path`, with permissions of the umask. The caller frees its name, also on
 * failure, after which *out_fd is -1. */
int32_t model_create_beside(const char *path, char **out_name, int *out_fd, struct accel_error *error);

/* Writes all bytes at the file position; `path` is for messages. */
int32_t model_write_all(int fd, const char *path, const void *bytes, uint64_t count, struct accel_error *error);

/* Writes all bytes at an offset and leaves the file position alone. Several threads may write at the same time. */
int32_t model_write_at(int fd, const char *path, const void *bytes, uint64_t count, uint64_t offset,
                       struct accel_error *error);

/* Closes a file of model_create_beside, and renames it to `path` if `code` is ACCEL_OK, else removes it. Returns
 * `code`, or the error of this call. */
int32_t model_replace(int fd, const char *name, const char *path, int32_t code, struct accel_error *error);

/* Syncs the folder of `path`, without which a new name may be lost in a crash. Errors are ignored, since some file
 * systems cannot sync folders. */
void model_sync_folder(const char *path);

#endif
