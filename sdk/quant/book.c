/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weighted k-means in one dimension. The values of a row, each divided by its scale, go into equal bins; dynamic
 * programming finds the best 16 runs of bins, and steps over the values themselves settle what bins are too coarse for.
 * Nothing is random: the same row gives the same book. Bound: for short rows the dynamic programming, about 16 * BINS *
 * log2(BINS) steps of which the empty ends of a row need none; for long ones a search among 16 levels for each value
 * and step.
 */
#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"
#include "search.h"

#include <math.h>
#include <string.h>

#define BINS 512u
#define LEVELS 16u
#define STEPS 4     /* after the search over bins */
#define FOLLOWING 2 /* after new scales */
#define PIECE 256u

/* Sums over the bins before each. */
struct prefix {
    size_t bins;
    double w[BINS + 1];
    double wx[BINS + 1];
};

/* What the bins first .. last - 1 gain as one level, against the sum of w * x * x. */
static double gain_of(const struct prefix *prefix, size_t first, size_t last)
{
    const double w = prefix->w[last] - prefix->w[first], wx = prefix->wx[last] - prefix->wx[first];
    return w > 0 ? wx * wx / w : 0;
}

/* One more level: before[i] is the most that the first i bins gain with one level less. Optimal cuts rise with the
 * bins, so the middle one halves the search for those on its sides. */
struct layer {
    const struct prefix *prefix;
    const double *before;
    double *after;
    uint16_t *cut;
};

static void solve_layer(const struct layer *layer, size_t first, size_t last, size_t from, size_t to)
{
    while (first <= last) {
        const size_t middle = (first + last) / 2;
        double best = -1;
        size_t where = from;
        for (size_t cut = from; cut <= to && cut <= middle; cut++) {
            double gain = layer->before[cut] + gain_of(layer->prefix, cut, middle);
            where = gain > best ? cut : where;
            best = gain > best ? gain : best;
        }
        layer->after[middle] = best;
        layer->cut[middle] = (uint16_t)where;
        if (middle > first)
            solve_layer(layer, first, middle - 1, from, where);
        first = middle + 1;
        from = where;
    }
}

/* The mean of each of the best LEVELS runs of bins. */
static void best_runs(const struct prefix *prefix, float out_level[LEVELS])
{
    double gain[2][BINS + 1];
    uint16_t cut[LEVELS][BINS + 1];
    size_t end = prefix->bins;
    for (size_t i = 0; i <= prefix->bins; i++)
        gain[0][i] = gain_of(prefix, 0, i);
    for (size_t l = 1; l < LEVELS; l++) {
        const struct layer layer = {prefix, gain[(l - 1) % 2], gain[l % 2], cut[l]};
        solve_layer(&layer, 0, prefix->bins, 0, prefix->bins);
    }
    for (size_t l = LEVELS; l-- > 0;) {
        const size_t begin = l > 0 ? cut[l][end] : 0;
        const double w = prefix->w[end] - prefix->w[begin], wx = prefix->wx[end] - prefix->wx[begin];
        out_level[l] = w > 0 ? (float)(wx / w) : l + 1 < LEVELS ? out_level[l + 1] : 0;
        end = begin;
    }
}

/* Divided by its scale, and its importance with the scale in it. */
static float scaled(const float *values, const float *weight, size_t at, float d, float inverse, double *out_weight)
{
    *out_weight = (weight ? (double)weight[at] : 1) * (double)d * (double)d;
    return values[at] * inverse;
}

static void find_runs(const float *values, const float *weight, size_t count, size_t group, const uint8_t *scale,
                      float out_level[LEVELS])
{
    struct prefix prefix;
    memset(&prefix, 0, sizeof(prefix));
    /* Four values to a bin or more, so that short rows are not all search. */
    for (prefix.bins = 64; prefix.bins < BINS && prefix.bins * 8 <= count;)
        prefix.bins *= 2;
    const float half = (float)(prefix.bins / 2);
    for (size_t at = 0; at < count; at++) {
        const float d = quant_read_half(scale + at / group * 2), inverse = quant_reciprocal(d);
        double w;
        const float x = scaled(values, weight, at, d, inverse, &w);
        const size_t bin = (size_t)quant_clamp((x + 1) * half, 0, 2 * half - 1);
        prefix.w[bin + 1] += w;
        prefix.wx[bin + 1] += w * (double)x;
    }
    for (size_t i = 0; i < prefix.bins; i++) {
        prefix.w[i + 1] += prefix.w[i];
        prefix.wx[i + 1] += prefix.wx[i];
    }
    best_runs(&prefix, out_level);
}

/* Adds up what is nearest to each level, of the values of one group. */
static void add_group(const float *values, const float *weight, size_t count, float d, const float level[LEVELS],
                      double w_sum[LEVELS], double wx_sum[LEVELS])
{
    const float inverse = quant_reciprocal(d);
    uint8_t digits[PIECE];
    for (size_t at = 0; at < count; at += PIECE) {
        const size_t here = count - at < PIECE ? count - at : PIECE;
        quant_digits_levels(values + at, here, inverse, level, digits);
        for (size_t i = 0; i < here; i++) {
            double w;
            const float x = scaled(values, weight, at + i, d, inverse, &w);
            w_sum[digits[i]] += w;
            wx_sum[digits[i]] += w * (double)x;
        }
    }
}

/* Each level becomes the mean of the values that are nearest to it; one without values stays. */
static void step(const float *values, const float *weight, size_t count, size_t group, const uint8_t *scale,
                 float level[LEVELS])
{
    double w_sum[LEVELS] = {0}, wx_sum[LEVELS] = {0};
    for (size_t at = 0; at < count; at += group)
        add_group(values + at, quant_weight_at(weight, at), group, quant_read_half(scale + at / group * 2), level,
                  w_sum, wx_sum);
    for (size_t l = 0; l < LEVELS; l++)
        level[l] = w_sum[l] > 0 ? (float)(wx_sum[l] / w_sum[l]) : level[l];
}

void quant_fit_book(const float *values, const float *weight, size_t count, size_t group, const uint8_t *scale,
                    int begin, uint8_t *level)
{
    float found[LEVELS];
    if (begin)
        find_runs(values, weight, count, group, scale, found);
    for (size_t l = 0; l < LEVELS && !begin; l++)
        found[l] = quant_read_half(level + 2 * l);
    for (int i = 0; i < (begin ? STEPS : FOLLOWING); i++)
        step(values, weight, count, group, scale, found);
    /* Halves keep the order of what they round. */
    for (size_t l = 0; l < LEVELS; l++)
        quant_write_half(level + 2 * l, found[l]);
}
