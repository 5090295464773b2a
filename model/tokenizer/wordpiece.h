/* SPDX-License-Identifier: Apache-2.0 */
/* WordPiece tokens: the longest token at the beginning of a word, then the longest with a prefix ("##") at what is
 * left. A word with a place where none fits is one unknown token. Immutable once made; any thread. */
#ifndef ACCEL_MODEL_TOKENIZER_WORDPIECE_H
#define ACCEL_MODEL_TOKENIZER_WORDPIECE_H

#include <accel/model/tokenizer.h>

#include "model/tokenizer/trie.h"

struct token_wordpiece {
    struct token_trie trie;
    char *prefix;          /* of every token but the first of a word */
    size_t max_characters; /* a longer word is unknown */
    int32_t unk;           /* -1: an unknown word is an error */
};

void token_wordpiece_free(struct token_wordpiece *wordpiece);

/* Appends the ids of one word of valid UTF-8. */
int32_t token_wordpiece_word(const struct token_wordpiece *wordpiece, const char *word, size_t size,
                             struct accel_token_list *list, struct accel_error *error);

#endif
