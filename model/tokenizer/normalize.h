/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizers: rewrite a text before it is split. Each tokenizer has a list that runs in order; a Sequence of the file
 * is flattened into it. Immutable once made; any thread. */
#ifndef ACCEL_MODEL_TOKENIZER_NORMALIZE_H
#define ACCEL_MODEL_TOKENIZER_NORMALIZE_H

#include "model/tokenizer/pattern.h"

enum token_normalizer_kind {
    TOKEN_NORMALIZE_FORM,       /* NFC, NFD, NFKC, NFKD: `form` is utf8proc's options */
    TOKEN_NORMALIZE_LOWER,      /* per character, without a special rule for final sigma */
    TOKEN_NORMALIZE_PREPEND,    /* `text` before a text that is not empty */
    TOKEN_NORMALIZE_REPLACE,    /* every match of `pattern` becomes `text` */
    TOKEN_NORMALIZE_STRIP,      /* white space at the left and right */
    TOKEN_NORMALIZE_ACCENTS,    /* drop marks (category M) */
    TOKEN_NORMALIZE_BYTES,      /* every byte becomes its printable character */
    TOKEN_NORMALIZE_CLEAN,      /* BERT: drop control characters, make white space blanks */
    TOKEN_NORMALIZE_HAN,        /* BERT: blanks around each ideograph */
    TOKEN_NORMALIZE_NONSPACING, /* drop nonspacing marks (category Mn) */
    TOKEN_NORMALIZE_CHARSMAP,   /* the map `text`, checked before; `left`: by graphemes */
};

struct token_normalizer {
    enum token_normalizer_kind kind;
    int form;
    bool left, right; /* STRIP: the sides */
    struct token_pattern *pattern;
    const char *text;
    size_t text_size;
};

struct token_normalizers {
    struct token_normalizer *items; /* [count] */
    size_t count, capacity;
};

/* Adds a step with a copy of its text; takes over its pattern, on failure too. */
int32_t token_normalizers_add(struct token_normalizers *list, struct token_normalizer step, struct accel_error *error);
void token_normalizers_free(struct token_normalizers *list);

/* Rewrites `text`, which holds valid UTF-8 before and after. */
int32_t token_normalize(const struct token_normalizers *list, struct token_buffer *text, struct accel_error *error);

/* Appends every match of a pattern in [text, size) as `with` and everything else as it is. */
int32_t token_replace(const struct token_pattern *pattern, const char *text, size_t size, const char *with,
                      size_t with_size, struct token_buffer *out, struct accel_error *error);

/* Returns the byte that a printable character of a byte-level vocabulary (GPT-2's table) stands for, or -1. */
int token_character_byte(uint32_t code);

/* Appends bytes as their printable characters; false when memory ends. */
bool token_append_bytes(struct token_buffer *out, const char *text, size_t size);

#endif
