/* SPDX-License-Identifier: Apache-2.0 */
/* A prefix search over spellings of a vocabulary: their ids in order of the bytes, narrowed byte by byte.
 *
 * Made once, then only read, from any thread. It refers to the texts of the vocabulary, which may grow. */
#ifndef ACCEL_MODEL_TOKENIZER_TRIE_H
#define ACCEL_MODEL_TOKENIZER_TRIE_H

#include "model/tokenizer/vocab.h"

struct token_trie {
    const struct token_vocab *vocab;
    int32_t *ids; /* [count], by spelling */
    size_t count;
    size_t first[257]; /* ids[first[byte]] to ids[first[byte + 1]] begin with the byte */
};

/* The spellings that begin with the bytes so far. */
struct token_prefix {
    size_t low, high; /* of trie->ids */
    size_t size;      /* bytes */
};

/* Collects the spellings that are not empty and have none of the flags `without`; false when memory ends. */
bool token_trie_init(struct token_trie *trie, const struct token_vocab *vocab, uint32_t without);
void token_trie_free(struct token_trie *trie);

/* Extends a prefix, which starts zeroed, by one byte; false if no spelling begins so. */
bool token_trie_step(const struct token_trie *trie, struct token_prefix *prefix, unsigned char byte);

/* The id of the spelling that is the prefix itself, or -1. */
int32_t token_trie_id(const struct token_trie *trie, const struct token_prefix *prefix);

#endif
