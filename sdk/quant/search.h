/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of libaccel-quant: the sums that a search over scales needs, for QUANT_CANDIDATES scales at a time. Each
 * function has a form per level of vector instructions and takes the best that the machine has; all of them add in the
 * same order and fuse nothing, so that every machine writes the same file.
 *
 * `weight` [count] may be NULL: all the same. Sums run over the values in order, in binary32 for up to 512 of them and
 * in binary64 from there on.
 */
#ifndef QUANT_SEARCH_H
#define QUANT_SEARCH_H

#include <stddef.h>

#define QUANT_CANDIDATES 16u

/* What is tried: digits are those of (x - from) * inverse. */
struct quant_candidates {
    float inverse[QUANT_CANDIDATES];
    float from[QUANT_CANDIDATES]; /* read by quant_sums_affine only */
};

/* For each candidate the sums of w * q, w * q * q and w * q * x; q is a digit, or a level. */
struct quant_sums {
    double q[QUANT_CANDIDATES]; /* written by quant_sums_affine only */
    double qq[QUANT_CANDIDATES];
    double xq[QUANT_CANDIDATES];
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

#endif
