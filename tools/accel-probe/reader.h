/* SPDX-License-Identifier: Apache-2.0 */
/* Parses numbers, texts and lists that accel_strbuf_append and accel_strbuf_counted wrote on the same machine. The
 * input is untrusted: every length is checked, and the first failure is sticky, so that users check `code` once, at the
 * end. One thread at a time. */
#ifndef TOOLS_ACCEL_PROBE_READER_H
#define TOOLS_ACCEL_PROBE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

#include "core/base/arena.h"

/* State of a reader. The caller owns the bytes; parsed data lives in the arena. */
struct byte_reader {
    const char *data;
    size_t bytes;
    size_t place; /* offset of the next byte; never past `bytes` */
    struct accel_arena *arena;
    const char *subject; /* name of the data, for an error text: "a packed graph" */
    int32_t code;        /* of the first failure */
    struct accel_error *error;
};

/* Records a failure at this offset, unless there was one. */
void fail_reading(struct byte_reader *reader, int32_t code, const char *what);

/* Returns a pointer to the next bytes, or NULL: after a failure, or if there are fewer (ACCEL_E_CORRUPT with
 * `what`). */
const char *read_bytes(struct byte_reader *reader, uint64_t bytes, const char *what);

/* Copies the next bytes to `out`, zeros after a failure. */
void read_numbers(struct byte_reader *reader, void *out, size_t bytes, const char *what);

/* Copies the next bytes, aligned to 64; NULL for none, or after a failure. */
void *read_copy(struct byte_reader *reader, uint64_t bytes, const char *what);

/* Reads a text of at most `most` bytes. NULL after a failure and, if `optional`, for a text that was NULL. */
const char *read_text(struct byte_reader *reader, size_t most, bool optional);

/* Allocates a zeroed array in the arena, or returns NULL after a failure. The caller bounds its size. */
void *make_array(struct byte_reader *reader, size_t count, size_t bytes);

#endif
