/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the tokens of a session's sequences lie in the slots of its caches: pages of a fixed number of tokens, a table
 * of pages for each sequence, a list of free pages. Nothing here touches what the slots hold.
 *
 * A place is the index of a token among those that its sequence caches; its slot is table[place / page] * page +
 * place % page. Tokens leave from the middle of a sequence by whole pages: the table closes up, nothing moves. Pages
 * may be shared by sequences that were forked; one that is written has to be owned first. Nothing allocates after
 * kv_create. One thread at a time.
 */
#ifndef ACCEL_SDK_MODEL_SESSION_KV_H
#define ACCEL_SDK_MODEL_SESSION_KV_H

#include <accel/error.h>

/* A sequence. Its places hold positions that grow from place to place, one by one unless tokens were pruned. */
struct kv_sequence {
    int32_t *table;    /* [pages_each] */
    int32_t *position; /* of each place [context] */
    int32_t *sinks;    /* ids of the first tokens [sinks] */
    float *mass;       /* of each place [context], where the session prunes by usage, else NULL */
    uint64_t length;   /* tokens that are cached */
    uint32_t pages;    /* in the table */
    uint32_t is_open;
};

struct kv {
    uint64_t page;    /* tokens of a page */
    uint64_t context; /* most tokens that a sequence caches at the same time */
    uint32_t pages_each;
    uint32_t pages; /* in all */
    uint32_t sinks; /* first tokens of a sequence that never leave */
    uint32_t count; /* sequences */
    struct kv_sequence *sequences;
    uint32_t *users; /* [pages]: sequences that have the page in their table */
    int32_t *free;   /* [pages]: a stack */
    uint32_t free_count;
    uint32_t zero;
};

/* A page that has to be copied before it is written: slots `from` .. `from` + page to `to` .. */
struct kv_copy {
    uint64_t from;
    uint64_t to;
    uint64_t count; /* slots; 0: nothing to copy */
};

/* `with_mass`: 1 gives each sequence its list of masses. Every sequence is closed. */
int32_t kv_create(struct kv *kv, uint32_t sequences, uint64_t page, uint64_t context, uint32_t sinks,
                  uint32_t with_mass, struct accel_error *error);
void kv_free(struct kv *kv);

/* Tokens that pages of `page` have to hold for a step of `batch`, each of which sees `window` tokens up to itself and
 * the first `sinks`: those of whole pages, some of whose first ones nobody sees any more. */
uint64_t kv_room(uint64_t page, uint64_t window, uint64_t sinks, uint64_t batch);

/* The place behind the pages that the sinks begin in: what leaves a sequence leaves from there on. */
uint64_t kv_kept(const struct kv *kv);

/* Slots in all. */
uint64_t kv_slots(uint32_t sequences, uint64_t page, uint64_t context);

static inline uint64_t kv_slot(const struct kv *kv, const struct kv_sequence *sequence, uint64_t place)
{
    return (uint64_t)sequence->table[place / kv->page] * kv->page + place % kv->page;
}

/* The position of the next token. */
static inline int32_t kv_next(const struct kv_sequence *sequence)
{
    return sequence->length == 0 ? 0 : sequence->position[sequence->length - 1] + 1;
}

/* Takes pages until `length` tokens have one. ACCEL_E_LIMIT where the sequence or the caches are full; pages that were
 * taken stay. */
int32_t kv_reserve(struct kv *kv, struct kv_sequence *sequence, uint64_t length, struct accel_error *error);

/* Makes the page that holds `place` the sequence's own, before it is written; *out_copy says what to copy for it. */
int32_t kv_own(struct kv *kv, struct kv_sequence *sequence, uint64_t place, struct kv_copy *out_copy,
               struct accel_error *error);

/* Forgets the tokens past the first `length`. */
void kv_truncate(struct kv *kv, struct kv_sequence *sequence, uint64_t length);

/* Forgets `count` tokens from `place` on, whole pages. The places behind them move down; positions stay. */
void kv_drop(struct kv *kv, struct kv_sequence *sequence, uint64_t place, uint64_t count);

/* Adds what a step of `tokens` gave each place, after what was given before has faded: by half in as many tokens as
 * half of the context has. `scale` makes it a mean over heads and layers. */
void kv_add_mass(const struct kv *kv, struct kv_sequence *sequence, uint64_t tokens, const float *mass, float scale);

/* Forgets `count` tokens one by one, pages being of one token: of those before the newer half and behind the sinks, the
 * one that was attended to the least. */
void kv_drop_unused(struct kv *kv, struct kv_sequence *sequence, uint64_t count);

/* The first `length` tokens of one sequence become those of another one, which is empty: pages are shared. */
void kv_share(struct kv *kv, const struct kv_sequence *from, uint64_t length, struct kv_sequence *to);

#endif
