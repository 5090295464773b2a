/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains codebooks by weighted k-means in one dimension. The values of a row, divided by their scales, are counted in
 * equal bins; dynamic programming finds the best partition into 16 spans of bins, and k-means steps over the values
 * refine it. The result is deterministic. Bound: for short rows the dynamic programming, about 16 * BINS * log2(BINS)
 * steps without the empty ends of a row; for long rows a search among 16 entries per value and step.
 */
#include <string.h>

#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"
#include "search.h"

#define BINS 512u
#define ENTRIES 16u
#define STEPS 4     /* k-means steps after the partition */
#define FOLLOWING 2 /* k-means steps after new scales */
#define PIECE 256u

/* Prefix sums over bins. */
struct prefix {
    size_t bins;
    double w[BINS + 1];
    double wx[BINS + 1];
};

/* Returns the error reduction of bins first .. last - 1 as one entry, relative to the sum of w * x * x. */
static double gain_of(const struct prefix *prefix, size_t first, size_t last)
{
    const double w = prefix->w[last] - prefix->w[first], wx = prefix->wx[last] - prefix->wx[first];
    return w > 0 ? wx * wx / w : 0;
}

/* One more entry: before[i] is the best gain of the first i bins with one entry less. Optimal cuts rise with the bins,
 * so that the middle cut halves the search on both sides. */
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

/* Returns the mean of each of the best ENTRIES spans of bins. */
static void best_partition(const struct prefix *prefix, float out_codebook[ENTRIES])
{
    double gain[2][BINS + 1];
    uint16_t cut[ENTRIES][BINS + 1];
    size_t end = prefix->bins;
    for (size_t i = 0; i <= prefix->bins; i++)
        gain[0][i] = gain_of(prefix, 0, i);
    for (size_t l = 1; l < ENTRIES; l++) {
        const struct layer layer = {prefix, gain[(l - 1) % 2], gain[l % 2], cut[l]};
        solve_layer(&layer, 0, prefix->bins, 0, prefix->bins);
    }
    for (size_t l = ENTRIES; l-- > 0;) {
        const size_t begin = l > 0 ? cut[l][end] : 0;
        const double w = prefix->w[end] - prefix->w[begin], wx = prefix->wx[end] - prefix->wx[begin];
        out_codebook[l] = w > 0 ? (float)(wx / w) : l + 1 < ENTRIES ? out_codebook[l + 1] : 0;
        end = begin;
    }
}

/* Returns a value divided by its scale, and its weight times the squared scale. */
static float scaled(const float *values, const float *weight, size_t at, float d, float inverse, double *out_weight)
{
    *out_weight = (weight ? (double)weight[at] : 1) * (double)d * (double)d;
    return values[at] * inverse;
}

static void partition_row(const float *values, const float *weight, size_t count, size_t group, const uint8_t *scale,
                          float out_codebook[ENTRIES])
{
    struct prefix prefix;
    memset(&prefix, 0, sizeof(prefix));
    /* Four values per bin or more, so that short rows are not dominated by the search. */
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
    best_partition(&prefix, out_codebook);
}

/* Sums the values of one group that are nearest to each entry. */
static void add_group(const float *values, const float *weight, size_t count, float d, const float codebook[ENTRIES],
                      double w_sum[ENTRIES], double wx_sum[ENTRIES])
{
    const float inverse = quant_reciprocal(d);
    uint8_t codes[PIECE];
    for (size_t at = 0; at < count; at += PIECE) {
        const size_t here = count - at < PIECE ? count - at : PIECE;
        quant_find_codes(values + at, here, inverse, codebook, codes);
        for (size_t i = 0; i < here; i++) {
            double w;
            const float x = scaled(values, weight, at + i, d, inverse, &w);
            w_sum[codes[i]] += w;
            wx_sum[codes[i]] += w * (double)x;
        }
    }
}

/* Moves each entry to the mean of the values nearest to it; an entry without values stays. */
static void step(const float *values, const float *weight, size_t count, size_t group, const uint8_t *scale,
                 float codebook[ENTRIES])
{
    double w_sum[ENTRIES] = {0}, wx_sum[ENTRIES] = {0};
    for (size_t at = 0; at < count; at += group)
        add_group(values + at, quant_weight_at(weight, at), group, quant_read_half(scale + at / group * 2), codebook,
                  w_sum, wx_sum);
    for (size_t l = 0; l < ENTRIES; l++)
        codebook[l] = w_sum[l] > 0 ? (float)(wx_sum[l] / w_sum[l]) : codebook[l];
}

void quant_train_codebook(const float *values, const float *weight, size_t count, size_t group, const uint8_t *scale,
                          int begin, uint8_t *codebook)
{
    float found[ENTRIES];
    if (begin)
        partition_row(values, weight, count, group, scale, found);
    for (size_t l = 0; l < ENTRIES && !begin; l++)
        found[l] = quant_read_half(codebook + 2 * l);
    for (int i = 0; i < (begin ? STEPS : FOLLOWING); i++)
        step(values, weight, count, group, scale, found);
    /* Rounding to halves preserves the order. */
    for (size_t l = 0; l < ENTRIES; l++)
        quant_write_half(codebook + 2 * l, found[l]);
}
