/* SPDX-License-Identifier: Apache-2.0 */
/* The character map of a SentencePiece model (precompiled_charsmap): a double array of 32-bit units that finds the
 * strings to replace, and their replacements, each ended by a zero byte. */
#ifndef ACCEL_MODEL_TOKENIZER_CHARSMAP_H
#define ACCEL_MODEL_TOKENIZER_CHARSMAP_H

#include <accel/error.h>

#include "model/tokenizer/buffer.h"

/* Refuses a map whose sizes contradict each other or whose replacements are no UTF-8; `where` names it. */
int32_t token_charsmap_check(const char *map, size_t size, const char *where, struct accel_error *error);

/* Appends `text`, which is UTF-8, with what the map replaces; false when memory ends.
 *
 * SentencePiece replaces the longest string at each place. With `graphemes` the rule is the one of tokenizer.json's
 * Precompiled: a grapheme of up to 5 bytes that begins with a string of the map becomes the replacement of the shortest
 * such string; else each of its characters does. */
bool token_charsmap_apply(const char *map, size_t size, bool graphemes, const struct token_buffer *text,
                          struct token_buffer *out);

#endif
