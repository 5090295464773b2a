/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/bpe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_SYMBOL UINT32_MAX
#define NO_RANK UINT32_MAX

struct token_bpe_symbol {
    uint32_t start, size; /* bytes of the word; size 0 after it was joined to its left neighbour */
    uint32_t left, right; /* neighbours, or NO_SYMBOL */
    int32_t id;           /* -1: a character that is no token (by_score only) */
};

struct token_bpe_candidate {
    uint32_t rank;
    uint32_t left; /* symbol number, which is also its position in the word */
    uint32_t size; /* of both together; a different size shows that one of them has grown since */
    int32_t id;    /* of the join */
};

bool token_list_append(struct accel_token_list *list, int32_t id)
{
    if (!token_array_grow(&list->ids, &list->capacity, list->count + 1, sizeof(*list->ids)))
        return false;
    list->ids[list->count++] = id;
    return true;
}

void token_bpe_init(struct token_bpe *bpe)
{
    memset(bpe, 0, sizeof(*bpe));
    bpe->unk = -1;
    memset(bpe->bytes, 0xff, sizeof(bpe->bytes));
}

void token_bpe_free(struct token_bpe *bpe)
{
    free(bpe->ranks);
    free(bpe->prefix);
    free(bpe->suffix);
    token_pairs_free(&bpe->merges);
}

void token_bpe_work_free(struct token_bpe_work *work)
{
    free(work->symbols);
    free(work->heap);
    token_buffer_free(&work->spelling);
}

void token_find_bytes(int32_t bytes[256], const struct token_vocab *vocab)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[8];

        snprintf(name, sizeof(name), "<0x%02X>", byte);
        bytes[byte] = token_vocab_find(vocab, name, 6);
    }
}

struct scored {
    float score;
    int32_t id;
};

static int compare_scores(const void *a, const void *b)
{
    float left = ((const struct scored *)a)->score;
    float right = ((const struct scored *)b)->score;

    return left > right ? -1 : left < right;
}

int32_t token_bpe_set_scores(struct token_bpe *bpe, const struct token_vocab *vocab, const float *scores,
                             struct accel_error *error)
{
    struct scored *order = malloc((vocab->count + 1) * sizeof(*order));
    bool is_sorted = true; /* most files list tokens by score */
    uint32_t rank = 0;

    bpe->ranks = malloc((vocab->count + 1) * sizeof(*bpe->ranks));
    if (order == NULL || bpe->ranks == NULL) {
        free(order);
        return accel_error_no_memory(error, "to split text into tokens");
    }
    for (size_t i = 0; i < vocab->count; i++) {
        if (isnan(scores[i])) {
            free(order);
            return accel_error_set(error, ACCEL_E_CORRUPT, "tokenizer.ggml.scores[%zu] is not a number", i);
        }
        is_sorted &= i == 0 || scores[i] <= scores[i - 1];
        order[i].score = scores[i];
        order[i].id = (int32_t)i;
    }
    if (!is_sorted)
        qsort(order, vocab->count, sizeof(*order), compare_scores);
    for (size_t i = 0; i < vocab->count; i++) {
        uint32_t flags = vocab->entries[order[i].id].flags;

        rank += i > 0 && order[i].score < order[i - 1].score;
        bpe->ranks[order[i].id] = (flags & TOKEN_RESERVED) != 0 ? NO_RANK : rank;
    }
    free(order);
    return ACCEL_OK;
}

int32_t token_bpe_add_merge(struct token_bpe *bpe, const struct token_vocab *vocab, size_t rank, const char *left,
                            size_t left_size, const char *right, size_t right_size, struct accel_error *error)
{
    size_t skip = strlen(bpe->prefix);
    int32_t left_id = token_vocab_find(vocab, left, left_size);
    int32_t right_id = token_vocab_find(vocab, right, right_size);
    char few[128], *joined = few;
    size_t size;
    int32_t id;

    if (left_id < 0 || right_id < 0)
        return accel_error_set(error, ACCEL_E_CORRUPT, "merge %zu: \"%.*s\" is not in the vocabulary", rank,
                               (int)(left_id < 0 ? left_size : right_size), left_id < 0 ? left : right);
    if (skip > right_size)
        skip = 0;
    size = left_size + right_size - skip;
    if (size > sizeof(few) && (joined = malloc(size)) == NULL)
        return accel_error_no_memory(error, "to split text into tokens");
    memcpy(joined, left, left_size);
    memcpy(joined + left_size, right + skip, right_size - skip);
    id = token_vocab_find(vocab, joined, size);
    if (id < 0)
        accel_error_set(error, ACCEL_E_CORRUPT, "merge %zu makes \"%.*s\", which is not in the vocabulary", rank,
                        (int)size, joined);
    if (joined != few)
        free(joined);
    if (id < 0)
        return ACCEL_E_CORRUPT;
    /* The later entry of a duplicate pair wins, as in the reference. */
    if (!token_pairs_set(&bpe->merges, TOKEN_PAIR(left_id, right_id), TOKEN_PAIR(rank, id)))
        return accel_error_no_memory(error, "to split text into tokens");
    return ACCEL_OK;
}

