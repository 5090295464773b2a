/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks blocks of 256 values whose codes are no plain bit fields: entries of a code grid (iq1, iq2, iq3) and powers
 * of three (tq1, tq2). The result is integer codes under sixteen scales, all exact in binary32.
 */

#include "blocks.h"
#include "grids.h"

#define EACH 0x0101010101010101ull /* times a byte: that byte eight times */

/* Returns the signs of eight values of which seven bits are stored: an even number of them is negative. */
static uint32_t even_signs(uint32_t seven)
{
    uint32_t parity = seven ^ seven >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return seven | (parity & 1u) << 7;
}

/* Spreads the eight codes of two bits of an entry to a byte each, the first lowest. */
static uint64_t spread_eight(uint32_t entry)
{
    uint64_t bytes = (entry | (uint64_t)entry << 24) & 0x000000ff000000ffull;
    bytes = (bytes | bytes << 12) & 0x000f000f000f000full;
    return (bytes | bytes << 6) & 3 * EACH;
}

/* Spreads the four codes of three bits of an entry. */
static uint64_t spread_four(uint32_t entry)
{
    return (entry & 7u) | (entry & 070u) << 5 | (entry & 0700u) << 10 | (entry & 07000u) << 15;
}

/* Stores four bytes, the lowest first; without a loop compilers make one store of it. */
static void put_four(uint32_t bytes, int8_t *codes)
{
    codes[0] = (int8_t)bytes;
    codes[1] = (int8_t)(bytes >> 8);
    codes[2] = (int8_t)(bytes >> 16);
    codes[3] = (int8_t)(bytes >> 24);
}

static void put_eight(uint64_t bytes, int8_t *codes)
{
    put_four((uint32_t)bytes, codes);
    put_four((uint32_t)(bytes >> 32), codes + 4);
}

/* Negates the bytes, 1 to 127 each, of which the bit of `signs` is set. */
static uint64_t with_signs(uint64_t bytes, uint32_t signs)
{
    const uint64_t apart = (signs & 255u) * EACH & 0x8040201008040201ull, ones = (apart + 127 * EACH) >> 7 & EACH;
    return (bytes ^ ones * 255) + ones;
}

/* Stores an entry of iq2: 8, 25 or 43. */
static void put_entry_iq2(uint32_t entry, uint32_t signs, int8_t *codes)
{
    const uint64_t bytes = spread_eight(entry);
    put_eight(with_signs(8 * EACH + 17 * bytes + (bytes >> 1 & EACH), signs), codes);
}

/* Stores the scales of two groups of 16, four bits each: d * (s + 1/2) / 4. */
static void put_scales_iq2(float d, uint32_t low, uint32_t high, float *scales)
{
    scales[0] = d * (0.5f + (float)low) * 0.25f;
    scales[1] = d * (0.5f + (float)high) * 0.25f;
}

/* Block, per 32 values eight bytes: four entries, then 4 x 7 signs and a scale of 4 bits. */
void quant_unpack_iq2_xxs(const uint8_t *block, int8_t *codes, float *scales)
{
    const float d = quant_read_half(block);
    for (uint32_t g = 0; g < 8; g++) {
        const uint8_t *group = block + 2 + 8 * g;
        const uint32_t rest = quant_read32(group + 4);
        put_scales_iq2(d, rest >> 28, rest >> 28, scales + 2 * g);
        for (uint32_t l = 0; l < 4; l++)
            put_entry_iq2(quant_grid_iq2_xxs[group[l]], even_signs(rest >> 7 * l & 127u), codes + 32 * g + 8 * l);
    }
}

/* Block: 32 words of a 9-bit entry and 7 signs, then eight bytes of two scales. */
void quant_unpack_iq2_xs(const uint8_t *block, int8_t *codes, float *scales)
{
    const float d = quant_read_half(block);
    for (uint32_t g = 0; g < 8; g++)
        put_scales_iq2(d, block[66 + g] & 15u, block[66 + g] >> 4, scales + 2 * g);
    for (uint32_t l = 0; l < 32; l++) {
        const uint32_t word = quant_read16(block + 2 + 2 * l);
        put_entry_iq2(quant_grid_iq2_xs[word & 511u], even_signs(word >> 9), codes + 8 * l);
    }
}

/* Block: 32 bytes of entries, 32 of signs, eight that hold the upper two bits of four entries each, eight of two
 * scales. */
void quant_unpack_iq2_s(const uint8_t *block, int8_t *codes, float *scales)
{
    const float d = quant_read_half(block);
    for (uint32_t g = 0; g < 8; g++)
        put_scales_iq2(d, block[74 + g] & 15u, block[74 + g] >> 4, scales + 2 * g);
    for (uint32_t l = 0; l < 32; l++) {
        const uint32_t entry = block[2 + l] | (uint32_t)(block[66 + l / 4] >> l % 4 * 2 & 3u) << 8;
        put_entry_iq2(quant_grid_iq2_s[entry], block[34 + l], codes + 8 * l);
    }
}

/* Block: 64 bytes of entries of four values, then per 32 values a word of 4 x 7 signs and a scale of 4 bits. */
void quant_unpack_iq3_xxs(const uint8_t *block, int8_t *codes, float *scales)
{
    const float d = quant_read_half(block);
    for (uint32_t g = 0; g < 8; g++) {
        const uint32_t rest = quant_read32(block + 66 + 4 * g);
        scales[2 * g] = scales[2 * g + 1] = d * (0.5f + (float)(rest >> 28)) * 0.5f;
        for (uint32_t l = 0; l < 8; l++) {
            const uint64_t bytes = spread_four(quant_grid_iq3_xxs[block[2 + 8 * g + l]]);
            /* 4, 12 .. 52 and 62 */
            const uint64_t values = 4 * EACH + 8 * bytes + 2 * (bytes & bytes >> 1 & bytes >> 2 & EACH);
            put_four((uint32_t)with_signs(values, even_signs(rest >> l / 2 * 7 & 127u) >> l % 2 * 4),
                     codes + 32 * g + 4 * l);
        }
    }
}

