/* SPDX-License-Identifier: Apache-2.0 */
/* Pre-tokenizers: split a text into words, which byte-pair merging never joins, and rewrite the words if the file
 * requires it.
 *
 * Each tokenizer has a list of steps that runs in order; a Sequence of the file is flattened into it. Immutable;
 * any thread. */
#ifndef ACCEL_MODEL_TOKENIZER_SPLIT_H
#define ACCEL_MODEL_TOKENIZER_SPLIT_H

#include "model/tokenizer/normalize.h"

enum token_splitter_kind {
    TOKEN_SPLIT_PATTERN,     /* at the matches of `pattern` */
    TOKEN_SPLIT_DIGITS,      /* at characters of category N */
    TOKEN_SPLIT_PUNCTUATION, /* at ASCII punctuation and category P */
    TOKEN_SPLIT_SPACE,       /* at white space */
    TOKEN_SPLIT_MARK,        /* Metaspace: blanks become `text`, which may be put first; cut before each */
    TOKEN_SPLIT_BYTES,       /* ByteLevel: every byte becomes its printable character */
};

/* Placement of the delimiters after a split. */
enum token_splitter_behavior {
    TOKEN_REMOVED,
    TOKEN_ISOLATED,
    TOKEN_MERGED_WITH_PREVIOUS,
    TOKEN_MERGED_WITH_NEXT,
    TOKEN_CONTIGUOUS,
};

enum token_prefix_rule {
    TOKEN_PREFIX_NEVER,
    TOKEN_PREFIX_FIRST,  /* only at the start of the text */
    TOKEN_PREFIX_ALWAYS, /* before every piece */
};

struct token_splitter {
    enum token_splitter_kind kind;
    enum token_splitter_behavior behavior;
    enum token_prefix_rule prefix; /* MARK: the mark; BYTES: a blank */
    bool invert;                   /* the matches are words, and the text between them is a delimiter */
    bool cut;                      /* MARK: cut before each mark */
    struct token_pattern *pattern; /* PATTERN; MARK: the mark itself */
    const char *text;              /* MARK: the mark */
    size_t text_size;
};

struct token_splitters {
    struct token_splitter *items; /* [count] */
    size_t count, capacity;
};

struct token_range {
    size_t start, end; /* bytes of the text */
    bool first;        /* lies at the start of the text to encode */
};

/* A text and its pieces, in order; starts zeroed. */
struct token_pieces {
    struct token_buffer text;
    struct token_range *ranges; /* [count] */
    size_t count, capacity;
};

void token_pieces_free(struct token_pieces *pieces);

/* Adds a piece unless it is empty; false when memory ends. */
bool token_pieces_add(struct token_pieces *pieces, size_t start, size_t end, bool first);

/* Adds a step with a copy of its text; takes over its pattern, on failure too. */
int32_t token_splitters_add(struct token_splitters *list, struct token_splitter step, struct accel_error *error);
void token_splitters_free(struct token_splitters *list);

/* Runs the steps over the pieces. */
int32_t token_split(const struct token_splitters *list, struct token_pieces *pieces, struct accel_error *error);

/* The splitting rule of GPT-2, which ByteLevel applies unless its use_regex is false. */
extern const char token_gpt2_rule[];

#endif
