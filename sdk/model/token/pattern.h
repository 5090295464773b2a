/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of tokenizer files, run by PCRE2 with the meaning that their reference (Oniguruma) gives them.
 *
 * White space is Unicode's White_Space and word characters are letters, marks, decimal digits and connectors; PCRE2's
 * own classes differ in single characters, so \s, \S, \w and \W are written out when a pattern is compiled. A pattern
 * is immutable and may be used by any thread; a cursor belongs to one. */
#ifndef ACCEL_MODEL_TOKEN_PATTERN_H
#define ACCEL_MODEL_TOKEN_PATTERN_H

#include "sdk/model/token/buffer.h"

#include <accel/error.h>

struct token_pattern;

/* Compiles `source`, UTF-8 of `size` bytes. `where` names it in messages. */
int32_t token_pattern_create(const char *source, size_t size, const char *where, struct token_pattern **out_pattern,
                             struct accel_error *error);

/* A pattern that matches exactly one string. */
int32_t token_pattern_create_text(const char *text, size_t size, struct token_pattern **out_pattern,
                                  struct accel_error *error);

void token_pattern_free(struct token_pattern *pattern);

/* Iterates over the matches in a text; begins as zeros apart from pattern, text and size. */
struct token_cursor {
    const struct token_pattern *pattern;
    const char *text; /* valid UTF-8 */
    size_t size;
    size_t at;   /* where the search goes on */
    void *match; /* PCRE2's match data */
};

/* Finds the next match that is not empty: *out_start < *out_end, or *out_start == size when there is none. */
int32_t token_cursor_next(struct token_cursor *cursor, size_t *out_start, size_t *out_end, struct accel_error *error);

/* Frees what the cursor holds; it may be begun again. */
void token_cursor_end(struct token_cursor *cursor);

#endif
