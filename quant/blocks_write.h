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

/* Returns scale and offset of a group of a block. */
typedef void quant_group_scale(const uint8_t *block, uint32_t group, float *out_scale, float *out_offset);

/* Stores a code, counted from 0, as value `index` of the codes of a block. */
typedef void quant_put_code(uint8_t *codes, uint32_t index, uint32_t code);

/* The codes of an encoded block. */
struct quant_codes {
    int32_t lowest;              /* value of the code that is stored as 0 */
    int32_t highest;             /* of codebooks, the last code */
    const signed char *codebook; /* NULL: the code itself */
    quant_group_scale *scale;
    quant_put_code *put;
    uint32_t at; /* of the codes in the block, bytes */
};

/* Narrows `count` values to a scalar format. */
typedef void quant_narrow(const float *values, size_t count, uint8_t *bytes);

/* Every encoder: quant_narrow_NAME of scalars, quant_encode_NAME and quant_codes_NAME of blocks. QUANT_ENCODERS applies
 * SCALAR or BLOCK(type, name, group) to the formats that have one, by the column `use` of formats.def. */
#define QUANT_ENCODER_READ(code, ...)
#define QUANT_ENCODER_ENCODED(code, ...) QUANT_CODE_##code(SCALAR, BLOCK, BLOCK, __VA_ARGS__)
#define QUANT_ENCODER_WRITTEN(code, ...) QUANT_CODE_##code(SCALAR, BLOCK, BLOCK, __VA_ARGS__)
#define QUANT_ENCODERS(ID, name, id, values, bytes, bits, group, code, number, file_type, narrow, use, cache)          \
    QUANT_ENCODER_##use(code, ACCEL_##ID, name, group)

#define SCALAR(type, name, group) quant_narrow quant_narrow_##name;
#define BLOCK(type, name, group)                                                                                       \
    quant_encode_block quant_encode_##name;                                                                            \
    extern const struct quant_codes quant_codes_##name;
#define ACCEL_FORMAT QUANT_ENCODERS
#include <accel/quant/formats.def>
#undef SCALAR
#undef BLOCK

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
