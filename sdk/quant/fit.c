/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches over scales. Each candidate fixes the digits; for these the best scale follows by least squares, and the
 * candidate that leaves least wins. Bound: operations; the loops are written over LANES values at a time with a sum for
 * each lane, so that the compiler may use vectors without adding in another order.
 */
#include "fit.h"

#include <math.h>
#include <string.h>

#define LANES 8u
#define PADDED(count) (((count) + LANES - 1) / LANES * LANES)

/* A group with zeros of no weight behind it, up to whole lanes. */
struct group {
    float value[QUANT_GROUP];
    float weight[QUANT_GROUP];
    size_t count; /* padded */
};

static void copy_group(struct group *group, const float *values, const float *weight, size_t count)
{
    group->count = PADDED(count);
    for (size_t i = 0; i < group->count; i++) {
        group->value[i] = i < count ? values[i] : 0;
        group->weight[i] = i >= count ? 0 : weight ? weight[i] : 1;
    }
}

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

static float sum_lanes(const float lanes[LANES])
{
    float sum = 0;
    for (size_t j = 0; j < LANES; j++)
        sum += lanes[j];
    return sum;
}

/* ---- one scale ---- */

/* Sums of w * x * q and w * q * q for the digits under 1 / inverse. */
static void sums_symmetric(const struct group *group, float inverse, float lowest, float highest, float *out_xq,
                           float *out_qq)
{
    float xq[LANES] = {0}, qq[LANES] = {0};
    for (size_t i = 0; i < group->count; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            float q = group->value[i + j] * inverse;
            q = q < lowest ? lowest : q;
            q = q > highest ? highest : q;
            q = quant_round(q);
            float wq = group->weight[i + j] * q;
            xq[j] += wq * group->value[i + j];
            qq[j] += wq * q;
        }
    }
    *out_xq = sum_lanes(xq);
    *out_qq = sum_lanes(qq);
}

float quant_fit_symmetric(const float *values, const float *weight, size_t count, int lowest, int highest)
{
    struct group group;
    float most = quant_extreme(values, count), best = 0, best_d = 0;
    /* From a third over the range to a little inside of it: few bits gain by clipping, many do not. */
    const float step = (float)-lowest / 40.0f;
    if (most == 0)
        return 0;
    copy_group(&group, values, weight, count);
    for (int side = 0; side < 2; side++) {
        const float end = side ? (float)highest : (float)lowest;
        for (int t = -4; t <= 14; t++) {
            float levels = end + (side ? 1.0f : -1.0f) * step * (float)t, xq, qq;
            sums_symmetric(&group, levels / most, (float)lowest, (float)highest, &xq, &qq);
            /* The squared error is the sum of w * x * x less this. */
            if (qq > 0 && xq * xq > best * qq) {
                best = xq * xq / qq;
                best_d = xq / qq;
            }
        }
    }
    return best_d;
}

/* ---- scale and minimum ---- */

struct affine_sums {
    float q, qq, xq, error;
};

/* Sums for the digits of x - m under 1 / inverse. */
static void sums_affine(const struct group *group, float m, float inverse, float highest, struct affine_sums *out)
{
    float q_sum[LANES] = {0}, qq[LANES] = {0}, xq[LANES] = {0};
    for (size_t i = 0; i < group->count; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            float q = (group->value[i + j] - m) * inverse;
            q = q < 0 ? 0 : q;
            q = q > highest ? highest : q;
            q = quant_round(q);
            float wq = group->weight[i + j] * q;
            q_sum[j] += wq;
            qq[j] += wq * q;
            xq[j] += wq * group->value[i + j];
        }
    }
    *out = (struct affine_sums){sum_lanes(q_sum), sum_lanes(qq), sum_lanes(xq), 0};
}

/* The d and m that are best for fixed digits; false where they are not determined. */
static int solve(const struct affine_sums *s, float w, float x, int below, float *d, float *m)
{
    float determinant = w * s->qq - s->q * s->q;
    if (determinant <= 0 || s->qq <= 0)
        return 0;
    *d = (w * s->xq - x * s->q) / determinant;
    *m = (s->qq * x - s->q * s->xq) / determinant;
    if (below && *m > 0) {
        *m = 0;
        *d = s->xq / s->qq;
    }
    return *d > 0 && isfinite(*d) && isfinite(*m);
}

void quant_fit_affine(const float *values, const float *weight, size_t count, int highest, int below, float *out_d,
                      float *out_m)
{
    struct group group;
    float low = values[0], high = values[0], w = 0, x = 0, best = INFINITY;
    for (size_t i = 0; i < count; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    if (below && low > 0)
        low = 0;
    *out_d = high > low ? (high - low) / (float)highest : 0;
    *out_m = low;
    if (high <= low)
        return;
    copy_group(&group, values, weight, count);
    for (size_t i = 0; i < count; i++) {
        w += group.weight[i];
        x += group.weight[i] * values[i];
    }
    for (int t = -4; t <= 12; t++) {
        /* The range shrinks from both sides, as it gains at both. */
        float shrink = 0.02f * (float)t, range = high - low;
        float from = below && low == 0 ? 0 : low + shrink * 0.5f * range, d, m, error;
        struct affine_sums s;
        sums_affine(&group, from, (float)highest / ((1 - shrink) * range), (float)highest, &s);
        if (!solve(&s, w, x, below, &d, &m))
            continue;
        /* The squared error less the sum of w * x * x. */
        error = d * d * s.qq + m * m * w + 2 * d * m * s.q - 2 * d * s.xq - 2 * m * x;
        if (error < best) {
            best = error;
            *out_d = d;
            *out_m = m;
        }
    }
}

/* ---- levels of a table ---- */

int quant_nearest_level(const signed char level[16], float scaled)
{
    int low = 0, high = 15;
    if (scaled <= (float)level[0])
        return 0;
    if (scaled >= (float)level[15])
        return 15;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (scaled < (float)level[middle])
            high = middle;
        else
            low = middle;
    }
    return scaled - (float)level[low] < (float)level[high] - scaled ? low : high;
}

float quant_fit_levels(const float *values, const float *weight, size_t count, const signed char nearest[256])
{
    float most = quant_extreme(values, count), best = 0, best_d = 0;
    if (most == 0)
        return 0;
    for (int side = 0; side < 2; side++) {
        const float end = (float)nearest[side ? 255 : 0];
        for (int t = -4; t <= 10; t++) {
            float inverse = end * (1 + 0.025f * (float)t) / most, xq = 0, qq = 0;
            for (size_t i = 0; i < count; i++) {
                float q = (float)nearest[(int)quant_round(quant_clamp(values[i] * inverse, -128, 127)) + 128];
                float wq = weight ? weight[i] * q : q;
                xq += wq * values[i];
                qq += wq * q;
            }
            if (qq > 0 && xq * xq > best * qq) {
                best = xq * xq / qq;
                best_d = xq / qq;
            }
        }
    }
    return best_d;
}
