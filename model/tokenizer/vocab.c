/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/vocab.h"

#include <stdlib.h>
#include <string.h>

#define NO_KEY UINT64_MAX

/* Computes FNV-1a with a final mix of the bits, since the tables use the low bits. A crafted file with colliding
 * spellings loads slowly; this is harmless, since a crafted file can be slow in simpler ways. */
static uint64_t hash_text(const char *text, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static uint64_t hash_number(uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;
    key ^= key >> 29;
    key *= 0xbf58476d1ce4e5b9u;
    return key ^ key >> 32;
}

/* Returns the number of slots that holds `expected` entries at most half full. */
static size_t slots_for(size_t expected)
{
    size_t slots = 16;

    while (slots / 2 < expected && slots < SIZE_MAX / 64)
        slots *= 2;
    return slots;
}

/* Finds the slot of a spelling, or an empty one. Entries and spellings lie apart, so only those of the same tag are
 * read. */
static size_t find_slot(const struct token_vocab *vocab, uint64_t hash, const char *text, size_t size)
{
    size_t mask = vocab->slot_count - 1;
    size_t slot = (size_t)hash & mask;

    for (; vocab->slots[slot].id >= 0; slot = (slot + 1) & mask) {
        const struct token_entry *entry = &vocab->entries[vocab->slots[slot].id];

        if (vocab->slots[slot].tag == (uint32_t)(hash >> 32) && entry->size == size &&
            memcmp(vocab->text.data + entry->offset, text, size) == 0)
            return slot;
    }
    return slot;
}

static bool rehash(struct token_vocab *vocab, size_t slot_count)
{
    struct token_slot *old = vocab->slots;
    size_t old_count = vocab->slot_count;
    struct token_slot *slots = malloc(slot_count * sizeof(*slots));

    if (slots == NULL)
        return false;
    memset(slots, 0xff, slot_count * sizeof(*slots));
    vocab->slots = slots;
    vocab->slot_count = slot_count;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i].id >= 0) {
            const struct token_entry *entry = &vocab->entries[old[i].id];
            const char *text = vocab->text.data + entry->offset;

            slots[find_slot(vocab, hash_text(text, entry->size), text, entry->size)] = old[i];
        }
    }
    free(old);
    return true;
}

bool token_vocab_init(struct token_vocab *vocab, size_t expected)
{
    memset(vocab, 0, sizeof(*vocab));
    /* Spellings are identified by their offset, so the text is allocated even while all of them are empty. */
    return token_buffer_reserve(&vocab->text, 1) && rehash(vocab, slots_for(expected));
}

void token_vocab_free(struct token_vocab *vocab)
{
    free(vocab->entries);
    free(vocab->slots);
    token_buffer_free(&vocab->text);
    memset(vocab, 0, sizeof(*vocab));
}

/* Grows the entries up to `id`; new entries have no token. */
static bool reach(struct token_vocab *vocab, int32_t id)
{
    size_t count = (size_t)id + 1;

    if (count <= vocab->count)
        return true;
    if (!token_array_grow(&vocab->entries, &vocab->capacity, count, sizeof(*vocab->entries)))
        return false;
    memset(vocab->entries + vocab->count, 0, (count - vocab->count) * sizeof(*vocab->entries));
    vocab->count = count;
    return true;
}

int32_t token_vocab_add(struct token_vocab *vocab, int32_t id, const char *text, size_t size, uint32_t flags,
                        struct accel_error *error)
{
    const uint64_t hash = hash_text(text, size);
    struct token_entry *entry;
    size_t slot;

