/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text files beside a model, and their paths. Strings returned are the caller's: free(), or accel_model_text_free for
 * what was read. Any thread.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_TEXT_H
#define ACCEL_SDK_MODEL_FORMAT_TEXT_H

#include <accel/model/file.h>
#include <stdbool.h>

/* A file name without a folder in it: not empty, no slash, neither "." nor "..". */
bool model_text_plain_name(const char *name);

/* "folder/name", or NULL without memory. */
char *model_text_join(const char *folder, const char *name);

/* The folder that holds `path`: "." where the path has none. NULL without memory. */
char *model_text_folder(const char *path);

/* Reads a whole regular file of at most `limit` bytes; an empty one gives an empty text. */
int32_t model_text_read(const char *path, uint64_t limit, char **out_text, uint64_t *out_length,
                        struct accel_error *error);

#endif
