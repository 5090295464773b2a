/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads text files beside a model, and handles their paths. The caller frees returned strings: free(), or
 * accel_model_text_free for file contents. Any thread.
 */
#ifndef ACCEL_MODEL_FILE_TEXT_H
#define ACCEL_MODEL_FILE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <accel/model/file.h>

/* Returns whether a file name has no folder: not empty, no slash, neither "." nor "..". */
bool model_text_plain_name(const char *name);

/* Returns whether a list, "ONE TWO THREE", has the word of `length` bytes. */
bool model_text_is_one_of(const char *list, const char *word, size_t length);

/* Returns "folder/name", or NULL if memory is out. */
char *model_text_join(const char *folder, const char *name);

/* Returns the folder of `path`: "." if it has none. NULL if memory is out. */
char *model_text_folder(const char *path);

/* Reads a regular file of at most `limit` bytes; an empty file gives an empty text. */
int32_t model_text_read(const char *path, uint64_t limit, char **out_text, uint64_t *out_length,
                        struct accel_error *error);

#endif
