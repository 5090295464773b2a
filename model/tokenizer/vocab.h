/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary: spelling to id and back, and which ids are special.
 *
 * Made once, then only read, from any thread. Spellings are copied into one block. */
#ifndef ACCEL_MODEL_TOKENIZER_VOCAB_H
#define ACCEL_MODEL_TOKENIZER_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

#include "model/tokenizer/buffer.h"

#define TOKEN_PRESENT 1u  /* the id has a spelling */
#define TOKEN_SPECIAL 2u  /* left out by ACCEL_DECODE_SKIP_SPECIAL */
#define TOKEN_RESERVED 4u /* text never encodes to it: control, unknown, byte */

struct token_entry {
    size_t offset; /* of the spelling in `text` */
    uint32_t size; /* bytes */
    uint32_t flags;
};

struct token_slot {
    int32_t id;   /* -1: empty */
    uint32_t tag; /* high bits of the hash of its spelling */
};

struct token_vocab {
    struct token_entry *entries; /* [count], by id */
    size_t count;
    size_t capacity;
    struct token_buffer text;
    struct token_slot *slots; /* [slot_count]: open addressing by spelling */
    size_t slot_count;
    size_t used;
    size_t longest; /* bytes of the longest spelling */
};

/* Reserves capacity for `expected` tokens. */
bool token_vocab_init(struct token_vocab *vocab, size_t expected);
void token_vocab_free(struct token_vocab *vocab);

/* Adds a token. An id that has another spelling already, or a size over 2^31, is refused; a spelling that has an
 * id already keeps that id for lookups, and the new id gets its own text. */
int32_t token_vocab_add(struct token_vocab *vocab, int32_t id, const char *text, size_t size, uint32_t flags,
                        struct accel_error *error);

/* Returns the id of a spelling, or -1. */
int32_t token_vocab_find(const struct token_vocab *vocab, const char *text, size_t size);

/* Returns the entry of an id, or NULL if it has no token. */
const struct token_entry *token_vocab_entry(const struct token_vocab *vocab, int32_t id);

/* A map from pairs of 32-bit numbers to pairs of 32-bit numbers. */
struct token_pairs {
    uint64_t *keys;
    uint64_t *values;
    size_t slot_count;
    size_t used;
};

#define TOKEN_PAIR(high, low) ((uint64_t)(uint32_t)(high) << 32 | (uint32_t)(low))

bool token_pairs_init(struct token_pairs *pairs, size_t expected);
void token_pairs_free(struct token_pairs *pairs);

/* Sets the value of a key that is not all ones; returns false when memory ends. */
bool token_pairs_set(struct token_pairs *pairs, uint64_t key, uint64_t value);

/* Gets the value of a key; returns false if there is none. */
bool token_pairs_get(const struct token_pairs *pairs, uint64_t key, uint64_t *out_value);

#endif
