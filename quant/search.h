/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to libaccel-quant: the hot loops of model conversion. Each exists in plain C and with vector instructions,
 * and the best available one is used; all versions add in the same order and fuse nothing, so that every machine writes
 * the same file.
 *
 * `weight` [count] may be NULL: equal. Sums are in binary32 over up to 512 values, and in binary64 beyond.
 */
#ifndef QUANT_SEARCH_H
#define QUANT_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Independent loops of 8 or 16 steps profit from vectors here, which -O2 of GCC 12 does not generate: a third of the
 * time of a search. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("O3")
#endif

#define QUANT_CANDIDATES 16u

/* Candidates: codes are those of (x - from) * inverse. */
struct quant_candidates {
    float inverse[QUANT_CANDIDATES];
    float from[QUANT_CANDIDATES]; /* read by quant_sums_affine only */
};

/* Per candidate the sums of w * q, w * q * q and w * q * x; q is a code, or a codebook entry. */
struct quant_sums {
    float q[QUANT_CANDIDATES]; /* written by quant_sums_affine only */
    float qq[QUANT_CANDIDATES];
    float xq[QUANT_CANDIDATES];
};

/* Sums for integer codes in [lowest, highest]. */
void quant_sums_symmetric(const float *values, const float *weight, size_t count, float lowest, float highest,
                          const struct quant_candidates *candidates, struct quant_sums *out);

/* Sums for integer codes in [0, highest], counted from `from`. */
void quant_sums_affine(const float *values, const float *weight, size_t count, float highest,
                       const struct quant_candidates *candidates, struct quant_sums *out);

/* Sums for the nearest of 16 rising codebook entries. */
void quant_sums_codebook(const float *values, const float *weight, size_t count, const float codebook[16],
                         const struct quant_candidates *candidates, struct quant_sums *out);

/* Range and moments of a group. */
struct quant_spread {
    float low;
    float high;
    double x;  /* the sum */
    double xx; /* the sum of squares */
};

/* Measures a group; `count` is not 0. */
void quant_measure(const float *values, size_t count, struct quant_spread *out);

/* Finds the code of the codebook entry nearest to each value * inverse, the lower one of a tie. */
void quant_find_codes(const float *values, size_t count, float inverse, const float codebook[16], uint8_t *out);

/* Widens `count` halves at any alignment. */
void quant_widen_halves(const uint8_t *bytes, size_t count, float *out);

#endif
