/* SPDX-License-Identifier: Apache-2.0 */
/** @file UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure functions. */
#ifndef ACCEL_CORE_BASE_UTF8_H
#define ACCEL_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/** Returns the bytes of the well-formed character at `text` (1 to 4); 0 if `bytes` cut it off or it is malformed. */
size_t accel_utf8_char(const char *text, size_t bytes);

/** Returns whether all bytes are well formed; else `out_bad` (may be NULL) is the offset of the first bad byte. */
bool accel_utf8_valid(const char *text, size_t bytes, size_t *out_bad);

/** Returns the largest length <= limit at which `text` can be cut without splitting a character. */
size_t accel_utf8_cut(const char *text, size_t bytes, size_t limit);

/** Returns whether all bytes are well formed and printable; otherwise `out_bad` (may be NULL) is the offset of the
 * first bad byte. Control characters (C1 too), line and paragraph separators, characters that change the direction
 * of writing, and characters without width are not printable. */
bool accel_utf8_plain(const char *text, size_t bytes, size_t *out_bad);

/** Sanitizes a string for one line of a terminal, in place: characters that accel_utf8_plain rejects become '?'. */
void accel_utf8_one_line(char *text);

#endif
