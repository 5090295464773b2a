/* SPDX-License-Identifier: Apache-2.0 */
/* Computes AUC, the F1 sweep over thresholds, and mutual information: exact counts first, divisions last. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tools/accel-scores/internal.h"

static int compare_pairs(const void *a, const void *b)
{
    double one = ((const struct scores_pair *)a)->score, other = ((const struct scores_pair *)b)->score;

    return one < other ? -1 : one > other;
}

void scores_sort(struct scores_pair *pairs, uint64_t count)
{
    qsort(pairs, (size_t)count, sizeof(*pairs), compare_pairs);
}

/* Returns the index behind the pairs with the score of `begin`; *out_positive of them are positive. */
static uint64_t end_of_ties(const struct scores_pair *pairs, uint64_t count, uint64_t begin, uint64_t *out_positive)
{
    uint64_t end = begin;

    *out_positive = 0;
    while (end < count && pairs[end].score == pairs[begin].score)
        *out_positive += pairs[end++].label;
    return end;
}

double scores_auc_sorted(const struct scores_pair *pairs, uint64_t count)
{
    uint64_t positives = 0, negatives = 0, positive;
    double won = 0;

    for (uint64_t begin = 0, end; begin < count; begin = end) {
        end = end_of_ties(pairs, count, begin, &positive);
        won += (double)positive * ((double)negatives + (double)(end - begin - positive) / 2);
        positives += positive;
        negatives += end - begin - positive;
    }
    return positives == 0 || negatives == 0 ? -1 : won / ((double)positives * (double)negatives);
}

/* `found` and `wrong` are true and false positives. */
static struct accel_scores_threshold measure(double threshold, uint64_t found, uint64_t wrong, uint64_t positives,
                                             uint64_t negatives)
{
    struct accel_scores_threshold result = {.threshold = threshold};

    result.f1 = 2.0 * (double)found / ((double)(found + wrong) + (double)positives);
    result.precision = found + wrong == 0 ? 0 : (double)found / (double)(found + wrong);
    result.recall = (double)found / (double)positives;
    result.false_positive_rate = (double)wrong / (double)negatives;
    result.worse_than_chance = result.recall < result.false_positive_rate;
    return result;
}

void scores_sweep_sorted(const struct scores_pair *pairs, uint64_t count, struct accel_scores_threshold *out_best)
{
    uint64_t positives = 0, found = 0;

    for (uint64_t i = 0; i < count; i++)
        positives += pairs[i].label;
    *out_best = (struct accel_scores_threshold){.f1 = -1};
    for (uint64_t i = count; i-- > 0;) {
        struct accel_scores_threshold here;

        found += pairs[i].label;
        if (i > 0 && pairs[i - 1].score == pairs[i].score)
            continue;
        here = measure(pairs[i].score, found, count - i - found, positives, count - positives);
        if (here.f1 > out_best->f1)
            *out_best = here;
    }
}

/* ---- mutual information ---- */

static double information_of(const uint64_t counts[2], const uint64_t labels[2], uint64_t all)
{
    double sum = 0, bin = (double)(counts[0] + counts[1]);

    for (int label = 0; label < 2; label++)
        if (counts[label] != 0)
            sum += (double)counts[label] / (double)all *
                   log((double)counts[label] * (double)all / (bin * (double)labels[label]));
    return sum;
}

/* Equal values go into the bin of the first of them. */
double scores_information_sorted(const struct scores_pair *pairs, uint64_t count, uint32_t bins)
{
    uint64_t counts[2] = {0, 0}, labels[2] = {0, 0}, positive;
    uint64_t bin = 0;
    double sum = 0;

    for (uint64_t i = 0; i < count; i++)
        labels[pairs[i].label]++;
    for (uint64_t begin = 0, end; begin < count; begin = end) {
        uint64_t here = begin * bins / count;

        end = end_of_ties(pairs, count, begin, &positive);
        if (here != bin) {
            sum += information_of(counts, labels, count);
            counts[0] = counts[1] = 0;
            bin = here;
        }
        counts[1] += positive;
        counts[0] += end - begin - positive;
    }
    sum += information_of(counts, labels, count);
    return sum > 0 ? sum : 0;
}
