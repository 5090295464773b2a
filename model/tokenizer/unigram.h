/* SPDX-License-Identifier: Apache-2.0 */
/* Unigram tokens: of all ways to cut a word into tokens, the one with the highest sum of scores (Viterbi's search).
 *
 * A character that begins no token of its own is unknown, at a score of 10 below the worst token. Neighbouring unknown
 * characters become one unknown token, or their bytes. Immutable once made; any thread. */
#ifndef ACCEL_MODEL_TOKENIZER_UNIGRAM_H
#define ACCEL_MODEL_TOKENIZER_UNIGRAM_H

#include <accel/model/tokenizer.h>

#include "model/tokenizer/trie.h"

struct token_unigram {
    struct token_trie trie;
    double *scores;     /* [number of ids of the trie's vocabulary when it was made] */
    double unk_score;   /* of one unknown character */
    int32_t unk;        /* -1: an unknown character is an error */
    bool byte_fallback; /* unknown characters become bytes, spelt <0xNN>, if all of them have tokens */
    int32_t bytes[256]; /* id of each <0xNN>, or -1 */
};

/* Scratch of one call; begins as zeros. */
struct token_unigram_work {
    struct token_unigram_node *nodes;
    size_t capacity;
};

/* Makes the search over the spellings of `vocab` without the flags `without`. `scores` is [vocab->count]; `where` names
 * it in messages. */
int32_t token_unigram_init(struct token_unigram *unigram, const struct token_vocab *vocab, uint32_t without,
                           const double *scores, const char *where, struct accel_error *error);
void token_unigram_free(struct token_unigram *unigram);
void token_unigram_work_free(struct token_unigram_work *work);

/* Appends the ids of one word of valid UTF-8, below 2^31 bytes. */
int32_t token_unigram_word(const struct token_unigram *unigram, struct token_unigram_work *work, const char *word,
                           size_t size, struct accel_token_list *list, struct accel_error *error);

#endif
