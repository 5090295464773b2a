/* SPDX-License-Identifier: Apache-2.0 */
/* Byte-pair merging: the pair with the lowest rank first, the leftmost of equals, until no pair is left.
 *
 * Two rules of what a pair is. By merges: two neighbouring ids that the list of merges joins, ranked by their place in
 * it (tokenizer.json, GGUF "gpt2"). By score: two neighbouring texts that joined are a token, ranked by the token's
 * score (GGUF "llama", SentencePiece). Symbols form a linked list and candidates a heap: O(n log n). */
#ifndef ACCEL_MODEL_TOKENIZER_BPE_H
#define ACCEL_MODEL_TOKENIZER_BPE_H

#include <accel/model/tokenizer.h>

#include "model/tokenizer/vocab.h"

struct token_bpe {
    bool by_score;
    bool byte_fallback;  /* a character without a token becomes its bytes, spelt <0xNN> */
    bool fuse_unk;       /* neighbouring unknown characters become one unknown token */
    bool ignore_merges;  /* a whole word that is a token is that token */
    bool whole_newlines; /* so for words that begin with a newline */
    int32_t unk;         /* -1: unknown characters without bytes vanish, as the reference has it */
    int32_t bytes[256];  /* id of each <0xNN>, or -1 */
    uint32_t *ranks; /* by_score: [vocab->count], 0 is the best score; UINT32_MAX for tokens that text cannot make */
    struct token_pairs merges; /* else: (left id, right id) -> (rank, joined id) */
    char *prefix;              /* continuing_subword_prefix, of every character but the first; "" for none */
    char *suffix;              /* end_of_word_suffix, of the last character; "" for none */
};

/* Scratch of one call; begins as zeros. */
struct token_bpe_work {
    struct token_bpe_symbol *symbols;
    struct token_bpe_candidate *heap;
    size_t symbol_count, symbol_capacity;
    size_t heap_count, heap_capacity;
    struct token_buffer spelling;
};

void token_bpe_init(struct token_bpe *bpe);
void token_bpe_free(struct token_bpe *bpe);
void token_bpe_work_free(struct token_bpe_work *work);

/* Finds the ids of <0x00> to <0xFF>, -1 where there is none. */
void token_find_bytes(int32_t bytes[256], const struct token_vocab *vocab);

/* Ranks tokens by score, high to low; equal scores share a rank. `scores` is [vocab->count]. */
int32_t token_bpe_set_scores(struct token_bpe *bpe, const struct token_vocab *vocab, const float *scores,
                             struct accel_error *error);

/* Adds merge number `rank`; both parts and their join must be tokens. */
int32_t token_bpe_add_merge(struct token_bpe *bpe, const struct token_vocab *vocab, size_t rank, const char *left,
                            size_t left_size, const char *right, size_t right_size, struct accel_error *error);

/* Appends the ids of one word of valid UTF-8, below 2^31 bytes. */
int32_t token_bpe_word(const struct token_bpe *bpe, const struct token_vocab *vocab, struct token_bpe_work *work,
                       const char *word, size_t size, struct accel_token_list *list, struct accel_error *error);

/* Appends one id; false when memory ends. */
bool token_list_append(struct accel_token_list *list, int32_t id);

#endif
