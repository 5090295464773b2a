/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <accel/model/sampler.h>

#include "model/tokenizer/philox.h"

#define UNIT 1099511627776.0 /* 2^40, the weight of the likeliest token */
#define MAX_VOCABULARY ((size_t)1 << 24)

void accel_sampling_init(struct accel_sampling *sampling)
{
    *sampling = (struct accel_sampling){.size = sizeof(*sampling), .top_p = 1, .repetition_penalty = 1};
}

size_t accel_sample_scratch(size_t vocabulary)
{
    return vocabulary;
}

/* Computes e^x for x <= 0 with additions and multiplications alone, which every machine rounds identically.
 * Relative error 1e-15. */
static double exponential(double x)
{
    double power, rest, sum = 1;

    if (x < -40)
        return 0;
    power = floor(x * 1.4426950408889634 + 0.5);
    rest = x - power * 0.693147180369123816490;
    rest -= power * 1.90821492927058770002e-10;
    for (int i = 14; i > 0; i--)
        sum = 1 + sum * rest / i;
    return ldexp(sum, (int)power);
}

static int32_t check(const struct accel_sampling *sampling, const float *logits, size_t vocabulary,
                     const struct accel_sample_candidate *scratch, struct accel_error *error)
{
    if (sampling == NULL || logits == NULL || scratch == NULL || vocabulary == 0 || vocabulary >= MAX_VOCABULARY)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_sample: an argument is NULL, or a vocabulary of %zu",
                               vocabulary);
    if (sampling->size < sizeof(*sampling) || sampling->zero != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "struct accel_sampling of %u bytes", sampling->size);
    if (!(sampling->temperature >= 0) || !isfinite(sampling->temperature))
        return accel_error_set(error, ACCEL_E_INVALID, "temperature is %g; it must be 0 or more",
                               (double)sampling->temperature);
    if (!(sampling->top_p >= 0 && sampling->top_p <= 1))
        return accel_error_set(error, ACCEL_E_INVALID, "top_p is %g; it must be in 0 to 1", (double)sampling->top_p);
    if (!(sampling->min_p >= 0 && sampling->min_p <= 1))
        return accel_error_set(error, ACCEL_E_INVALID, "min_p is %g; it must be in 0 to 1", (double)sampling->min_p);
    if (!(sampling->repetition_penalty > 0) || !isfinite(sampling->repetition_penalty))
        return accel_error_set(error, ACCEL_E_INVALID, "repetition_penalty is %g; it must be above 0",
                               (double)sampling->repetition_penalty);
    return ACCEL_OK;
}

/* Fills the candidates with all tokens and their logits, in order of id. */
static int32_t fill(const float *logits, size_t vocabulary, struct accel_sample_candidate *scratch,
                    struct accel_error *error)
{
    for (size_t i = 0; i < vocabulary; i++) {
        if (!(logits[i] < INFINITY))
            return accel_error_set(error, ACCEL_E_INVALID, "logits[%zu] is %s", i,
                                   isnan(logits[i]) ? "not a number" : "infinite");
        scratch[i] = (struct accel_sample_candidate){.id = (int32_t)i, .logit = logits[i]};
    }
    return ACCEL_OK;
}

/* Penalizes each recent token once, however often it occurs: the weight marks penalized tokens. */
static void penalize(const struct accel_sampling *sampling, size_t vocabulary, const int32_t *recent, size_t count,
                     struct accel_sample_candidate *scratch)
{
    size_t window = sampling->repetition_window;

    if (sampling->repetition_penalty == 1 || recent == NULL)
        return;
    if (window != 0 && count > window) {
        recent += count - window;
        count = window;
    }
    for (size_t i = 0; i < count; i++) {
        struct accel_sample_candidate *candidate;

        if (recent[i] < 0 || (size_t)recent[i] >= vocabulary)
            continue;
        candidate = &scratch[recent[i]];
        if (candidate->weight == 0)
            candidate->logit = candidate->logit > 0 ? candidate->logit / sampling->repetition_penalty
                                                    : candidate->logit * sampling->repetition_penalty;
        candidate->weight = 1;
    }
}

static size_t find_highest(const struct accel_sample_candidate *scratch, size_t count)
{
    size_t best = 0;

    for (size_t i = 1; i < count; i++) {
        if (scratch[i].logit > scratch[best].logit)
            best = i;
    }
    return best;
}

/* Sets every weight and returns their sum. */
static uint64_t weigh(double highest, double temperature, struct accel_sample_candidate *scratch, size_t count)
{
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++) {
        scratch[i].weight = (uint64_t)(exponential((scratch[i].logit - highest) / temperature) * UNIT + 0.5);
        total += scratch[i].weight;
    }
    return total;
}

