/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The registry of tensor formats: what every type id of accel/types.h means in bytes, its reference decoder, and
 * encoders; formats.def lists them. Plain C without state: every function may be called from any thread, allocates
 * nothing and keeps no pointer.
 *
 * A row is the innermost dimension of a tensor. A format cuts it into blocks of `block_values` values; a block has
 * `plane_bytes[p]` bytes in plane p, and the blocks of a row lie one after the other in each plane. Beside its blocks a
 * row has `row_bytes[p]` bytes in plane p; no plane has both. accel_format_row_bytes adds them up. Scalars and
 * interleaved formats have one plane. A row holds a whole number of blocks; anything else is refused.
 *
 * Planar formats (ACCEL_PLANAR): a block is one group, or 32 values where one group is the whole row. Plane 0 holds
 * digits, 32 values at a time, without padding:
 *  - 8 bits: one byte per value;
 *  - 4 bits: 16 bytes, byte j holds value j in its low and value j + 16 in its high half;
 *  - 2 bits: 8 bytes, byte j holds values j, j + 8, j + 16, j + 24, lowest bits first;
 *  - 3 bits: 12 bytes, first the low two bits of each value as in the 2-bit form, then 4 bytes in which bit i of the
 *    little-endian word is the third bit of value i.
 * Plane 1 holds one scale per group in binary16. Symmetric: value = d * (q - 2^(bits-1)). Asymmetric: plane 2 holds
 * one byte z per group and value = d * (q - z). NF4: value = d * accel_format_nf4[q]. Codebook: plane 2 holds 16 levels
 * per row in binary16, rising, and value = d * level[q]. Float8: value = d * (v / 256), v the value of q as f8_e4m3.
 */
#ifndef ACCEL_QUANT_FORMAT_H
#define ACCEL_QUANT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>
#include <accel/types.h>

ACCEL_BEGIN_C

#define ACCEL_FORMAT_SCALAR 1u      /**< one value per element */
#define ACCEL_FORMAT_INTERLEAVED 2u /**< blocks as GGUF files store them: scales and codes together */
#define ACCEL_FORMAT_PLANAR 3u      /**< codes, scales and zero points in separate planes */

/** Number of a format in formats.def that GGUF files do not have. */
#define ACCEL_NOT_IN_GGUF UINT32_MAX

/** Most planes that a format has. */
#define ACCEL_FORMAT_PLANES 4u

/** Properties of a format (closed struct; the caller owns it). */
struct accel_format {
    uint32_t type;                             /**< id, accel/types.h */
    uint32_t kind;                             /**< ACCEL_FORMAT_... */
    uint32_t block_values;                     /**< values per block: 1 for scalars, the group of planar formats */
    uint32_t planes;                           /**< 1 .. ACCEL_FORMAT_PLANES */
    uint32_t plane_bytes[ACCEL_FORMAT_PLANES]; /**< bytes of a block in each plane; 0 past `planes` */
    uint32_t row_bytes[ACCEL_FORMAT_PLANES];   /**< bytes of a row in each plane beside those of its blocks */
    uint32_t digit_bits;                       /**< bits of a code without scales; the width of a scalar */
    uint32_t group;                            /**< values under one scale of a planar format; 0: the whole row */
    double bits_per_value;                     /**< real bits per value, scales included, `row_bytes` not (exact) */
    char name[16]; /**< as printed: "q4_0", "q4_g128", "q2_g64a" (asymmetric), "q3_row", "nf4_g64", "c4_g128",
                      "f8_g128" */
};

/**
 * Describes a type id. `out_format` is written on success only.
 * Errors: ACCEL_E_UNSUPPORTED for an id without a meaning.
 */
int32_t accel_format_describe(uint32_t type, struct accel_format *out_format);

/**
 * The type id that a name means (the spelling of `accel_format.name`; upper and lower case count as equal),
 * ACCEL_TYPE_NONE if none.
 */
uint32_t accel_format_find(const char *name);

/** The type id of a format of weights, by number from 0: those of formats.def, then each planar format with each of its
 * groups; ACCEL_TYPE_NONE past the last. */
uint32_t accel_format_type(uint32_t index);

/** The levels of ACCEL_SCHEME_NF4, rising from -1 to 1. */
extern const float accel_format_nf4[16];

/**
 * Bits per weight of a row of `width` values, all scales, zero points and codebooks included. 0 for an unknown id, for
 * a row that is no whole number of blocks and for a width of 0.
 */
