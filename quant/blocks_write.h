/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to libaccel-quant: encoders of one block each, the inverse of blocks.h. `weight` is the importance of each
 * value's error (NULL: equal). `search`: 0 derives the scale from the extreme value, 1 searches for the scale with the
 * least error. Formats of 256 values always search.
 */
#ifndef QUANT_BLOCKS_WRITE_H
#define QUANT_BLOCKS_WRITE_H

#include <stddef.h>

#include <accel/quant/format.h>

typedef void quant_encode_block(const float *values, const float *weight, int search, uint8_t *block);

quant_encode_block quant_encode_q4_0, quant_encode_q4_1, quant_encode_q5_0, quant_encode_q5_1, quant_encode_q8_0;
quant_encode_block quant_encode_q2_k, quant_encode_q3_k, quant_encode_q4_k, quant_encode_q5_k, quant_encode_q6_k;
quant_encode_block quant_encode_iq4_nl, quant_encode_iq4_xs, quant_encode_mxfp4;

/* Returns the weights of the values from `at` on, or NULL. */
static inline const float *quant_weight_at(const float *weight, size_t at)
{
    return weight ? weight + at : NULL;
}

/* Codebook of the iq4 formats. */
extern const signed char quant_iq4_codebook[16];

/* The codebook of the iq4 formats in binary32. */
extern const float quant_iq4_codebook_f32[16];

/* Codebook of mxfp4, doubled: a sign above two bits of exponent and one of fraction. */
extern const signed char quant_mxfp4_codebook[16];

/* Encodes a planar row of `count` values, a whole number of blocks. */
void quant_encode_planar(const struct accel_format *format, const float *values, const float *weight, int search,
                         size_t count, void *const *planes);

/*
 * Trains the 16-entry codebook of a row whose groups are divided by their scales: k-means weighted by the importance of
 * each value times the square of its scale. `scale` has a half per group of `group` values; entries are written as
 * halves, rising. `begin`: 1 starts anew, 0 continues from `codebook`.
 */
void quant_train_codebook(const float *values, const float *weight, size_t count, size_t group, const uint8_t *scale,
                          int begin, uint8_t *codebook);

/* Stores a half, clamped to the largest finite one. Returns the stored value. */
float quant_write_half(uint8_t *bytes, float value);

#endif
