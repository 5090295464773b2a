/* SPDX-License-Identifier: Apache-2.0 */
/* Copies open structs from and to callers: only the members within the struct's size are accessed. Any thread. */
#ifndef ACCEL_MODEL_FILE_OPEN_STRUCT_H
#define ACCEL_MODEL_FILE_OPEN_STRUCT_H

#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

/* Copies a caller's open struct: at least `minimum` bytes must be there, `known` are copied (missing ones zeroed), and
 * bytes after them must be zero. `what` is its tag. */
int32_t open_struct_import(const void *given, size_t minimum, size_t known, const char *what, void *out_copy,
                           struct accel_error *error);
/* Fills a caller's open struct behind its size member, up to that size. `filled` has `known` bytes. */
void open_struct_export(void *out, const void *filled, size_t known);

#endif