double accel_format_bits(uint32_t type, size_t width);

/**
 * The type nearest to `type` that rows of `width` values can have: `type` itself where it divides them, a planar type
 * with the largest smaller group that divides them, else ACCEL_F16. A group of the whole row is never narrowed: where
 * 32 does not divide the row it comes to ACCEL_F16. So do interleaved types that do not fit, and unknown ids.
 */
uint32_t accel_format_narrow(uint32_t type, size_t width);

/**
 * Bytes of a row of `values` values in one plane.
 * Errors: ACCEL_E_UNSUPPORTED for an unknown id, ACCEL_E_INVALID for a plane that the format lacks or a row that is
 * no whole number of blocks, ACCEL_E_LIMIT when the size does not fit.
 */
int32_t accel_format_row_bytes(uint32_t type, uint32_t plane, size_t values, size_t *out_bytes);

/**
 * Decodes a row of `values` values: the reference, bit for bit, each operation rounded to binary32 in the order in
 * which the format is defined. `planes` has the format's count of pointers, any alignment; `out` has a capacity of
 * `values`. Errors: as accel_format_row_bytes; ACCEL_E_UNSUPPORTED for the integer types, which carry no real values.
 */
int32_t accel_format_decode(uint32_t type, const void *const *planes, size_t values, float *out);

/** Unpacks one block of a format of 256 values whose codes are entries of a code grid or powers of three (IQ1, IQ2,
 * IQ3, TQ1, TQ2): value i is scales[i / 16] * codes[i], exactly the float of accel_format_decode. `codes` holds
 * 256 values, `scales` 16. Errors: ACCEL_E_UNSUPPORTED for every other format. */
int32_t accel_format_unpack(uint32_t type, const void *block, int8_t *codes, float *scales);

/**
 * Encodes a row of `count` values, rounding to nearest under the scale that the group's extreme gives: f32, f16, bf16,
 * the interleaved formats but those of accel_format_unpack, and every planar one. Formats with blocks of 256 values,
 * whose scales are rounded too, search as accel_format_fit does. Values have to be finite; a group beyond the range of
 * a binary16 scale saturates. Errors: as accel_format_row_bytes; ACCEL_E_UNSUPPORTED for a format without an encoder.
 */
int32_t accel_format_encode(uint32_t type, const float *values, size_t count, void *const *planes);

/**
 * Encodes a row of `count` values under the scales that leave the smallest sum of `weight` times squared error that a
 * search over candidates and least squares find. `weight` [count] is not negative; NULL: all the same. Else as
 * accel_format_encode.
 */
int32_t accel_format_fit(uint32_t type, const float *values, const float *weight, size_t count, void *const *planes);

/** Most levels of a table (accel_format_run). */
#define ACCEL_FORMAT_LEVELS 16u

/** Neighbouring values of an encoded row that may take the same levels (closed struct; the caller owns it). */
struct accel_format_run {
    uint32_t count;                   /**< values from the requested one to the last under this scale */
    uint32_t levels;                  /**< 0: code q means scale * q + offset; else scale * level[q] */
    float scale;                      /**< may be zero or negative */
    float offset;                     /**< -0.0 where the format has none, which changes no sum */
    int32_t lowest;                   /**< lowest code */
    int32_t highest;                  /**< to here */
    float level[ACCEL_FORMAT_LEVELS]; /**< in any order; the first `levels` are set */
};

/** Returns the codes that value `index` of an encoded row of `values` values, and later values under its scale, may
 * take without a change of the scale, for encoders that choose codes by other means than rounding. Each operation
 * of the formula rounded to binary32 gives the float of accel_format_decode. For all types that can be encoded
 * except scalars and planar floats. Errors: as accel_format_row_bytes; ACCEL_E_INVALID for an index past the row;
 * ACCEL_E_UNSUPPORTED for other types. */
int32_t accel_format_levels(uint32_t type, const void *const *planes, size_t values, size_t index,
                            struct accel_format_run *out_run);

/** Stores codes [count] as values `index` .. `index` + `count` of an encoded row; scales stay. Each code must lie
 * in the range that accel_format_levels returns for its value. Errors: as accel_format_levels. */
int32_t accel_format_put(uint32_t type, void *const *planes, size_t values, size_t index, size_t count,
                         const int32_t *codes);

ACCEL_END_C

#endif
