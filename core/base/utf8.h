/* SPDX-License-Identifier: Apache-2.0 */
/** @file UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure functions. */
#ifndef ACCEL_CORE_BASE_UTF8_H
#define ACCEL_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/** Bytes of the well-formed character at `text` (1 to 4), or 0 where it is malformed or cut off by `bytes`. */
size_t accel_utf8_char(const char *text, size_t bytes);

/** True when all of it is well formed; otherwise `out_bad` (may be NULL) is the offset of the first bad byte. */
bool accel_utf8_valid(const char *text, size_t bytes, size_t *out_bad);

/** The largest length <= limit at which `text` can be cut without splitting a character. */
size_t accel_utf8_cut(const char *text, size_t bytes, size_t limit);

/** True when all of it is well formed and may be shown as it is; otherwise `out_bad` (may be NULL) is the offset of the
 *  first bad byte. Not shown are control characters (C1 too), ends of lines and paragraphs, what turns the direction of
 *  writing, and what has no width. */
bool accel_utf8_plain(const char *text, size_t bytes, size_t *out_bad);

/** Makes a string fit for one line of a terminal, in place: what accel_utf8_plain refuses becomes '?'. */
void accel_utf8_one_line(char *text);

#endif
