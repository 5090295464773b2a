/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches over scales. Each candidate fixes the codes; their best scale follows by least squares, and the candidate
 * with the least error wins: first over the range from a little above the extreme down to heavy clipping of normal
 * data, then around the best. Bound: operations, see search.c.
 */
#include <math.h>

#include "fit.h"
#include "search.h"

#define LAST (QUANT_CANDIDATES - 1)

float quant_extreme(const float *values, size_t count)
{
    float found = 0;
    for (size_t i = 0; i < count; i++)
        found = fabsf(values[i]) > fabsf(found) ? values[i] : found;
    return found;
}

float quant_reciprocal(float d)
{
    float inverse = d != 0 ? 1.0f / d : 0;
    return isfinite(inverse) ? inverse : 0;
}

/* Returns three quarters of the range of `half` codes on each side at the optimal step for normal data of standard
 * deviation 1 (Max, Quantizing for minimum distortion, 1960: 1.99 for 2 bits, 2.68 for 4). */
static double least_reach(int half)
{
    double reach = 1.66;
    for (; half > 1; half /= 2)
        reach += 0.33;
    return 0.75 * reach;
}

/* Returns the root mean square of the distances from zero, or from the mean. */
static double deviation(const struct quant_spread *spread, size_t count, int from_mean)
{
    const double mean = from_mean ? spread->x / (double)count : 0, square = spread->xx / (double)count - mean * mean;
    return square > 0 ? sqrt(square) : 0;
}

/* Returns factor `index` of an even spacing from `first` to `last`. */
static float factor_at(float first, float last, size_t index)
{
    return first + (last - first) * ((float)index / (float)LAST);
}

/* ---- one scale ---- */

/* The best candidate so far: its reduction of the sum of w * x * x, its scale and its factor. */
struct best {
    double gain;
    float d;
    float factor;
    int side;
};

static void update_best(const struct quant_sums *sums, float first, float last, int side, struct best *best)
{
    double d[QUANT_CANDIDATES], gain[QUANT_CANDIDATES];
    size_t found = QUANT_CANDIDATES;
    /* Without codes this is 0 / 0, which never compares greater. */
    for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
        d[c] = (double)sums->xq[c] / (double)sums->qq[c];
        gain[c] = (double)sums->xq[c] * d[c];
    }
    for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
        if (gain[c] > best->gain) {
            best->gain = gain[c];
            found = c;
        }
    }
    if (found == QUANT_CANDIDATES)
        return;
    best->d = (float)d[found];
    best->factor = factor_at(first, last, found);
    best->side = side;
}

/* The grid that is fitted: integer codes from lowest to highest, or a codebook. */
struct grid {
    float lowest;
    float highest;
    const float *codebook; /* NULL: integer codes */
};

static void try_factors(const float *values, const float *weight, size_t count, const struct grid *grid, float inverse,
                        float first, float last, int side, struct best *best)
{
    struct quant_candidates candidates;
    struct quant_sums sums;
    for (size_t c = 0; c < QUANT_CANDIDATES; c++)
        candidates.inverse[c] = inverse * factor_at(first, last, c);
    if (grid->codebook)
        quant_sums_codebook(values, weight, count, grid->codebook, &candidates, &sums);
    else
        quant_sums_symmetric(values, weight, count, grid->lowest, grid->highest, &candidates, &sums);
    update_best(&sums, first, last, side, best);
}

/* `reach`: range of the grid, in standard deviations, at the strongest clipping. */
static float fit_grid(const float *values, const float *weight, size_t count, const struct grid *grid, double reach)
{
    const float first = 0.9f;
    struct best best = {0, 0, 0, 0};
    struct quant_spread spread;
    if (count == 0)
        return 0;
    quant_measure(values, count, &spread);
    const float most = spread.high > -spread.low ? spread.high : spread.low, inverse = quant_reciprocal(most);
    if (inverse == 0)
        return most != 0 ? most / grid->lowest : 0;
    double clipped = (double)fabsf(most) / (reach * deviation(&spread, count, 0));
    const float last = clipped > 1.15 ? (float)clipped : 1.15f, step = (last - first) / (float)LAST;
    for (int side = 0; side < 2; side++)
        try_factors(values, weight, count, grid, (side ? grid->highest : grid->lowest) * inverse, first, last, side,
                    &best);
    const float around = best.factor;
    try_factors(values, weight, count, grid, (best.side ? grid->highest : grid->lowest) * inverse, around - step,
                around + step, best.side, &best);
    return best.d;
}

float quant_fit_symmetric(const float *values, const float *weight, size_t count, int lowest, int highest)
{
    const struct grid grid = {(float)lowest, (float)highest, NULL};
    return fit_grid(values, weight, count, &grid, least_reach(-lowest));
}

float quant_fit_codebook(const float *values, const float *weight, size_t count, const float codebook[16])
{
    const struct grid grid = {codebook[0], codebook[15], codebook};
    return fit_grid(values, weight, count, &grid, least_reach(8));
}

