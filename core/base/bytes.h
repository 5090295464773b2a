/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Numbers, texts and lists as bytes, for files and processes of one machine: numbers lie as in memory, a text has its
 * length before it. The writer is a strbuf. The reader believes nothing: every length is checked, and the first failure
 * sticks, so that users look at `code` once, at the end. One thread at a time.
 */
#ifndef ACCEL_CORE_BASE_BYTES_H
#define ACCEL_CORE_BASE_BYTES_H

#include <accel/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/strbuf.h"

/** Appends bytes as they are; none where `bytes` is 0, with any `data`. */
void accel_bytes_put(struct accel_strbuf *out, const void *data, size_t bytes);

/** Appends a text with its length; NULL is told apart from an empty one. */
void accel_bytes_put_text(struct accel_strbuf *out, const char *text);

/** What is being read. The bytes are the caller's; what is made of them lies in the arena. */
struct accel_bytes_reader {
    const char *data;
    size_t bytes;
    size_t place; /**< of the next byte; never past `bytes` */
    struct accel_arena *arena;
    const char *subject; /**< what the bytes are, for the text of an error: "a packed graph" */
    int32_t code;        /**< of the first failure */
    struct accel_error *error;
};

/** Notes a failure at this place, unless there was one. */
void accel_bytes_fail(struct accel_bytes_reader *reader, int32_t code, const char *what);

/** The next bytes where they lie, or NULL: after a failure, or where there are fewer (ACCEL_E_CORRUPT with `what`). */
const char *accel_bytes_take(struct accel_bytes_reader *reader, uint64_t bytes, const char *what);

/** Copies the next bytes to `out`, zeros in case of failure. */
void accel_bytes_take_numbers(struct accel_bytes_reader *reader, void *out, size_t bytes, const char *what);

/** A copy of the next bytes, aligned to 64; NULL for none, or in case of failure. */
void *accel_bytes_take_copy(struct accel_bytes_reader *reader, uint64_t bytes, const char *what);

/** A text of at most `most` bytes. NULL in case of failure, and, where it is `optional`, for one that was NULL. */
const char *accel_bytes_take_text(struct accel_bytes_reader *reader, size_t most, bool optional);

/** A zeroed array in the arena, or NULL in case of failure. Its size is for the caller to bound. */
void *accel_bytes_make(struct accel_bytes_reader *reader, size_t count, size_t bytes);

#endif