static bool add_symbol(struct token_bpe_work *work, int32_t id, size_t start, size_t size)
{
    struct token_bpe_symbol *symbol;

    if (!token_array_grow(&work->symbols, &work->symbol_capacity, work->symbol_count + 1, sizeof(*work->symbols)))
        return false;
    symbol = &work->symbols[work->symbol_count++];
    symbol->start = (uint32_t)start;
    symbol->size = (uint32_t)size;
    symbol->id = id;
    return true;
}

/* Looks up the character [at, at + size) of a word with the prefix and suffix that its position requires. */
static int32_t find_character(const struct token_bpe *bpe, const struct token_vocab *vocab, struct token_bpe_work *work,
                              const char *word, size_t at, size_t size, bool last)
{
    const char *prefix = at > 0 ? bpe->prefix : "";
    const char *suffix = last ? bpe->suffix : "";

    work->spelling.size = 0;
    if (!token_buffer_append(&work->spelling, prefix, strlen(prefix)) ||
        !token_buffer_append(&work->spelling, word + at, size) ||
        !token_buffer_append(&work->spelling, suffix, strlen(suffix)))
        return -2;
    return token_vocab_find(vocab, work->spelling.data, work->spelling.size);
}

/* Adds one symbol per byte of the spelling; *out_done is false if a byte has no token. */
static bool add_bytes(const struct token_bpe *bpe, struct token_bpe_work *work, size_t at, bool *out_done)
{
    *out_done = false;
    for (size_t i = 0; i < work->spelling.size; i++) {
        if (bpe->bytes[(unsigned char)work->spelling.data[i]] < 0)
            return true;
    }
    *out_done = true;
    for (size_t i = 0; i < work->spelling.size; i++) {
        if (!add_symbol(work, bpe->bytes[(unsigned char)work->spelling.data[i]], at, 1))
            return false;
    }
    return true;
}

/* Splits the word into one symbol per character: its token, else its bytes, else the unknown token. */
static bool add_characters(const struct token_bpe *bpe, const struct token_vocab *vocab, struct token_bpe_work *work,
                           const char *word, size_t size)
{
    size_t unk_size = 0;

    for (size_t at = 0, length; at < size; at += length) {
        uint32_t code = 0;
        bool done = false;
        int32_t id;

        length = token_utf8_next(word + at, size - at, &code);
        id = find_character(bpe, vocab, work, word, at, length, at + length == size);
        if (id < -1)
            return false;
        if (id >= 0) {
            if (unk_size > 0 && !add_symbol(work, bpe->unk, at - unk_size, unk_size))
                return false;
            unk_size = 0;
            if (!add_symbol(work, id, at, length))
                return false;
            continue;
        }
        if (bpe->byte_fallback && !add_bytes(bpe, work, at, &done))
            return false;
        if (done || bpe->unk < 0)
            continue;
        if (unk_size > 0 && !bpe->fuse_unk) {
            if (!add_symbol(work, bpe->unk, at - unk_size, unk_size))
                return false;
            unk_size = 0;
        }
        unk_size += length;
    }
    return unk_size == 0 || add_symbol(work, bpe->unk, size - unk_size, unk_size);
}

/* Splits the word into one symbol per character; token lookup is deferred to the end of merging. */
static bool add_texts(const struct token_vocab *vocab, struct token_bpe_work *work, const char *word, size_t size)
{
    for (size_t at = 0, length; at < size; at += length) {
        uint32_t code = 0;

        length = token_utf8_next(word + at, size - at, &code);
        if (!add_symbol(work, token_vocab_find(vocab, word + at, length), at, length))
            return false;
    }
    return true;
}

static bool before(const struct token_bpe_candidate *a, const struct token_bpe_candidate *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->left < b->left);
}

static bool push(struct token_bpe_work *work, struct token_bpe_candidate candidate)
{
    size_t at = work->heap_count;

    if (!token_array_grow(&work->heap, &work->heap_capacity, at + 1, sizeof(*work->heap)))
        return false;
    work->heap_count++;
    while (at > 0 && before(&candidate, &work->heap[(at - 1) / 2])) {
        work->heap[at] = work->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    work->heap[at] = candidate;
    return true;
}

static struct token_bpe_candidate pop(struct token_bpe_work *work)
{
    struct token_bpe_candidate top = work->heap[0];
    struct token_bpe_candidate last = work->heap[--work->heap_count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= work->heap_count)
            break;
        if (child + 1 < work->heap_count && before(&work->heap[child + 1], &work->heap[child]))
            child++;
        if (!before(&work->heap[child], &last))
            break;
        work->heap[at] = work->heap[child];
        at = child;
    }
    work->heap[at] = last;
    return top;
}

