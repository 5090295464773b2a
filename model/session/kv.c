/* SPDX-License-Identifier: Apache-2.0 */
#include "model/session/kv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A window of one token is that of the query alone. The token before it stays, since the next position follows from its
 * position. */
enum { WINDOW_LEAST = 2 };

static uint64_t count_pages(uint64_t page, uint64_t tokens)
{
    return tokens / page + (tokens % page != 0);
}

uint64_t kv_capacity(uint64_t page, uint64_t window, uint64_t sinks, uint64_t batch)
{
    window = window < WINDOW_LEAST ? WINDOW_LEAST : window;
    return (count_pages(page, sinks) + count_pages(page, window + batch + page - 2)) * page;
}

uint64_t kv_sinks_end(const struct kv *kv)
{
    return count_pages(kv->page, kv->sinks) * kv->page;
}

uint64_t kv_slots(uint32_t sequences, uint64_t page, uint64_t context)
{
    return sequences * count_pages(page, context) * page;
}

static int32_t allocate_sequence(const struct kv *kv, struct kv_sequence *sequence, uint32_t with_scores)
{
    sequence->text = -1;
    sequence->table = calloc(kv->pages_each, sizeof(*sequence->table));
    sequence->position = calloc(kv->context, sizeof(*sequence->position));
    sequence->sinks = calloc((size_t)kv->sinks + 1, sizeof(*sequence->sinks));
    if (with_scores)
        sequence->score_sum = calloc(kv->context, sizeof(*sequence->score_sum));
    return sequence->table != NULL && sequence->position != NULL && sequence->sinks != NULL &&
           (sequence->score_sum != NULL || !with_scores);
}

int32_t kv_create(struct kv *kv, uint32_t sequences, uint64_t page, uint64_t context, uint32_t sinks,
                  uint32_t with_scores, struct accel_error *error)
{
    uint64_t each = count_pages(page, context), all = each * sequences;
    uint32_t made = 0;

    *kv = (struct kv){.page = page, .context = context, .sinks = sinks};
    if (all > INT32_MAX || all * page > INT32_MAX)
        return accel_error_set(error, ACCEL_E_LIMIT, "%u sequences of %llu tokens: slots have numbers of 31 bits",
                               sequences, (unsigned long long)context);
    kv->pages_each = (uint32_t)each;
    kv->pages = (uint32_t)all;
    kv->sequences = calloc(sequences, sizeof(*kv->sequences));
    kv->users = calloc(kv->pages, sizeof(*kv->users));
    kv->free = calloc(kv->pages, sizeof(*kv->free));
    if (kv->sequences != NULL)
        kv->count = sequences;
    while (made < kv->count && allocate_sequence(kv, &kv->sequences[made], with_scores))
        made++;
    if (made < sequences || kv->users == NULL || kv->free == NULL)
        return accel_error_no_memory(error, "for the tables of %u sequences", sequences);
    /* The lowest page is allocated first. */
    for (uint32_t p = 0; p < kv->pages; p++)
        kv->free[p] = (int32_t)(kv->pages - 1 - p);
    kv->free_count = kv->pages;
    return ACCEL_OK;
}

void kv_free(struct kv *kv)
{
    for (uint32_t s = 0; s < kv->count; s++) {
        free(kv->sequences[s].table);
        free(kv->sequences[s].position);
        free(kv->sequences[s].sinks);
        free(kv->sequences[s].score_sum);
    }
    free(kv->sequences);
    free(kv->users);
    free(kv->free);
    *kv = (struct kv){0};
}

static int32_t allocate_page(struct kv *kv)
{
    int32_t page = kv->free[--kv->free_count];

    kv->users[page] = 1;
    return page;
}

static void release_page(struct kv *kv, int32_t page)
{
    if (--kv->users[page] == 0)
        kv->free[kv->free_count++] = page;
}

static int32_t refuse_full(const struct kv *kv, struct accel_error *error)
{
    accel_error_set(error, ACCEL_E_LIMIT, "all %u pages of %llu tokens are in use", kv->pages,
                    (unsigned long long)kv->page);
    return accel_error_advise(error, ACCEL_E_LIMIT, "close a sequence, or set a longer context (--set context)");
}

