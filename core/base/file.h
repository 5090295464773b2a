/* SPDX-License-Identifier: Apache-2.0 */
/** @file Small files and the folders of the user. Every error text names the path; `native` of the error is errno.
 * Returned strings and data are freed with free(). Thread-safe. */
#ifndef ACCEL_CORE_BASE_FILE_H
#define ACCEL_CORE_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <accel/error.h>

/** Maps an errno to ACCEL_E_NOT_FOUND, ACCEL_E_DENIED, ACCEL_E_MEMORY or ACCEL_E_IO. */
int32_t accel_file_code(int system_error);

/** Reports "PATH: cannot OPERATION: " and the text of an errno. The origin is the file if it is missing or denied, else
 * the system. */
int32_t accel_file_fail(struct accel_error *error, const char *operation, const char *path, int system_error);

/** Reads a whole regular file, or one of /proc and /sys whose reported size is 0. Folders and devices are refused; over
 * `limit` bytes it is ACCEL_E_LIMIT. `out_data` gets a zero byte that `out_bytes` (may be NULL) does not count. */
int32_t accel_file_read(const char *path, size_t limit, char **out_data, size_t *out_bytes, struct accel_error *error);

/** Reads a file that controls a program's behavior: it must be owned by root or by the caller, and no other user
 * may write it, else ACCEL_E_DENIED with the reason and a remedy. The check applies to the opened file. */
int32_t accel_file_read_trusted(const char *path, size_t limit, char **out_data, size_t *out_bytes,
                                struct accel_error *error);

/** Writes a file so that others see the old one or the whole new one, also after a power cut: a temporary file in
 * the same folder, fsync, rename, fsync of the folder. The umask applies to `mode`. If `path` exists and is no
 * regular file (a folder, a device, a symbolic link), it stays, and the result is ACCEL_E_INVALID. */
int32_t accel_file_write(const char *path, const void *data, size_t bytes, mode_t mode, struct accel_error *error);

/** Creates a folder and its missing parents with `mode`; an existing folder is fine. */
int32_t accel_file_make_folders(const char *path, mode_t mode, struct accel_error *error);

/** Returns "first/second" with one slash between, or NULL without memory. */
char *accel_file_join(const char *first, const char *second);

/** Returns a folder of the user for accel without creating it: $XDG_CACHE_HOME/accel or ~/.cache/accel,
 * $XDG_DATA_HOME/accel or ~/.local/share/accel, $XDG_STATE_HOME/accel or ~/.local/state/accel,
 * $XDG_CONFIG_HOME/accel or ~/.config/accel. Relative values of the variables are ignored, as XDG requires.
 * ACCEL_E_DENIED in a set-uid program, ACCEL_E_NOT_FOUND if no home is known. */
enum accel_user_folder { ACCEL_USER_CACHE, ACCEL_USER_DATA, ACCEL_USER_STATE, ACCEL_USER_CONFIG };
int32_t accel_file_user_folder(enum accel_user_folder kind, char **out_path, struct accel_error *error);

#endif
