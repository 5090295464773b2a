/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of libaccel-quant: encoders of one block each, the other way round of blocks.h. `weight` says how much the
 * error of each value counts (NULL: all the same). `search`: 0 takes the scale that the extreme value gives, 1 the one
 * under which least is lost. Formats of 256 values always search.
 */
#ifndef QUANT_BLOCKS_WRITE_H
#define QUANT_BLOCKS_WRITE_H

#include <accel/quant/format.h>
#include <stddef.h>

typedef void quant_encode_block(const float *values, const float *weight, int search, uint8_t *block);

quant_encode_block quant_encode_q4_0, quant_encode_q4_1, quant_encode_q5_0, quant_encode_q5_1, quant_encode_q8_0;
quant_encode_block quant_encode_q2_k, quant_encode_q3_k, quant_encode_q4_k, quant_encode_q5_k, quant_encode_q6_k;
quant_encode_block quant_encode_iq4_nl, quant_encode_iq4_xs, quant_encode_mxfp4;

/* The weights of the values from `at` on, where there are any. */
static inline const float *quant_weight_at(const float *weight, size_t at)
{
    return weight ? weight + at : NULL;
}

/* The levels of the iq4 formats. */
extern const signed char quant_iq4_levels[16];

/* The same numbers in binary32. */
extern const float quant_iq4_values[16];

/* The levels of mxfp4, doubled: a sign above two bits of exponent and one of fraction. */
extern const signed char quant_mxfp4_levels[16];

/* A planar row of `count` values, a whole number of blocks. */
void quant_encode_planar(const struct accel_format *format, const float *values, const float *weight, int search,
                         size_t count, void *const *planes);

/*
 * The 16 levels of a row whose groups are divided by their scales: k-means with the importance of each value times the
 * square of its scale. `scale` has a half per group of `group` values; the levels are written as halves, rising.
 * `begin`: 1 finds them anew, 0 goes on from `level`.
 */
void quant_fit_book(const float *values, const float *weight, size_t count, size_t group, const uint8_t *scale,
                    int begin, uint8_t *level);

/* Stores a half; what is too large for one becomes the largest. Answers the value as stored. */
float quant_write_half(uint8_t *bytes, float value);

#endif
