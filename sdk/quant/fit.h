/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of libaccel-quant: the scale, or scale and minimum, under which a group of values loses least when its digits
 * are rounded. `weight` says how much the error of each value counts, NULL: all the same. Plain functions without
 * state.
 */
#ifndef QUANT_FIT_H
#define QUANT_FIT_H

#include <stddef.h>

/* Values d * q with whole q in [lowest, highest], lowest < 0. Answers d, whose sign may be either. */
float quant_fit_symmetric(const float *values, const float *weight, size_t count, int lowest, int highest);

/* Values d * q + m with q in [0, highest] and d >= 0. Where `below` is set m is never above zero. */
void quant_fit_affine(const float *values, const float *weight, size_t count, int highest, int below, float *out_d,
                      float *out_m);

/* Values d * (q - zero) with q in [0, highest] and whole zero. Takes a first d and zero; answers the best d near it and
 * writes the best zero next to it. */
float quant_fit_zero(const float *values, const float *weight, size_t count, int highest, float d, int *zero);

/* Values d * l with l out of 16 rising levels. Answers d, whose sign may be either. */
float quant_fit_levels(const float *values, const float *weight, size_t count, const float level[16]);

/* The same near a d that is known already. */
float quant_fit_around(const float *values, const float *weight, size_t count, const float level[16], float d);

/* The value of largest magnitude, with its sign. */
float quant_extreme(const float *values, size_t count);

/* 1 / d, or 0 where that is no finite number: such a group is stored with scale 0 anyway. */
float quant_reciprocal(float d);

/* To nearest, ties to even; for numbers below 2^22. Adding 1.5 * 2^23 leaves no bits behind the point, and unlike
 * rintf it is a vector instruction everywhere. */
static inline float quant_round(float value)
{
    const float magic = 12582912.0f;
    return (value + magic) - magic;
}

/* NaN becomes `low`: the inverse of a tiny scale may be infinite, and zero times it is no number. What comes out is
 * safe to convert to a whole number and to index with. */
static inline float quant_clamp(float value, float low, float high)
{
    return value > low ? value < high ? value : high : low;
}

#endif
