/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to libaccel-quant: decoders of one block each. `block` has the bytes of one block at any alignment, `out`
 * takes its values. The order of operations defines the format, so that nothing may be fused: this folder is compiled
 * with contraction off.
 */
#ifndef QUANT_BLOCKS_H
#define QUANT_BLOCKS_H

#include <stddef.h>

#include <accel/quant/half.h>

typedef void quant_decode_block(const uint8_t *block, float *out);

quant_decode_block quant_decode_q4_0, quant_decode_q4_1, quant_decode_q5_0, quant_decode_q5_1, quant_decode_q8_0;
quant_decode_block quant_decode_q2_k, quant_decode_q3_k, quant_decode_q4_k, quant_decode_q5_k, quant_decode_q6_k;
quant_decode_block quant_decode_iq4_nl, quant_decode_iq4_xs, quant_decode_mxfp4;

/* Unpacks a block of 256 values: value i is scales[i / 16] * codes[i]. */
typedef void quant_unpack_block(const uint8_t *block, int8_t codes[256], float scales[16]);

quant_unpack_block quant_unpack_iq1_s, quant_unpack_iq1_m, quant_unpack_iq2_xxs, quant_unpack_iq2_xs,
    quant_unpack_iq2_s;
quant_unpack_block quant_unpack_iq3_xxs, quant_unpack_iq3_s, quant_unpack_tq1_0, quant_unpack_tq2_0;

/* Returns the unpacker of a type, NULL for types that have another decoder. */
quant_unpack_block *quant_unpacker(uint32_t type);

/* Returns code `index` of a planar row with codes of `bits` bits. */
uint32_t quant_planar_code(const uint8_t *codes, uint32_t bits, size_t index);

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
