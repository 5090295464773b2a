/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of libaccel-quant: the loops that conversion of models spends its time in. Each has a plain form and forms for
 * vector instructions, and takes the best that the machine has; all forms add in the same order and fuse nothing, so
 * that every machine writes the same file.
 *
 * `weight` [count] may be NULL: all the same. Sums run in binary32 over up to 512 values, and in binary64 from there
 * on.
 */
#ifndef QUANT_SEARCH_H
#define QUANT_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Loops of 8 or 16 steps that nothing depends on are worth vectors here, which -O2 of GCC 12 leaves alone: a third of
 * the time of a search. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("O3")
#endif

#define QUANT_CANDIDATES 16u

/* What is tried: digits are those of (x - from) * inverse. */
struct quant_candidates {
    float inverse[QUANT_CANDIDATES];
    float from[QUANT_CANDIDATES]; /* read by quant_sums_affine only */
};

/* For each candidate the sums of w * q, w * q * q and w * q * x; q is a digit, or a level. */
struct quant_sums {
    float q[QUANT_CANDIDATES]; /* written by quant_sums_affine only */
    float qq[QUANT_CANDIDATES];
    float xq[QUANT_CANDIDATES];
};

/* Whole digits in [lowest, highest]. */
void quant_sums_symmetric(const float *values, const float *weight, size_t count, float lowest, float highest,
                          const struct quant_candidates *candidates, struct quant_sums *out);

/* Whole digits in [0, highest], counted from `from`. */
void quant_sums_affine(const float *values, const float *weight, size_t count, float highest,
                       const struct quant_candidates *candidates, struct quant_sums *out);

/* The nearest of 16 rising levels. */
void quant_sums_levels(const float *values, const float *weight, size_t count, const float level[16],
                       const struct quant_candidates *candidates, struct quant_sums *out);

/* Where the values of a group lie. */
struct quant_spread {
    float low;
    float high;
    double x;  /* the sum */
    double xx; /* the sum of squares */
};

/* `count` is not 0. */
void quant_measure(const float *values, size_t count, struct quant_spread *out);

/* The digit of the level nearest to each value * inverse, the lower one where two are as near. */
void quant_digits_levels(const float *values, size_t count, float inverse, const float level[16], uint8_t *out);

/* Widens `count` halves at any alignment. */
void quant_widen_halves(const uint8_t *bytes, size_t count, float *out);

#endif
