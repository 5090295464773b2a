/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/trie.h"

#include <stdlib.h>
#include <string.h>

struct spelling {
    const char *text;
    size_t size;
    int32_t id;
};

static int compare_spellings(const void *left, const void *right)
{
    const struct spelling *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);

    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

bool token_trie_init(struct token_trie *trie, const struct token_vocab *vocab, uint32_t without)
{
    struct spelling *spellings = malloc((vocab->count + 1) * sizeof(*spellings));

    memset(trie, 0, sizeof(*trie));
    trie->vocab = vocab;
    trie->ids = malloc((vocab->count + 1) * sizeof(*trie->ids));
    if (spellings == NULL || trie->ids == NULL) {
        free(spellings);
        token_trie_free(trie);
        return false;
    }
    for (size_t i = 0; i < vocab->count; i++) {
        const struct token_entry *entry = &vocab->entries[i];
        const char *text = vocab->text.data + entry->offset;

        /* A spelling of two ids is encoded as the first of them. */
        if ((entry->flags & TOKEN_PRESENT) != 0 && (entry->flags & without) == 0 && entry->size > 0 &&
            token_vocab_find(vocab, text, entry->size) == (int32_t)i)
            spellings[trie->count++] = (struct spelling){.text = text, .size = entry->size, .id = (int32_t)i};
    }
    qsort(spellings, trie->count, sizeof(*spellings), compare_spellings);
    for (size_t i = 0; i < trie->count; i++) {
        trie->ids[i] = spellings[i].id;
        trie->first[(unsigned char)spellings[i].text[0] + 1]++;
    }
    for (size_t byte = 0; byte < 256; byte++)
        trie->first[byte + 1] += trie->first[byte];
    free(spellings);
    return true;
}

void token_trie_free(struct token_trie *trie)
{
    free(trie->ids);
    memset(trie, 0, sizeof(*trie));
}

/* The byte at `at` of spelling number `index`, or -1 behind its end. */
static int byte_at(const struct token_trie *trie, size_t index, size_t at)
{
    const struct token_entry *entry = &trie->vocab->entries[trie->ids[index]];

    return at < entry->size ? (unsigned char)trie->vocab->text.data[entry->offset + at] : -1;
}

/* The first spelling in [low, high) whose byte at `at` is not below `byte`. */
static size_t find_byte(const struct token_trie *trie, size_t low, size_t high, size_t at, int byte)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (byte_at(trie, middle, at) < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool token_trie_step(const struct token_trie *trie, struct token_prefix *prefix, unsigned char byte)
{
    if (prefix->size == 0) {
        prefix->low = trie->first[byte];
        prefix->high = trie->first[byte + 1];
    } else {
        prefix->low = find_byte(trie, prefix->low, prefix->high, prefix->size, byte);
        prefix->high = find_byte(trie, prefix->low, prefix->high, prefix->size, byte + 1);
    }
    prefix->size++;
    return prefix->low < prefix->high;
}

int32_t token_trie_id(const struct token_trie *trie, const struct token_prefix *prefix)
{
    if (prefix->low >= prefix->high || trie->vocab->entries[trie->ids[prefix->low]].size != prefix->size)
        return -1;
    return trie->ids[prefix->low];
}