/* Puts symbol `left` and its right neighbour on the heap if they can be joined. */
static bool consider(const struct token_bpe *bpe, const struct token_vocab *vocab, struct token_bpe_work *work,
                     const char *word, uint32_t left)
{
    const struct token_bpe_symbol *a = left == NO_SYMBOL ? NULL : &work->symbols[left];
    const struct token_bpe_symbol *b = a == NULL || a->right == NO_SYMBOL ? NULL : &work->symbols[a->right];
    struct token_bpe_candidate candidate = {0};
    uint64_t value;

    if (b == NULL)
        return true;
    candidate.left = left;
    candidate.size = a->size + b->size;
    if (bpe->by_score) {
        candidate.id = token_vocab_find(vocab, word + a->start, candidate.size);
        if (candidate.id < 0 || bpe->ranks[candidate.id] == NO_RANK)
            return true;
        candidate.rank = bpe->ranks[candidate.id];
    } else {
        if (!token_pairs_get(&bpe->merges, TOKEN_PAIR(a->id, b->id), &value))
            return true;
        candidate.rank = (uint32_t)(value >> 32);
        candidate.id = (int32_t)(uint32_t)value;
    }
    return push(work, candidate);
}

static bool merge(const struct token_bpe *bpe, const struct token_vocab *vocab, struct token_bpe_work *work,
                  const char *word)
{
    size_t count = work->symbol_count;

    work->heap_count = 0;
    for (size_t i = 0; i < count; i++) {
        work->symbols[i].left = i == 0 ? NO_SYMBOL : (uint32_t)i - 1;
        work->symbols[i].right = i + 1 == count ? NO_SYMBOL : (uint32_t)i + 1;
    }
    for (size_t i = 0; i + 1 < count; i++) {
        if (!consider(bpe, vocab, work, word, (uint32_t)i))
            return false;
    }
    while (work->heap_count > 0) {
        struct token_bpe_candidate best = pop(work);
        struct token_bpe_symbol *a = &work->symbols[best.left];
        struct token_bpe_symbol *b;

        if (a->size == 0 || a->right == NO_SYMBOL)
            continue;
        b = &work->symbols[a->right];
        if (a->size + b->size != best.size)
            continue;
        a->id = best.id;
        a->size = best.size;
        a->right = b->right;
        b->size = 0;
        if (a->right != NO_SYMBOL)
            work->symbols[a->right].left = best.left;
        if (!consider(bpe, vocab, work, word, a->left) || !consider(bpe, vocab, work, word, best.left))
            return false;
    }
    return true;
}

/* Appends a symbol of the score rule: its token, else its bytes, else the unknown token. */
static bool append_text(const struct token_bpe *bpe, const char *text, const struct token_bpe_symbol *symbol,
                        struct accel_token_list *list)
{
    size_t old = list->count;

    if (symbol->id >= 0 && bpe->ranks[symbol->id] != NO_RANK)
        return token_list_append(list, symbol->id);
    for (size_t i = 0; i < symbol->size; i++) {
        int32_t id = bpe->bytes[(unsigned char)text[symbol->start + i]];

        if (id < 0) {
            list->count = old;
            return bpe->unk < 0 || token_list_append(list, bpe->unk);
        }
        if (!token_list_append(list, id))
            return false;
    }
    return true;
}

int32_t token_bpe_word(const struct token_bpe *bpe, const struct token_vocab *vocab, struct token_bpe_work *work,
                       const char *word, size_t size, struct accel_token_list *list, struct accel_error *error)
{
    bool is_whole = bpe->ignore_merges || (bpe->whole_newlines && size > 0 && word[0] == '\n');
    int32_t whole = is_whole ? token_vocab_find(vocab, word, size) : -1;
    bool made;

    if (whole >= 0)
        return token_list_append(list, whole) ? ACCEL_OK : accel_error_no_memory(error, "to split text into tokens");
    work->symbol_count = 0;
    made = bpe->by_score ? add_texts(vocab, work, word, size) : add_characters(bpe, vocab, work, word, size);
    if (!made || !merge(bpe, vocab, work, word))
        return accel_error_no_memory(error, "to split text into tokens");
    for (uint32_t at = work->symbol_count == 0 ? NO_SYMBOL : 0; at != NO_SYMBOL; at = work->symbols[at].right) {
        const struct token_bpe_symbol *symbol = &work->symbols[at];

        if (bpe->by_score ? !append_text(bpe, word, symbol, list) : !token_list_append(list, symbol->id))
            return accel_error_no_memory(error, "to split text into tokens");
    }
    return ACCEL_OK;
}
