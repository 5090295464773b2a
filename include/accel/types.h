/* SPDX-License-Identifier: Apache-2.0 */
/** @file One id space for the types of tensors: plain scalars, interleaved block formats as GGUF stores them, and
 * planar quantized formats. accel/quant defines each format bit by bit, with its reference decoder. */
#ifndef ACCEL_TYPES_H
#define ACCEL_TYPES_H

#include <accel/abi.h>

/* Plain scalars. */
#define ACCEL_TYPE_NONE 0u
#define ACCEL_F32 1u  /**< IEEE 754 binary32 */
#define ACCEL_F16 2u  /**< IEEE 754 binary16 */
#define ACCEL_BF16 3u /**< the upper half of a binary32 */
#define ACCEL_F64 4u  /**< IEEE 754 binary64: in files and in references; no operator computes in it */
#define ACCEL_I8 5u
#define ACCEL_I16 6u
#define ACCEL_I32 7u
#define ACCEL_I64 8u
#define ACCEL_U8 9u
#define ACCEL_BOOL 10u /**< one byte, 0 or 1 */

/* Interleaved block formats: 0x100 + the number that GGUF files use. A row is a whole number of blocks. */
#define ACCEL_GGML(number) (0x100u + (number))
#define ACCEL_Q4_0 ACCEL_GGML(2u)
#define ACCEL_Q4_1 ACCEL_GGML(3u)
#define ACCEL_Q5_0 ACCEL_GGML(6u)
#define ACCEL_Q5_1 ACCEL_GGML(7u)
#define ACCEL_Q8_0 ACCEL_GGML(8u)
#define ACCEL_Q2_K ACCEL_GGML(10u)
#define ACCEL_Q3_K ACCEL_GGML(11u)
#define ACCEL_Q4_K ACCEL_GGML(12u)
#define ACCEL_Q5_K ACCEL_GGML(13u)
#define ACCEL_Q6_K ACCEL_GGML(14u)
#define ACCEL_IQ4_NL ACCEL_GGML(20u)
#define ACCEL_IQ4_XS ACCEL_GGML(23u)
#define ACCEL_IQ2_XXS ACCEL_GGML(16u)
#define ACCEL_IQ2_XS ACCEL_GGML(17u)
#define ACCEL_IQ3_XXS ACCEL_GGML(18u)
#define ACCEL_IQ1_S ACCEL_GGML(19u)
#define ACCEL_IQ3_S ACCEL_GGML(21u)
#define ACCEL_IQ2_S ACCEL_GGML(22u)
#define ACCEL_IQ1_M ACCEL_GGML(29u)
#define ACCEL_TQ1_0 ACCEL_GGML(34u)
#define ACCEL_TQ2_0 ACCEL_GGML(35u)
#define ACCEL_MXFP4 ACCEL_GGML(39u)

/* Planar formats: plane 0 holds the packed codes of a row, plane 1 its scales in f16, one per group along the
 * innermost dimension, plane 2 further data of the scheme. A symmetric code q of b bits means d * (q - 2^(b-1)). */
#define ACCEL_SCHEME_SYMMETRIC 0u
#define ACCEL_SCHEME_ASYMMETRIC 1u /**< plane 2 holds a zero point per group */
#define ACCEL_SCHEME_NF4 2u        /**< 4 bits: d * one of the 16 values of the normal-float codebook in accel/quant */
#define ACCEL_SCHEME_CODEBOOK 3u   /**< 4 bits: d * one of the 16 codebook values of the row, f16 in plane 2 */
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
#define ACCEL_Q4_G32 ACCEL_PLANAR(4u, 5u, ACCEL_SCHEME_SYMMETRIC)
#define ACCEL_Q4_G128 ACCEL_PLANAR(4u, 7u, ACCEL_SCHEME_SYMMETRIC)

#endif