    if (id < 0 || size > INT32_MAX)
        return accel_error_set(error, ACCEL_E_CORRUPT, "token id %d with a spelling of %zu bytes", (int)id, size);
    if (!reach(vocab, id) || (vocab->used >= vocab->slot_count / 2 && !rehash(vocab, vocab->slot_count * 2)))
        return accel_error_no_memory(error, "for %zu tokens", vocab->count);
    entry = &vocab->entries[id];
    if ((entry->flags & TOKEN_PRESENT) != 0) {
        bool same = entry->size == size && memcmp(vocab->text.data + entry->offset, text, size) == 0;

        if (!same)
            return accel_error_set(error, ACCEL_E_CORRUPT, "id %d is given to two tokens, \"%.*s\" and \"%.*s\"",
                                   (int)id, (int)entry->size, vocab->text.data + entry->offset, (int)size, text);
        entry->flags |= flags;
        return ACCEL_OK;
    }
    entry->offset = vocab->text.size;
    if (!token_buffer_append(&vocab->text, text, size))
        return accel_error_no_memory(error, "for %zu tokens", vocab->count);
    entry->size = (uint32_t)size;
    entry->flags = flags | TOKEN_PRESENT;
    if (size > vocab->longest)
        vocab->longest = size;
    slot = find_slot(vocab, hash, text, size);
    if (vocab->slots[slot].id < 0) {
        vocab->slots[slot] = (struct token_slot){id, (uint32_t)(hash >> 32)};
        vocab->used++;
    }
    return ACCEL_OK;
}

int32_t token_vocab_find(const struct token_vocab *vocab, const char *text, size_t size)
{
    if (size > vocab->longest)
        return -1;
    return vocab->slots[find_slot(vocab, hash_text(text, size), text, size)].id;
}

const struct token_entry *token_vocab_entry(const struct token_vocab *vocab, int32_t id)
{
    if (id < 0 || (size_t)id >= vocab->count || (vocab->entries[id].flags & TOKEN_PRESENT) == 0)
        return NULL;
    return &vocab->entries[id];
}

static size_t pair_slot(const struct token_pairs *pairs, uint64_t key)
{
    size_t mask = pairs->slot_count - 1;
    size_t slot = (size_t)hash_number(key) & mask;

    while (pairs->keys[slot] != NO_KEY && pairs->keys[slot] != key)
        slot = (slot + 1) & mask;
    return slot;
}

bool token_pairs_init(struct token_pairs *pairs, size_t expected)
{
    memset(pairs, 0, sizeof(*pairs));
    pairs->slot_count = slots_for(expected);
    pairs->keys = malloc(pairs->slot_count * sizeof(*pairs->keys));
    pairs->values = malloc(pairs->slot_count * sizeof(*pairs->values));
    if (pairs->keys == NULL || pairs->values == NULL) {
        token_pairs_free(pairs);
        return false;
    }
    memset(pairs->keys, 0xff, pairs->slot_count * sizeof(*pairs->keys));
    return true;
}

void token_pairs_free(struct token_pairs *pairs)
{
    free(pairs->keys);
    free(pairs->values);
    memset(pairs, 0, sizeof(*pairs));
}

static bool grow_pairs(struct token_pairs *pairs)
{
    struct token_pairs larger;

    if (!token_pairs_init(&larger, pairs->slot_count))
        return false;
    for (size_t i = 0; i < pairs->slot_count; i++) {
        if (pairs->keys[i] != NO_KEY) {
            size_t slot = pair_slot(&larger, pairs->keys[i]);

            larger.keys[slot] = pairs->keys[i];
            larger.values[slot] = pairs->values[i];
        }
    }
    larger.used = pairs->used;
    token_pairs_free(pairs);
    *pairs = larger;
    return true;
}

bool token_pairs_set(struct token_pairs *pairs, uint64_t key, uint64_t value)
{
    size_t slot;

    if (pairs->used >= pairs->slot_count / 2 && !grow_pairs(pairs))
        return false;
    slot = pair_slot(pairs, key);
    if (pairs->keys[slot] == NO_KEY)
        pairs->used++;
    pairs->keys[slot] = key;
    pairs->values[slot] = value;
    return true;
}

bool token_pairs_get(const struct token_pairs *pairs, uint64_t key, uint64_t *out_value)
{
    size_t slot;

    if (pairs->slot_count == 0)
        return false;
    slot = pair_slot(pairs, key);
    if (pairs->keys[slot] == NO_KEY)
        return false;
    *out_value = pairs->values[slot];
    return true;
}
