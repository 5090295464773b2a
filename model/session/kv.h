/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the tokens of sequences to slots of the KV cache: pages of a fixed number of tokens, a page table for each
 * sequence, a list of free pages. This module never touches the cached data.
 *
 * A place is the index of a token among the cached tokens of its sequence; its slot is table[place / page] * page +
 * place % page. Tokens leave the middle of a sequence by whole pages: the table closes up, no data moves. Forked
 * sequences share pages; a shared page must be owned before it is written. Nothing allocates after kv_create. Not
 * thread-safe.
 */
#ifndef ACCEL_MODEL_SESSION_KV_H
#define ACCEL_MODEL_SESSION_KV_H

#include <stdbool.h>

#include <accel/error.h>

/* A sequence. Positions increase from place to place, by one unless tokens were pruned. */
struct kv_sequence {
    int32_t *table;    /* [pages_each] */
    int32_t *position; /* of each place [context] */
    int32_t *sinks;    /* ids of the first tokens [sinks] */
    float *score_sum;  /* attention score sum of each place [context] with kv.prune=usage, else NULL */
    uint64_t length;   /* cached tokens */
    int64_t text;      /* number of the text that is generated, for measurements; -1: none */
    uint32_t pages;    /* in the table */
    bool is_open;
};

struct kv {
    uint64_t page;    /* tokens of a page */
    uint64_t context; /* most cached tokens of a sequence */
    uint32_t pages_each;
    uint32_t pages; /* in all */
    uint32_t sinks; /* first tokens of a sequence, which never leave */
    uint32_t count; /* sequences */
    struct kv_sequence *sequences;
    uint32_t *users; /* [pages]: number of sequences whose table has the page */
    int32_t *free;   /* [pages]: a stack */
    uint32_t free_count;
    uint32_t zero;
};

/* A page to copy before it is written: slots `from` .. `from` + page to `to` .. */
struct kv_copy {
    uint64_t from;
    uint64_t to;
    uint64_t count; /* slots; 0: nothing to copy */
};

/* Creates closed sequences. `with_scores`: 1 gives each one attention score sums. */
int32_t kv_create(struct kv *kv, uint32_t sequences, uint64_t page, uint64_t context, uint32_t sinks,
                  uint32_t with_scores, struct accel_error *error);
void kv_free(struct kv *kv);

/* Returns the KV capacity for steps of `batch` tokens, each of which attends to the last `window` tokens and to the
 * first `sinks`: whole pages, so that the first page of a window may be partly unused. */
uint64_t kv_capacity(uint64_t page, uint64_t window, uint64_t sinks, uint64_t batch);

/* Returns the first place after the pages of the sinks: tokens are dropped from there on. */
uint64_t kv_sinks_end(const struct kv *kv);

/* Returns the number of slots of the cache. */
uint64_t kv_slots(uint32_t sequences, uint64_t page, uint64_t context);

static inline uint64_t kv_slot(const struct kv *kv, const struct kv_sequence *sequence, uint64_t place)
{
    return (uint64_t)sequence->table[place / kv->page] * kv->page + place % kv->page;
}

/* Returns the position of the next token. */
static inline int32_t kv_next(const struct kv_sequence *sequence)
{
    return sequence->length == 0 ? 0 : sequence->position[sequence->length - 1] + 1;
}

/* Allocates pages for `length` tokens. ACCEL_E_LIMIT if the sequence or the cache is full; pages allocated before the
 * failure stay. */
int32_t kv_reserve(struct kv *kv, struct kv_sequence *sequence, uint64_t length, struct accel_error *error);

/* Makes the page of `place` private to the sequence before a write; *out_copy describes the copy this needs. */
int32_t kv_own(struct kv *kv, struct kv_sequence *sequence, uint64_t place, struct kv_copy *out_copy,
               struct accel_error *error);

/* Drops the tokens after the first `length`. */
void kv_truncate(struct kv *kv, struct kv_sequence *sequence, uint64_t length);

/* Drops `count` tokens from `place` on, whole pages. Later places move down; positions stay. */
void kv_drop(struct kv *kv, struct kv_sequence *sequence, uint64_t place, uint64_t count);

/* Adds the attention scores of a step of `tokens` tokens to the sums, which first decay: by half in context / 2 tokens.
 * `scale` turns the scores into a mean over heads and layers. */
void kv_add_scores(const struct kv *kv, struct kv_sequence *sequence, uint64_t tokens, const float *scores,
                   float scale);

/* Drops `count` tokens one by one (pages of one token): each time the one with the lowest attention score sum among the
 * older half behind the sinks, and outside of the next query's window of `window` tokens (0: none) if the rest
 * suffices. */
void kv_drop_unused(struct kv *kv, struct kv_sequence *sequence, uint64_t window, uint64_t count);

/* Shares the pages of the first `length` tokens of a sequence with an empty one. */
void kv_share(struct kv *kv, const struct kv_sequence *from, uint64_t length, struct kv_sequence *to);

#endif
