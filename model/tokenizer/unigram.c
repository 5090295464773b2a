/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/unigram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/tokenizer/bpe.h"

#define UNKNOWN_PENALTY 10.0 /* as in SentencePiece */

/* The best way to cut the word up to one offset: its last token begins at `start`. */
struct token_unigram_node {
    double score;
    uint32_t start;
    int32_t id; /* -1: an unknown character */
    bool reached;
};

int32_t token_unigram_init(struct token_unigram *unigram, const struct token_vocab *vocab, uint32_t without,
                           const double *scores, const char *where, struct accel_error *error)
{
    double least = INFINITY;

    if (!token_trie_init(&unigram->trie, vocab, without))
        return accel_error_no_memory(error, "for %zu tokens", vocab->count);
    unigram->scores = malloc((vocab->count + 1) * sizeof(*unigram->scores));
    if (unigram->scores == NULL)
        return accel_error_no_memory(error, "for %zu scores", vocab->count);
    memcpy(unigram->scores, scores, vocab->count * sizeof(*scores));
    for (size_t i = 0; i < vocab->count; i++) {
        if (!isfinite(scores[i]))
            return accel_error_set(error, ACCEL_E_CORRUPT, "%s[%zu] is not a finite number", where, i);
        if ((vocab->entries[i].flags & (without | TOKEN_PRESENT)) == TOKEN_PRESENT && scores[i] < least)
            least = scores[i];
    }
    unigram->unk_score = (isfinite(least) ? least : 0) - UNKNOWN_PENALTY;
    return ACCEL_OK;
}

void token_unigram_free(struct token_unigram *unigram)
{
    token_trie_free(&unigram->trie);
    free(unigram->scores);
}

void token_unigram_work_free(struct token_unigram_work *work)
{
    free(work->nodes);
}

static void improve(struct token_unigram_node *node, double score, size_t start, int32_t id)
{
    if (node->reached && score <= node->score)
        return;
    *node = (struct token_unigram_node){.score = score, .start = (uint32_t)start, .id = id, .reached = true};
}

/* Extends the best way up to `at` by every token there, and by an unknown character if none is one character. */
static size_t extend(const struct token_unigram *unigram, struct token_unigram_node *nodes, const char *word,
                     size_t size, size_t at)
{
    struct token_prefix prefix = {0};
    uint32_t code = 0;
    size_t length = token_utf8_next(word + at, size - at, &code);
    bool known = false;

    for (size_t end = at; end < size && token_trie_step(&unigram->trie, &prefix, (unsigned char)word[end]); end++) {
        int32_t id = token_trie_id(&unigram->trie, &prefix);

        if (id < 0)
            continue;
        improve(&nodes[end + 1], nodes[at].score + unigram->scores[id], at, id == unigram->unk ? -1 : id);
        known = known || end + 1 - at == length;
    }
    if (!known)
        improve(&nodes[at + length], nodes[at].score + unigram->unk_score, at, -1);
    return at + length;
}

/* Appends the ids of unknown characters: their bytes, else the unknown token. */
static int32_t append_unknown(const struct token_unigram *unigram, const char *text, size_t size,
                              struct accel_token_list *list, struct accel_error *error)
{
    bool bytes = unigram->byte_fallback;
    bool done = true;

    for (size_t i = 0; bytes && i < size; i++)
        bytes = unigram->bytes[(unsigned char)text[i]] >= 0;
    if (!bytes && unigram->unk < 0)
        return accel_error_set(error, ACCEL_E_INVALID, "no token is for \"%.*s\", and the vocabulary has none for that",
                               (int)(size < 100 ? size : 100), text);
    for (size_t i = 0; done && bytes && i < size; i++)
        done = token_list_append(list, unigram->bytes[(unsigned char)text[i]]);
    if (!bytes)
        done = token_list_append(list, unigram->unk);
    return done ? ACCEL_OK : accel_error_no_memory(error, "to split text into tokens");
}

/* Turns the links of the best way, from the end to the beginning, into links forward: nodes[start].start is the end. */
static void turn(struct token_unigram_node *nodes, size_t size)
{
    uint32_t end = (uint32_t)size;
    uint32_t start = nodes[end].start;
    int32_t id = nodes[end].id;

    while (end > 0) {
        struct token_unigram_node before = nodes[start];

        nodes[start].start = end;
        nodes[start].id = id;
        end = start;
        start = before.start;
        id = before.id;
    }
}

int32_t token_unigram_word(const struct token_unigram *unigram, struct token_unigram_work *work, const char *word,
                           size_t size, struct accel_token_list *list, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    if (size == 0)
        return ACCEL_OK;
    if (!token_array_grow(&work->nodes, &work->capacity, size + 1, sizeof(*work->nodes)))
        return accel_error_no_memory(error, "to split text into tokens");
    memset(work->nodes, 0, (size + 1) * sizeof(*work->nodes));
    for (size_t at = 0; at < size;)
        at = extend(unigram, work->nodes, word, size, at);
    turn(work->nodes, size);
    for (size_t at = 0, end; code == ACCEL_OK && at < size; at = end) {
        int32_t id = work->nodes[at].id;

        end = work->nodes[at].start;
        while (id < 0 && end < size && work->nodes[end].id < 0)
            end = work->nodes[end].start;
        if (id < 0)
            code = append_unknown(unigram, word + at, end - at, list, error);
        else if (!token_list_append(list, id))
            code = accel_error_no_memory(error, "to split text into tokens");
    }
    return code;
}
