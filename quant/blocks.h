/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to libaccel-quant: decoders of scalars and of one block each. `block` has the bytes of one block at any
 * alignment, `out` takes its values. The order of operations defines the format, so that nothing may be fused: this
 * folder is compiled with contraction off.
 */
#ifndef QUANT_BLOCKS_H
#define QUANT_BLOCKS_H

#include <stddef.h>

#include <accel/quant/half.h>
#include <accel/types.h>

/* Widens `count` values of a scalar format. */
typedef void quant_widen(const uint8_t *bytes, size_t count, float *out);
typedef void quant_decode_block(const uint8_t *block, float *out);
/* Unpacks a block of 256 values: value i is scales[i / 16] * codes[i]. */
typedef void quant_unpack_block(const uint8_t *block, int8_t codes[256], float scales[16]);

/* Applies a macro by the column `code` of formats.def: to scalars, to blocks, and to blocks that are unpacked. */
#define QUANT_CODE_FLOAT(SCALAR, BLOCK, GRID, ...) SCALAR(__VA_ARGS__)
#define QUANT_CODE_HALF(SCALAR, BLOCK, GRID, ...) SCALAR(__VA_ARGS__)
#define QUANT_CODE_FLOAT8(SCALAR, BLOCK, GRID, ...) SCALAR(__VA_ARGS__)
#define QUANT_CODE_INTEGER(SCALAR, BLOCK, GRID, ...)
#define QUANT_CODE_PLAIN(SCALAR, BLOCK, GRID, ...) BLOCK(__VA_ARGS__)
#define QUANT_CODE_PLAIN_MINIMUM(SCALAR, BLOCK, GRID, ...) BLOCK(__VA_ARGS__)
#define QUANT_CODE_SCALED(SCALAR, BLOCK, GRID, ...) BLOCK(__VA_ARGS__)
#define QUANT_CODE_MINIMUM(SCALAR, BLOCK, GRID, ...) BLOCK(__VA_ARGS__)
#define QUANT_CODE_CODEBOOK(SCALAR, BLOCK, GRID, ...) BLOCK(__VA_ARGS__)
#define QUANT_CODE_GRID(SCALAR, BLOCK, GRID, ...) GRID(__VA_ARGS__)

/* Every decoder: quant_widen_NAME, quant_decode_NAME or quant_unpack_NAME. */
#define WIDEN(name) quant_widen quant_widen_##name;
#define DECODE(name) quant_decode_block quant_decode_##name;
#define UNPACK(name) quant_unpack_block quant_unpack_##name;
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...) QUANT_CODE_##code(WIDEN, DECODE, UNPACK, name)
#define ACCEL_ELEMENT(ID, name, id, values, bytes, bits, group, code, ...)                                             \
    QUANT_CODE_##code(WIDEN, DECODE, UNPACK, name)
#include <accel/quant/formats.def>
#undef WIDEN
#undef DECODE
#undef UNPACK

/* Returns 6-bit scale `group` of the 12 bytes in which q3_k packs 16 of them. */
int quant_q3_scale(const uint8_t *packed, int group);

/* Unpacks 6-bit scale and minimum `group` of the 12 bytes in which q4_k and q5_k pack 8 of each. */
void quant_scale_min(const uint8_t *packed, int group, int *out_scale, int *out_min);

static inline uint16_t quant_read16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t quant_read32(const uint8_t *bytes)
{
    return (uint32_t)quant_read16(bytes) | (uint32_t)quant_read16(bytes + 2) << 16;
}

/* Decodes the scale of mxfp4, an exponent: half of 2^(byte - 127), as the codebook is stored doubled. 0 and 1 give
 * subnormal floats. */
static inline float quant_read_exponent(uint8_t byte)
{
    return accel_f32_from_bits(byte < 2 ? 0x200000u << byte : (uint32_t)(byte - 1) << 23);
}

static inline float quant_read_half(const uint8_t *bytes)
{
    return accel_f16_to_f32(quant_read16(bytes));
}

#endif
