/* SPDX-License-Identifier: Apache-2.0 */
/** @file One id space for the types of tensors: plain scalars, interleaved block formats as GGUF stores them, and
 * planar quantized formats. accel/quant defines each format bit by bit, with its reference decoder. */
#ifndef ACCEL_TYPES_H
#define ACCEL_TYPES_H

#include <accel/abi.h>

#define ACCEL_TYPE_NONE 0u

/** The id of an interleaved block format: 0x100 + the number that GGUF files use. A row is a whole number of blocks. */
#define ACCEL_GGML(number) (0x100u + (number))

/** Ids of scalars and of interleaved block formats, from the rows of accel/quant/formats.def: ACCEL_F32 (IEEE 754
 * binary32), ACCEL_F16 (binary16), ACCEL_BF16 (the upper half of a binary32), ACCEL_F64 (binary64: no operator computes
 * in it), ACCEL_I32, ACCEL_BOOL (one byte, 0 or 1), ACCEL_Q4_0, ACCEL_Q4_K and so on. */
enum {
#define ACCEL_FORMAT(ID, name, id, ...) ACCEL_##ID = (id),
#define ACCEL_ELEMENT(ID, name, id, ...) ACCEL_##ID = (id),
#include <accel/quant/formats.def>
};

/* Planar formats: plane 0 holds the packed codes of a row, plane 1 its scales in f16, one per group along the
 * innermost dimension, plane 2 further data of the scheme. A symmetric code q of b bits means d * (q - 2^(b-1)). */
#define ACCEL_SCHEME_SYMMETRIC 0u
#define ACCEL_SCHEME_ASYMMETRIC 1u /**< plane 2 holds a zero point per group */
#define ACCEL_SCHEME_NF4 2u        /**< 4 bits: d * one of the 16 values of the normal-float codebook in accel/quant */
#define ACCEL_SCHEME_CODEBOOK 3u   /**< 4 bits: d * one of the 16 codebook values of the row, f16 in plane 2 */
#define ACCEL_SCHEME_FLOAT8 4u     /**< 8 bits: d * v / 256, v the value of the code as ACCEL_F8_E4M3 */
/** The id of a planar format: bits 2, 3, 4 or 8; log2 of the group (5 = 32 .. 9 = 512; 0: the whole row); scheme. */
#define ACCEL_PLANAR(bits, log2_group, scheme) (0x10000u | (bits) << 8 | (log2_group) << 4 | (scheme))
/** True for every id of ACCEL_PLANAR, whether a format has that id or not; `type` is evaluated once. */
#define ACCEL_IS_PLANAR(type) ((type) >> 16 == 1u)
/** Bits of a code. This and the two below require an id for which ACCEL_IS_PLANAR is true. */
#define ACCEL_PLANAR_BITS(type) ((type) >> 8 & 0xffu)
/** log2 of the group, 0: the whole row. */
#define ACCEL_PLANAR_LOG2_GROUP(type) ((type) >> 4 & 0xfu)
/** ACCEL_SCHEME_... */
#define ACCEL_PLANAR_SCHEME(type) ((type)&0xfu)
#define ACCEL_Q8_G32 ACCEL_PLANAR(8u, 5u, ACCEL_SCHEME_SYMMETRIC)
#define ACCEL_Q8_G128 ACCEL_PLANAR(8u, 7u, ACCEL_SCHEME_SYMMETRIC)
#define ACCEL_Q8_ROW ACCEL_PLANAR(8u, 0u, ACCEL_SCHEME_SYMMETRIC)
#define ACCEL_Q4_G32 ACCEL_PLANAR(4u, 5u, ACCEL_SCHEME_SYMMETRIC)
#define ACCEL_Q4_G128 ACCEL_PLANAR(4u, 7u, ACCEL_SCHEME_SYMMETRIC)

#endif
