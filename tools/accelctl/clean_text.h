/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_CLEAN_TEXT_H
#define ACCELCTL_CLEAN_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Copies text for a terminal, cut to `size`: control sequences and bytes that are not UTF-8 become question marks.
 * Answers `copy`. Async-signal-safe. */
const char *clean_text(const char *text, char *copy, size_t size);

/* Writes text of a model to a terminal. Lines and tabs stay; other controls and bytes that are not UTF-8 become
 * question marks, and bidirectional controls and characters without width are left out. EOF if `out` fails. */
int write_terminal(FILE *out, const char *text, size_t bytes);

/* Ends a list with commas that was cut to `size` bytes, if its `length` is more: after the last whole item, with "...".
 * Answers `text`. */
const char *end_cut_list(char *text, size_t size, int length);

/* Returns the offset of the first byte that is not UTF-8, or the text's length. */
size_t utf8_length(const char *text);

#endif
