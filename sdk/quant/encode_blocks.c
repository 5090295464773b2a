/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of 32 values. Without a search the encodings of q8_0, q4_0 and q4_1 are the ones other tools write. */
#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"
#include "search.h"

#include <math.h>

const signed char quant_iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

const float quant_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

float quant_write_half(uint8_t *bytes, float value)
{
    uint16_t half = accel_f16_from_f32(value);
    /* An infinite scale would make every digit of the group NaN or infinite. */
    if ((half & 0x7fffu) == 0x7c00u)
        half = (uint16_t)((half & 0x8000u) | 0x7bffu);
    bytes[0] = (uint8_t)half;
    bytes[1] = (uint8_t)(half >> 8);
    return accel_f16_to_f32(half);
}

/* Stores a scale; answers what values are multiplied with to get digits. Without a search these are the digits of other
 * tools, which take them under the scale before it was rounded. */
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

static void write_nibbles(const int digits[32], uint8_t *bytes)
{
    for (int j = 0; j < 16; j++)
        bytes[j] = (uint8_t)((digits[j] & 15) | (digits[j + 16] & 15) << 4);
}

static void write_fifth(const int digits[32], uint8_t *bytes)
{
    uint32_t word = 0;
    for (int j = 0; j < 32; j++)
        word |= (uint32_t)(digits[j] >> 4) << j;
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
}

/* One scale, and digits around half of the range: writes the scale and fills the digits. */
static void encode_centred(const float *values, const float *weight, int search, int half, uint8_t *scale,
                           int digits[32])
{
    float d =
        search ? quant_fit_symmetric(values, weight, 32, -half, half - 1) : quant_extreme(values, 32) / (float)-half;
    float inverse = store_scale(scale, d, search);
    for (int j = 0; j < 32; j++)
        digits[j] = (int)quant_clamp(values[j] * inverse + ((float)half + 0.5f), 0, (float)(2 * half - 1));
}

/* Scale and minimum, and digits from 0 to `highest`: writes both and fills the digits. */
static void encode_minimum(const float *values, const float *weight, int search, int highest, uint8_t *block,
                           int digits[32])
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
        digits[j] = (int)quant_clamp((values[j] - m) * inverse + 0.5f, 0, (float)highest);
}

void quant_encode_q4_0(const float *values, const float *weight, int search, uint8_t *block)
{
    int digits[32];
    encode_centred(values, weight, search, 8, block, digits);
    write_nibbles(digits, block + 2);
}

void quant_encode_q4_1(const float *values, const float *weight, int search, uint8_t *block)
{
    int digits[32];
    encode_minimum(values, weight, search, 15, block, digits);
    write_nibbles(digits, block + 4);
}

void quant_encode_q5_0(const float *values, const float *weight, int search, uint8_t *block)
{
    int digits[32];
    encode_centred(values, weight, search, 16, block, digits);
    write_fifth(digits, block + 2);
    write_nibbles(digits, block + 6);
}

void quant_encode_q5_1(const float *values, const float *weight, int search, uint8_t *block)
{
    int digits[32];
    encode_minimum(values, weight, search, 31, block, digits);
    write_fifth(digits, block + 4);
    write_nibbles(digits, block + 8);
}

void quant_encode_iq4_nl(const float *values, const float *weight, int search, uint8_t *block)
{
    uint8_t digits[32];
    float d = search ? quant_fit_levels(values, weight, 32, quant_iq4_values)
                     : quant_extreme(values, 32) / quant_iq4_values[0];
    quant_digits_levels(values, 32, quant_reciprocal(quant_write_half(block, d)), quant_iq4_values, digits);
    for (size_t j = 0; j < 16; j++)
        block[2 + j] = (uint8_t)(digits[j] | digits[j + 16] << 4);
}
