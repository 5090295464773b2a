/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to libaccel-quant: fits the scale, or scale and minimum, that minimizes the rounding error of a group.
 * `weight` is the importance of each value's error, NULL: equal. Plain functions without state.
 */
#ifndef QUANT_FIT_H
#define QUANT_FIT_H

#include <stddef.h>

/* Fits values d * q with integer q in [lowest, highest], lowest < 0. Returns d, of either sign. */
float quant_fit_symmetric(const float *values, const float *weight, size_t count, int lowest, int highest);

/* Fits values d * q + m with q in [0, highest] and d >= 0. If `below` is set m is never above zero. */
void quant_fit_affine(const float *values, const float *weight, size_t count, int highest, int below, float *out_d,
                      float *out_m);

/* Fits values d * (q - zero) with q in [0, highest] and integer zero. Starts from d and zero; returns the best d nearby
 * and writes the best zero next to the first. */
float quant_fit_zero(const float *values, const float *weight, size_t count, int highest, float d, int *zero);

/* Fits values d * l with l out of 16 rising codebook entries. Returns d, of either sign. */
float quant_fit_codebook(const float *values, const float *weight, size_t count, const float codebook[16]);

/* Refines a known d of quant_fit_codebook. */
float quant_refit_codebook(const float *values, const float *weight, size_t count, const float codebook[16], float d);

/* Returns the value of largest magnitude, with its sign. */
float quant_extreme(const float *values, size_t count);

/* Returns 1 / d, or 0 if that is not finite: such a group is stored with scale 0 anyway. */
float quant_reciprocal(float d);

/* Rounds to nearest, ties to even; for numbers below 2^22. Adding 1.5 * 2^23 leaves no fraction bits, and unlike rintf
 * it is a vector instruction everywhere. */
static inline float quant_round(float value)
{
    const float magic = 12582912.0f;
    return (value + magic) - magic;
}

/* Clamps to [low, high]. NaN becomes `low`: the reciprocal of a tiny scale may be infinite, and zero times it is NaN.
 * The result is safe to convert to an integer and to index with. */
static inline float quant_clamp(float value, float low, float high)
{
    return value > low ? value < high ? value : high : low;
}

#endif
