/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_CLEAN_TEXT_H
#define ACCELCTL_CLEAN_TEXT_H

#include <stddef.h>

/* Copies text for a terminal, cut to `size`: what would be a command to it, and what is no UTF-8, becomes a question
 * mark. Answers `copy`. May be called in a handler of a signal. */
const char *clean_text(const char *text, char *copy, size_t size);

/* The offset of the first byte that is no UTF-8, or of the text's end. */
size_t utf8_length(const char *text);

#endif
