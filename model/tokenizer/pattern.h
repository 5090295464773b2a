/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of tokenizer files, run by PCRE2 with the semantics of their reference engine (Oniguruma).
 *
 * White space is Unicode's White_Space; word characters are letters, marks, numbers of the categories Nd and Nl,
 * connectors and a few more. PCRE2's own classes differ in single characters, so \s, \S, \w, \W and \b are expanded
 * when a pattern is compiled. Classes may hold classes and intersections (&&); ^ and $ match at every line. A pattern
 * is immutable and may be used by any thread; a cursor belongs to one. */
#ifndef ACCEL_MODEL_TOKENIZER_PATTERN_H
#define ACCEL_MODEL_TOKENIZER_PATTERN_H

#include <accel/error.h>

#include "model/tokenizer/buffer.h"

struct token_pattern;

/* Compiles `source`, UTF-8 of `size` bytes. `where` names it in messages. */
int32_t token_pattern_create(const char *source, size_t size, const char *where, struct token_pattern **out_pattern,
                             struct accel_error *error);

/* A pattern that matches exactly one string. */
int32_t token_pattern_create_text(const char *text, size_t size, struct token_pattern **out_pattern,
                                  struct accel_error *error);

void token_pattern_free(struct token_pattern *pattern);

/* Frees what a step of a normalizer, splitter or decoder owns: its pattern and its text. Either may be NULL. */
void token_step_free(struct token_pattern *pattern, const char *text);

/* Makes space in a list of `count` steps of `bytes` for one more, and replaces its *text, of `size`, by a copy; frees
 * the pattern on failure. */
int32_t token_step_reserve(void *items, size_t *capacity, size_t count, size_t bytes, struct token_pattern *pattern,
                           const char **text, size_t size, struct accel_error *error);

/* Iterates over the matches in a text; starts zeroed except for pattern, text and size. */
struct token_cursor {
    const struct token_pattern *pattern;
    const char *text; /* valid UTF-8 */
    size_t size;
    bool empty_matches; /* token_cursor_next also returns empty matches within the text */
    size_t at;          /* offset at which the search continues */
    void *match;        /* PCRE2's match data */
};

/* Finds the next match: *out_start < *out_end, or *out_start == size if there is none. An empty match, which only
 * `empty_matches` asks for, has 0 < *out_start == *out_end < size. */
int32_t token_cursor_next(struct token_cursor *cursor, size_t *out_start, size_t *out_end, struct accel_error *error);

/* Frees the memory of the cursor, which may be reused. */
void token_cursor_end(struct token_cursor *cursor);

#endif
