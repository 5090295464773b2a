/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of libaccel-quant: decoders of one block each. `block` has the bytes of one block at any alignment,
 * `out` room for its values. The order of operations is the format's definition, so nothing here may be fused: the room
 * is compiled with contraction off.
 */
#ifndef QUANT_BLOCKS_H
#define QUANT_BLOCKS_H

#include <accel/quant/half.h>
#include <stddef.h>

typedef void quant_decode_block(const uint8_t *block, float *out);

quant_decode_block quant_decode_q4_0, quant_decode_q4_1, quant_decode_q5_0, quant_decode_q5_1, quant_decode_q8_0;
quant_decode_block quant_decode_q2_k, quant_decode_q3_k, quant_decode_q4_k, quant_decode_q5_k, quant_decode_q6_k;
quant_decode_block quant_decode_iq4_nl, quant_decode_iq4_xs, quant_decode_mxfp4;

/* Takes a block of 256 values apart: value i is scales[i / 16] * digits[i]. */
typedef void quant_unpack_block(const uint8_t *block, int8_t digits[256], float scales[16]);

quant_unpack_block quant_unpack_iq1_s, quant_unpack_iq1_m, quant_unpack_iq2_xxs, quant_unpack_iq2_xs,
    quant_unpack_iq2_s;
quant_unpack_block quant_unpack_iq3_xxs, quant_unpack_iq3_s, quant_unpack_tq1_0, quant_unpack_tq2_0;

/* The one of a type, NULL for types that are decoded otherwise. */
quant_unpack_block *quant_unpacker(uint32_t type);

/* The digit `index` of a planar row whose digits have `bits` bits. */
uint32_t quant_planar_digit(const uint8_t *digits, uint32_t bits, size_t index);

/* The 6-bit scale `group` of the 12 bytes in which q3_k packs 16 of them. */
int quant_q3_scale(const uint8_t *packed, int group);

/* The 6-bit scale and minimum `group` of the 12 bytes in which q4_k and q5_k pack 8 of each. */
void quant_scale_min(const uint8_t *packed, int group, int *out_scale, int *out_min);

static inline uint16_t quant_read16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t quant_read32(const uint8_t *bytes)
{
    return (uint32_t)quant_read16(bytes) | (uint32_t)quant_read16(bytes + 2) << 16;
}

/* The scale of mxfp4, an exponent: half of 2^(byte - 127), as digits are stored doubled. 0 and 1 give subnormal floats.
 */
static inline float quant_read_exponent(uint8_t byte)
{
    return accel_f32_from_bits(byte < 2 ? 0x200000u << byte : (uint32_t)(byte - 1) << 23);
}

static inline float quant_read_half(const uint8_t *bytes)
{
    return accel_f16_to_f32(quant_read16(bytes));
}

#endif
