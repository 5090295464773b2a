/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A growing string for text that is put together from parts. Failure is sticky: after one append that found no
 * memory, or that would pass the limit, nothing is added any more and `failed` says so; a writer therefore checks once,
 * at the end. One owner, one thread at a time.
 */
#ifndef ACCEL_CORE_BASE_STRBUF_H
#define ACCEL_CORE_BASE_STRBUF_H

#include <accel/abi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/** Read-only for users; a zeroed one is empty and has no limit. */
struct accel_strbuf {
    char *text;      /**< zero-terminated; NULL before the first append */
    size_t length;   /**< bytes of text, the zero byte not counted */
    size_t capacity; /**< bytes allocated */
    size_t limit;    /**< most that `length` may become, 0 for no limit */
    bool failed;     /**< some append was lost */
};

/** Starts an empty string of at most `limit` bytes (0: no limit). Allocates nothing. */
void accel_strbuf_init(struct accel_strbuf *buf, size_t limit);

/** Appends `bytes` bytes. */
void accel_strbuf_append(struct accel_strbuf *buf, const char *data, size_t bytes);

/** Appends a string. */
void accel_strbuf_text(struct accel_strbuf *buf, const char *text);

/** Appends one byte. */
void accel_strbuf_char(struct accel_strbuf *buf, char byte);

/** Appends formatted text. */
void accel_strbuf_printf(struct accel_strbuf *buf, const char *format, ...) ACCEL_PRINTF(2, 3);

/** As accel_strbuf_printf. */
void accel_strbuf_vprintf(struct accel_strbuf *buf, const char *format, va_list values) ACCEL_PRINTF(2, 0);

/** The text so far, never NULL, valid until the next append. */
const char *accel_strbuf_get(const struct accel_strbuf *buf);

/** Gives the text to the caller, who frees it with free(), and empties the string; NULL when it has failed. */
char *accel_strbuf_take(struct accel_strbuf *buf);

/** Frees the text. The string is empty then, has not failed, and keeps its limit. */
void accel_strbuf_free(struct accel_strbuf *buf);

#endif
