/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Serializes numbers, texts and lists for files and processes of one machine: numbers in host representation, a
 * text with its length before it. The writer is a strbuf. The reader treats its input as untrusted: every length
 * is checked, and the first failure is sticky, so that users check `code` once, at the end. One thread at a time. */
#ifndef ACCEL_CORE_BASE_BYTES_H
#define ACCEL_CORE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

#include "core/base/arena.h"
#include "core/base/strbuf.h"

/** Appends bytes unchanged; none if `bytes` is 0, with any `data`. */
void accel_bytes_put(struct accel_strbuf *out, const void *data, size_t bytes);

/** Appends a text with its length; NULL and an empty text are distinct. */
void accel_bytes_put_text(struct accel_strbuf *out, const char *text);

/** State of a reader. The caller owns the bytes; parsed data lives in the arena. */
struct accel_bytes_reader {
    const char *data;
    size_t bytes;
    size_t place; /**< offset of the next byte; never past `bytes` */
    struct accel_arena *arena;
    const char *subject; /**< name of the data, for an error text: "a packed graph" */
    int32_t code;        /**< of the first failure */
    struct accel_error *error;
};

/** Records a failure at this offset, unless there was one. */
void accel_bytes_fail(struct accel_bytes_reader *reader, int32_t code, const char *what);

/** Returns a pointer to the next bytes, or NULL: after a failure, or if there are fewer (ACCEL_E_CORRUPT with
 * `what`). */
const char *accel_bytes_read(struct accel_bytes_reader *reader, uint64_t bytes, const char *what);

/** Copies the next bytes to `out`, zeros after a failure. */
void accel_bytes_read_numbers(struct accel_bytes_reader *reader, void *out, size_t bytes, const char *what);

/** Copies the next bytes, aligned to 64; NULL for none, or after a failure. */
void *accel_bytes_read_copy(struct accel_bytes_reader *reader, uint64_t bytes, const char *what);

/** Reads a text of at most `most` bytes. NULL after a failure and, if `optional`, for a text that was NULL. */
const char *accel_bytes_read_text(struct accel_bytes_reader *reader, size_t most, bool optional);

/** Allocates a zeroed array in the arena, or returns NULL after a failure. The caller bounds its size. */
void *accel_bytes_make(struct accel_bytes_reader *reader, size_t count, size_t bytes);

#endif
