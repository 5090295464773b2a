/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders of blocks of 32 values. Without a search q8_0, q4_0 and q4_1 match the encodings of other tools. */
#include <math.h>

#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"
#include "search.h"

const signed char quant_iq4_codebook[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

const float quant_iq4_codebook_f32[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

float quant_write_half(uint8_t *bytes, float value)
{
    uint16_t half = accel_f16_from_f32(value);
    /* An infinite scale would make every code of the group NaN or infinite. */
    if ((half & 0x7fffu) == 0x7c00u)
        half = (uint16_t)((half & 0x8000u) | 0x7bffu);
    bytes[0] = (uint8_t)half;
    bytes[1] = (uint8_t)(half >> 8);
    return accel_f16_to_f32(half);
}

/* Stores a scale and returns its reciprocal, which values are multiplied with to get codes. Without a search it is the
 * reciprocal before rounding, like in other tools. */
static float store_scale(uint8_t *scale, float d, int search)
{
    float stored = quant_write_half(scale, d);
    return quant_reciprocal(search ? stored : d);
}

void quant_encode_q8_0(const float *values, const float *weight, int search, uint8_t *block)
{
    float d = search ? quant_fit_symmetric(values, weight, 32, -127, 127) : fabsf(quant_extreme(values, 32)) / 127.0f;
    float inverse = store_scale(block, d, search);
    for (int j = 0; j < 32; j++)
        block[2 + j] = (uint8_t)(int8_t)quant_clamp(roundf(values[j] * inverse), -128, 127);
}

static void write_nibbles(const int codes[32], uint8_t *bytes)
{
    for (int j = 0; j < 16; j++)
        bytes[j] = (uint8_t)((codes[j] & 15) | (codes[j + 16] & 15) << 4);
}

static void write_fifth(const int codes[32], uint8_t *bytes)
{
    uint32_t word = 0;
    for (int j = 0; j < 32; j++)
        word |= (uint32_t)(codes[j] >> 4) << j;
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
}

/* Writes a scale, and returns codes with zero point `half`. */
static void encode_centred(const float *values, const float *weight, int search, int half, uint8_t *scale,
                           int codes[32])
{
    float d =
        search ? quant_fit_symmetric(values, weight, 32, -half, half - 1) : quant_extreme(values, 32) / (float)-half;
    float inverse = store_scale(scale, d, search);
    for (int j = 0; j < 32; j++)
        codes[j] = (int)quant_clamp(values[j] * inverse + ((float)half + 0.5f), 0, (float)(2 * half - 1));
}

/* Writes scale and minimum, and returns codes from 0 to `highest`. */
static void encode_minimum(const float *values, const float *weight, int search, int highest, uint8_t *block,
                           int codes[32])
{
    float d, m = values[0], high = values[0], stored, inverse;
    for (int j = 1; j < 32; j++) {
        m = values[j] < m ? values[j] : m;
        high = values[j] > high ? values[j] : high;
    }
    d = (high - m) / (float)highest;
    if (search)
        quant_fit_affine(values, weight, 32, highest, 0, &d, &m);
    inverse = store_scale(block, d, search);
    stored = quant_write_half(block + 2, m);
    m = search ? stored : m;
    for (int j = 0; j < 32; j++)
        codes[j] = (int)quant_clamp((values[j] - m) * inverse + 0.5f, 0, (float)highest);
}

void quant_encode_q4_0(const float *values, const float *weight, int search, uint8_t *block)
{
    int codes[32];
    encode_centred(values, weight, search, 8, block, codes);
    write_nibbles(codes, block + 2);
}

void quant_encode_q4_1(const float *values, const float *weight, int search, uint8_t *block)
{
    int codes[32];
    encode_minimum(values, weight, search, 15, block, codes);
    write_nibbles(codes, block + 4);
}

void quant_encode_q5_0(const float *values, const float *weight, int search, uint8_t *block)
{
    int codes[32];
    encode_centred(values, weight, search, 16, block, codes);
    write_fifth(codes, block + 2);
    write_nibbles(codes, block + 6);
}

void quant_encode_q5_1(const float *values, const float *weight, int search, uint8_t *block)
{
    int codes[32];
    encode_minimum(values, weight, search, 31, block, codes);
    write_fifth(codes, block + 4);
    write_nibbles(codes, block + 8);
}

void quant_encode_iq4_nl(const float *values, const float *weight, int search, uint8_t *block)
{
    uint8_t codes[32];
    float d = search ? quant_fit_codebook(values, weight, 32, quant_iq4_codebook_f32)
                     : quant_extreme(values, 32) / quant_iq4_codebook_f32[0];
    quant_find_codes(values, 32, quant_reciprocal(quant_write_half(block, d)), quant_iq4_codebook_f32, codes);
    for (size_t j = 0; j < 16; j++)
        block[2 + j] = (uint8_t)(codes[j] | codes[j + 16] << 4);
}
