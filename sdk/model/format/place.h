/* SPDX-License-Identifier: Apache-2.0 */
/* What putting a written file in its place needs besides rename(). Any thread. */
#ifndef ACCEL_SDK_MODEL_FORMAT_PLACE_H
#define ACCEL_SDK_MODEL_FORMAT_PLACE_H

#include <accel/error.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a file can be put in the place of `path`: nothing is there yet, or a regular file. Folders, devices, FIFOs
 * and symbolic links, which a rename would replace, and paths that can only be those of folders are ACCEL_E_INVALID. To
 * be asked before any work. */
int32_t model_check_target(const char *path, struct accel_error *error);

/* A new file beside `path`, with the permissions that the umask leaves. Its name is the caller's to free, also where
 * this fails; *out_fd is then -1. */
int32_t model_create_beside(const char *path, char **out_name, int *out_fd, struct accel_error *error);

/* Writes all bytes; `path` is for messages. */
int32_t model_write_all(int fd, const char *path, const void *bytes, uint64_t count, struct accel_error *error);

/* The same at an offset, which leaves where the file stands; several threads may. */
int32_t model_write_at(int fd, const char *path, const void *bytes, uint64_t count, uint64_t offset,
                       struct accel_error *error);

/* Ends what model_create_beside began: closes the file, and where `code` is ACCEL_OK puts it in the place of `path`,
 * else removes it. Answers `code`, or what went wrong here. */
int32_t model_replace(int fd, const char *name, const char *path, int32_t code, struct accel_error *error);

/* The folder of `path` reaches the disk: a new name is safe only then. A file system that cannot do so is no failure.
 */
void model_sync_folder(const char *path);

#endif