float quant_refit_codebook(const float *values, const float *weight, size_t count, const float codebook[16], float d)
{
    const struct grid grid = {codebook[0], codebook[15], codebook};
    struct best best = {0, d, 0, 0};
    try_factors(values, weight, count, &grid, quant_reciprocal(d), 0.85f, 1.15f, 0, &best);
    return best.d;
}

/* ---- scale and minimum ---- */

/* Range of a group, and its sums of w and w * x. */
struct range {
    float low;
    float high;
    double w;
    double x;
    double deviation;
};

static void measure(const float *values, const float *weight, size_t count, int below, struct range *out)
{
    struct quant_spread spread;
    quant_measure(values, count, &spread);
    *out = (struct range){below && spread.low > 0 ? 0 : spread.low, spread.high, (double)count, spread.x,
                          deviation(&spread, count, 1)};
    if (weight == NULL)
        return;
    out->w = out->x = 0;
    for (size_t i = 0; i < count; i++) {
        out->w += (double)weight[i];
        out->x += (double)weight[i] * (double)values[i];
    }
}

/* Best d and m for the codes of each candidate, and the squared error less the sum of w * x * x. */
struct solution {
    double d[QUANT_CANDIDATES];
    double m[QUANT_CANDIDATES];
    double error[QUANT_CANDIDATES];
};

static void solve(const struct quant_sums *s, double w, double x, struct solution *out)
{
    for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
        const double q = (double)s->q[c], qq = (double)s->qq[c], xq = (double)s->xq[c];
        const double inverse = 1 / (w * qq - q * q), d = (w * xq - x * q) * inverse, m = (qq * x - q * xq) * inverse;
        out->d[c] = d;
        out->m[c] = m;
        out->error[c] = d * d * qq + m * m * w + 2 * d * m * q - 2 * d * xq - 2 * m * x;
    }
}

/* Solves with m = 0, for an m that would exceed its bound of zero. */
static void solve_below(const struct quant_sums *s, size_t c, struct solution *out)
{
    const double qq = (double)s->qq[c], xq = (double)s->xq[c];
    out->m[c] = 0;
    out->d[c] = xq / qq;
    out->error[c] = out->d[c] * out->d[c] * qq - 2 * out->d[c] * xq;
}

/* Tries ranges that shrink by first .. last, on both sides together. */
static float try_shrinks(const float *values, const float *weight, size_t count, const struct range *range, int highest,
                         int below, float first, float last, double *best, float *out_d, float *out_m)
{
    const float width = range->high - range->low;
    struct quant_candidates candidates;
    struct quant_sums sums;
    struct solution found;
    float where = 0;
    for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
        const float shrink = factor_at(first, last, c);
        candidates.from[c] = below && range->low == 0 ? 0 : range->low + shrink * 0.5f * width;
        candidates.inverse[c] = (float)highest / ((1 - shrink) * width);
    }
    quant_sums_affine(values, weight, count, (float)highest, &candidates, &sums);
    solve(&sums, range->w, range->x, &found);
    for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
        if (below && found.m[c] > 0)
            solve_below(&sums, c, &found);
        /* Skips undetermined solutions: NaN, or a scale that is not positive. */
        if (!(found.error[c] < *best) || !(found.d[c] > 0) || !isfinite(found.d[c]) || !isfinite(found.m[c]))
            continue;
        *best = found.error[c];
        *out_d = (float)found.d[c];
        *out_m = (float)found.m[c];
        where = factor_at(first, last, c);
    }
    return where;
}

void quant_fit_affine(const float *values, const float *weight, size_t count, int highest, int below, float *out_d,
                      float *out_m)
{
    const float first = -0.08f;
    struct range range;
    double best = INFINITY;
    *out_d = *out_m = 0;
    if (count == 0)
        return;
    measure(values, weight, count, below, &range);
    const float width = range.high - range.low;
    *out_d = width > 0 ? width / (float)highest : 0;
    *out_m = range.low;
    if (!(width > 0) || !isfinite(width))
        return;
    double left = 2 * least_reach((highest + 1) / 2) * range.deviation / (double)width;
    const float last = left > 0.76 ? 0.24f : left < 0.1 ? 0.9f : (float)(1 - left), step = (last - first) / (float)LAST;
    float around = try_shrinks(values, weight, count, &range, highest, below, first, last, &best, out_d, out_m);
    try_shrinks(values, weight, count, &range, highest, below, around - step, around + step, &best, out_d, out_m);
}

float quant_fit_zero(const float *values, const float *weight, size_t count, int highest, float d, int *zero)
{
    struct best best = {0, d, 0, *zero};
    const int middle = *zero;
    for (int z = middle - 1; z <= middle + 1; z++) {
        const struct grid grid = {(float)-z, (float)(highest - z), NULL};
        if (z >= 0 && z <= highest)
            try_factors(values, weight, count, &grid, quant_reciprocal(d), 0.8f, 1.25f, z, &best);
    }
    *zero = best.side;
    return best.d;
}