int32_t kv_reserve(struct kv *kv, struct kv_sequence *sequence, uint64_t length, struct accel_error *error)
{
    uint64_t pages = count_pages(kv->page, length);

    if (length > kv->context)
        return accel_error_set(error, ACCEL_E_LIMIT, "a sequence caches %llu tokens at most, not %llu",
                               (unsigned long long)kv->context, (unsigned long long)length);
    while (sequence->pages < pages) {
        if (kv->free_count == 0)
            return refuse_full(kv, error);
        sequence->table[sequence->pages++] = allocate_page(kv);
    }
    return ACCEL_OK;
}

int32_t kv_own(struct kv *kv, struct kv_sequence *sequence, uint64_t place, struct kv_copy *out_copy,
               struct accel_error *error)
{
    int32_t *entry = &sequence->table[place / kv->page];
    int32_t page = *entry;

    *out_copy = (struct kv_copy){0};
    if (kv->users[page] == 1)
        return ACCEL_OK;
    if (kv->free_count == 0)
        return refuse_full(kv, error);
    *entry = allocate_page(kv);
    release_page(kv, page);
    *out_copy = (struct kv_copy){(uint64_t)page * kv->page, (uint64_t)*entry * kv->page, kv->page};
    return ACCEL_OK;
}

void kv_truncate(struct kv *kv, struct kv_sequence *sequence, uint64_t length)
{
    uint64_t pages = count_pages(kv->page, length);

    while (sequence->pages > pages)
        release_page(kv, sequence->table[--sequence->pages]);
    if (sequence->score_sum != NULL && sequence->length > length)
        memset(sequence->score_sum + length, 0, (sequence->length - length) * sizeof(*sequence->score_sum));
    sequence->length = length;
}

void kv_drop(struct kv *kv, struct kv_sequence *sequence, uint64_t place, uint64_t count)
{
    uint32_t first = (uint32_t)(place / kv->page), pages = (uint32_t)(count / kv->page);

    for (uint32_t p = first; p < first + pages; p++)
        release_page(kv, sequence->table[p]);
    memmove(sequence->table + first, sequence->table + first + pages,
            (sequence->pages - first - pages) * sizeof(*sequence->table));
    memmove(sequence->position + place, sequence->position + place + count,
            (sequence->length - place - count) * sizeof(*sequence->position));
    if (sequence->score_sum != NULL) {
        memmove(sequence->score_sum + place, sequence->score_sum + place + count,
                (sequence->length - place - count) * sizeof(*sequence->score_sum));
        memset(sequence->score_sum + sequence->length - count, 0, count * sizeof(*sequence->score_sum));
    }
    sequence->pages -= pages;
    sequence->length -= count;
}

void kv_add_scores(const struct kv *kv, struct kv_sequence *sequence, uint64_t tokens, const float *scores, float scale)
{
    const float decay = exp2f(-2.0f * (float)tokens / (float)kv->context);

    for (uint64_t place = 0; place < sequence->length; place++)
        sequence->score_sum[place] = sequence->score_sum[place] * decay + scores[place] * scale;
}

void kv_drop_unused(struct kv *kv, struct kv_sequence *sequence, uint64_t window, uint64_t count)
{
    const uint64_t first = kv_sinks_end(kv);
    /* Newer tokens were attended to by few queries, so their sums say nothing yet. */
    uint64_t newer = (kv->context - first) / 2;

    /* The next query is the last token of its window. */
    if (window > newer && sequence->length - count >= first + window - 1)
        newer = window - 1;
    for (uint64_t c = 0; c < count; c++) {
        uint64_t end = sequence->length > first + newer ? sequence->length - newer : first + 1, least = first;

        for (uint64_t place = first + 1; place < end; place++)
            least = sequence->score_sum[place] < sequence->score_sum[least] ? place : least;
        kv_drop(kv, sequence, least, kv->page);
    }
}

void kv_share(struct kv *kv, const struct kv_sequence *from, uint64_t length, struct kv_sequence *to)
{
    to->pages = (uint32_t)count_pages(kv->page, length);
    for (uint32_t p = 0; p < to->pages; p++) {
        to->table[p] = from->table[p];
        kv->users[to->table[p]]++;
    }
    memcpy(to->position, from->position, length * sizeof(*to->position));
    memcpy(to->sinks, from->sinks, kv->sinks * sizeof(*to->sinks));
    if (to->score_sum != NULL)
        memcpy(to->score_sum, from->score_sum, length * sizeof(*to->score_sum));
    to->length = length;
}
