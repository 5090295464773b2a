/* SPDX-License-Identifier: Apache-2.0 */
/** @file Checks that texts of drivers are UTF-8 that a terminal may print; reads the clock. */
#ifndef ACCEL_SDK_CONFORM_TEXT_H
#define ACCEL_SDK_CONFORM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Returns whether the text is well-formed and has no control, directional or invisible character; else *out_bad is
 *  the offset of the first bad byte. */
bool text_is_plain(const char *text, size_t *out_bad);

/** Replaces, in place, each character that text_is_plain refuses by '?'. */
void text_make_plain(char *text);

/** Returns the nanoseconds of the monotonic clock. */
uint64_t clock_now(void);

#endif