/* Block: 64 bytes of entries of four values, eight bytes of their ninth bits, 32 of signs, four of two scales of 32. */
void quant_unpack_iq3_s(const uint8_t *block, int8_t *codes, float *scales)
{
    const float d = quant_read_half(block);
    for (uint32_t g = 0; g < 8; g++) {
        const uint32_t scale = block[106 + g / 2] >> g % 2 * 4 & 15u;
        scales[2 * g] = scales[2 * g + 1] = d * (float)(1 + 2 * scale);
    }
    for (uint32_t l = 0; l < 64; l++) {
        const uint32_t entry = block[2 + l] | (uint32_t)(block[66 + l / 8] >> l % 8 & 1u) << 8;
        put_four((uint32_t)with_signs(EACH + 2 * spread_four(quant_grid_iq3_s[entry]),
                                      (uint32_t)block[74 + l / 2] >> l % 2 * 4),
                 codes + 4 * l);
    }
}

/* Stores an entry of iq1, -1, 0 or 1, shifted by an eighth up or down: in eighths the codes are integers. */
static void put_entry_iq1(uint32_t entry, int down, int8_t *codes)
{
    const uint64_t above = 8 * spread_eight(quant_grid_iq1[entry]) + (128 - 8 + (down ? -1 : 1)) * EACH;
    put_eight(above ^ 128 * EACH, codes);
}

/* Block: 32 bytes of entries; per 32 values a word: four times the upper 3 bits of an entry, a scale of 3 bits, a
 * shift. */
void quant_unpack_iq1_s(const uint8_t *block, int8_t *codes, float *scales)
{
    const float d = quant_read_half(block);
    for (uint32_t g = 0; g < 8; g++) {
        const uint32_t word = quant_read16(block + 34 + 2 * g);
        scales[2 * g] = scales[2 * g + 1] = d * (float)(2 * (word >> 12 & 7u) + 1) * 0.125f;
        for (uint32_t l = 0; l < 4; l++)
            put_entry_iq1(block[2 + 4 * g + l] | (word >> 3 * l & 7u) << 8, (word & 0x8000u) != 0,
                          codes + 32 * g + 8 * l);
    }
}

/* Block: 32 bytes of entries; 16 of two nibbles, 3 upper bits and a shift for an entry; four words of four scales of 3
 * bits, whose upper four bits are a quarter of the block's scale. */
void quant_unpack_iq1_m(const uint8_t *block, int8_t *codes, float *scales)
{
    uint32_t half = 0;
    for (uint32_t w = 0; w < 4; w++)
        half |= (uint32_t)(block[49 + 2 * w] >> 4) << 4 * w;
    const float d = accel_f16_to_f32((uint16_t)half);
    for (uint32_t g = 0; g < 16; g++) {
        const uint32_t scale = quant_read16(block + 48 + g / 4 * 2) >> g % 4 * 3 & 7u;
        scales[g] = d * (float)(2 * scale + 1) * 0.125f;
    }
    for (uint32_t l = 0; l < 32; l++) {
        const uint32_t high = block[32 + l / 2] >> l % 2 * 4 & 15u;
        put_entry_iq1(block[l] | (high & 7u) << 8, (high & 8u) != 0, codes + 8 * l);
    }
}

/* Stores four bytes less 1. */
static void put_four_less_one(uint32_t bytes, int8_t *codes)
{
    put_four((bytes + 0x7f7f7f7fu) ^ 0x80808080u, codes);
}

/* Returns the code of each of four bytes, of which each holds five, the highest first: byte / 256 is a base-three
 * fraction. `power`: of three, as many as codes before. */
static uint32_t ternary(uint32_t four, uint32_t power)
{
    const uint32_t lanes = 0x00ff00ffu;
    const uint32_t even = (four & lanes) * power & lanes, odd = (four >> 8 & lanes) * power & lanes;
    return (3 * even >> 8 & lanes) | (3 * odd & ~lanes);
}

static void put_ternary(const uint8_t *bytes, uint32_t count, uint32_t places, int8_t *codes)
{
    static const uint8_t powers[5] = {1, 3, 9, 27, 81};
    for (uint32_t n = 0; n < places; n++) {
        for (uint32_t j = 0; j < count; j += 4)
            put_four_less_one(ternary(quant_read32(bytes + j), powers[n]), codes + n * count + j);
    }
}

static void put_one_scale(float d, float *scales)
{
    for (uint32_t g = 0; g < 16; g++)
        scales[g] = d;
}

/* Block: 32 bytes of five codes, 16 bytes of five, 4 bytes of four; the scale. */
void quant_unpack_tq1_0(const uint8_t *block, int8_t *codes, float *scales)
{
    put_one_scale(quant_read_half(block + 52), scales);
    put_ternary(block, 32, 5, codes);
    put_ternary(block + 32, 16, 5, codes + 160);
    put_ternary(block + 48, 4, 4, codes + 240);
}

/* Block: 64 bytes of four codes, 32 bytes at a time; the scale. */
void quant_unpack_tq2_0(const uint8_t *block, int8_t *codes, float *scales)
{
    put_one_scale(quant_read_half(block + 64), scales);
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t j = 0; j < 32; j += 4)
            put_four_less_one(quant_read32(block + i / 4 * 32 + j) >> i % 4 * 2 & 0x03030303u, codes + 32 * i + j);
    }
}
