/* SPDX-License-Identifier: Apache-2.0 */
/** @file A growing string that is assembled from parts. Failure is sticky: after one append without memory or beyond
 * the limit, nothing is appended any more and `failed` is set; a writer therefore checks once, at the end. One owner,
 * one thread at a time. */
#ifndef ACCEL_CORE_BASE_STRBUF_H
#define ACCEL_CORE_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/abi.h>

/** Read-only for users; a zeroed struct is empty and has no limit. */
struct accel_strbuf {
    char *text;      /**< zero-terminated; NULL before the first append */
    size_t length;   /**< bytes of text, the zero byte not counted */
    size_t capacity; /**< bytes allocated */
    size_t limit;    /**< maximum of `length`, 0: no limit */
    bool failed;     /**< an append was lost */
};

/** Initializes an empty string of at most `limit` bytes (0: no limit). Allocates nothing. */
void accel_strbuf_init(struct accel_strbuf *buf, size_t limit);

/** Appends `bytes` bytes; `data` may be NULL if `bytes` is 0. */
void accel_strbuf_append(struct accel_strbuf *buf, const void *data, size_t bytes);

/** Appends a string. */
void accel_strbuf_text(struct accel_strbuf *buf, const char *text);

/** Length of a NULL text in accel_strbuf_counted. */
#define ACCEL_STRBUF_NO_TEXT 0xffffffffu

/** Appends the length of a text as a 32-bit number of this machine, and its bytes; NULL and "" are distinct. */
void accel_strbuf_counted(struct accel_strbuf *buf, const char *text);

/** Appends one byte. */
void accel_strbuf_char(struct accel_strbuf *buf, char byte);

/** Appends a string as JSON (RFC 8259), quoted and escaped; malformed UTF-8 becomes U+FFFD. */
void accel_strbuf_json(struct accel_strbuf *buf, const char *text);

/** Appends formatted text. */
void accel_strbuf_printf(struct accel_strbuf *buf, const char *format, ...) ACCEL_PRINTF(2, 3);

/** Appends formatted text, see accel_strbuf_printf. */
void accel_strbuf_vprintf(struct accel_strbuf *buf, const char *format, va_list values) ACCEL_PRINTF(2, 0);

/** Returns the text so far, never NULL, valid until the next append. */
const char *accel_strbuf_get(const struct accel_strbuf *buf);

/** Transfers the text to the caller, who frees it with free(), and empties the string; NULL after a failure. */
char *accel_strbuf_detach(struct accel_strbuf *buf);

/** Frees the text. The string is empty then, has not failed, and keeps its limit. */
void accel_strbuf_free(struct accel_strbuf *buf);

#endif