static bool before(const struct accel_sample_candidate *a, const struct accel_sample_candidate *b)
{
    return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

/* Sifts the candidate at `at` down in a heap of `count` (heapsort). */
static void sink(struct accel_sample_candidate *heap, size_t count, size_t at)
{
    struct accel_sample_candidate moved = heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= count)
            break;
        if (child + 1 < count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* Sorts the `k` best candidates to the front, or fewer if their weights reach `enough`. Popped candidates are
 * stored in the space that the heap frees at the end of the array, so no candidate is lost. */
static size_t select_top_k(struct accel_sample_candidate *scratch, size_t count, size_t k, double enough,
                           uint64_t *out_total)
{
    size_t left = count;
    uint64_t total = 0;
    size_t taken = 0;

    for (size_t i = count / 2; i-- > 0;)
        sink(scratch, count, i);
    while (taken < k && left > 0 && (taken == 0 || (double)total < enough)) {
        struct accel_sample_candidate best = scratch[0];

        scratch[0] = scratch[--left];
        if (left > 0)
            sink(scratch, left, 0);
        scratch[left] = best; /* sorted candidates grow down from the end */
        total += best.weight;
        taken++;
    }
    /* Reverses the sorted candidates while moving them to the front. */
    for (size_t i = 0; i < taken / 2; i++) {
        struct accel_sample_candidate other = scratch[left + i];

        scratch[left + i] = scratch[count - 1 - i];
        scratch[count - 1 - i] = other;
    }
    memmove(scratch, scratch + left, taken * sizeof(*scratch));
    *out_total = total;
    return taken;
}

/* Applies top-k, top-p and min-p to weighted candidates. */
static size_t filter(const struct accel_sampling *sampling, struct accel_sample_candidate *scratch, size_t count,
                     uint64_t *total)
{
    size_t k = sampling->top_k == 0 || sampling->top_k > count ? count : sampling->top_k;
    size_t selected = 0;
    uint64_t sum = 0;
    double enough;

    if (k == count && sampling->top_p >= 1 && sampling->min_p <= 0)
        return count;
    /* Without top-k the total weight is already known, so sorting can stop at top-p. */
    enough = k == count && sampling->top_p < 1 ? sampling->top_p * (double)*total : INFINITY;
    count = select_top_k(scratch, count, k, enough, total);
    if (k == count && sampling->top_p < 1)
        enough = sampling->top_p * (double)*total;
    for (; selected < count; selected++) {
        bool low = (double)scratch[selected].weight < sampling->min_p * (double)scratch[0].weight;

        if (selected > 0 && (low || (sampling->top_p < 1 && (double)sum >= enough)))
            break;
        sum += scratch[selected].weight;
    }
    *total = sum;
    return selected;
}

int32_t accel_sample_candidates(const struct accel_sampling *sampling, const float *logits, size_t vocabulary,
                                const int32_t *recent, size_t recent_count, struct accel_sample_candidate *scratch,
                                size_t *out_count, uint64_t *out_total, struct accel_error *error)
{
    int32_t code = check(sampling, logits, vocabulary, scratch, error);
    size_t best;

    if (code == ACCEL_OK)
        code = fill(logits, vocabulary, scratch, error);
    if (code != ACCEL_OK)
        return code;
    penalize(sampling, vocabulary, recent, recent_count, scratch);
    best = find_highest(scratch, vocabulary);
    if (!isfinite(scratch[best].logit))
        return accel_error_set(error, ACCEL_E_INVALID, "every token is barred: all %zu logits are minus infinity",
                               vocabulary);
    if (sampling->temperature == 0) {
        scratch[0] = scratch[best];
        scratch[0].weight = (uint64_t)UNIT;
        *out_count = 1;
        *out_total = (uint64_t)UNIT;
        return ACCEL_OK;
    }
    *out_total = weigh(scratch[best].logit, sampling->temperature, scratch, vocabulary);
    *out_count = filter(sampling, scratch, vocabulary, out_total);
    return ACCEL_OK;
}

/* Returns the high half of a 64 by 64 bit product: maps a random number to one below `limit`. */
static uint64_t scale(uint64_t random, uint64_t limit)
{
    uint64_t low = (random & 0xffffffffu) * (limit & 0xffffffffu);
    uint64_t middle = (random >> 32) * (limit & 0xffffffffu) + (low >> 32);
    uint64_t other = (random & 0xffffffffu) * (limit >> 32) + (middle & 0xffffffffu);

    return (random >> 32) * (limit >> 32) + (middle >> 32) + (other >> 32);
}

int32_t accel_sample(const struct accel_sampling *sampling, const float *logits, size_t vocabulary,
                     const int32_t *recent, size_t recent_count, uint64_t sequence, uint64_t step,
                     struct accel_sample_candidate *scratch, int32_t *out_id, struct accel_error *error)
{
    uint32_t counter[4] = {(uint32_t)step, (uint32_t)(step >> 32), (uint32_t)sequence, (uint32_t)(sequence >> 32)};
    uint32_t key[2], words[4];
    uint64_t total = 0, point;
    size_t count = 0, at = 0;
    int32_t code;

    if (out_id == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_sample: an argument is NULL");
    code = accel_sample_candidates(sampling, logits, vocabulary, recent, recent_count, scratch, &count, &total, error);
    if (code != ACCEL_OK)
        return code;
    key[0] = (uint32_t)sampling->seed;
    key[1] = (uint32_t)(sampling->seed >> 32);
    philox4x32(counter, key, words);
    point = scale((uint64_t)words[1] << 32 | words[0], total);
    while (at + 1 < count && point >= scratch[at].weight)
        point -= scratch[at++].weight;
    *out_id = scratch[at].id;
    return ACCEL_OK;
}
