/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of planar formats: symmetric with the extreme value at the lowest digit, asymmetric with a whole zero point.
 */
#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"

#include <math.h>
#include <string.h>

/* Puts one digit where quant_planar_digit finds it; the bytes were zero. */
static void put_digit(uint8_t *digits, uint32_t bits, size_t index, uint32_t digit)
{
    uint8_t *run = digits + index / 32 * 4 * bits;
    uint32_t i = (uint32_t)(index % 32);
    if (bits == 8)
        run[i] = (uint8_t)digit;
    else if (bits == 4)
        run[i % 16] |= (uint8_t)(digit << i / 16 * 4);
    else
        run[i % 8] |= (uint8_t)((digit & 3u) << i / 8 * 2);
    if (bits == 3)
        run[8 + i / 8] |= (uint8_t)((digit >> 2) << i % 8);
}

static uint32_t digit_of(float scaled, float zero, float highest)
{
    return (uint32_t)quant_clamp(floorf(scaled + zero + 0.5f), 0, highest);
}

/* 8 bits use the same number of levels on both sides, fewer bits all that they have. */
static float symmetric_scale(const float *values, const float *weight, size_t group, uint32_t bits, int search)
{
    const int half = 1 << (bits - 1);
    if (search)
        return quant_fit_symmetric(values, weight, group, bits == 8 ? -127 : -half, half - 1);
    if (bits == 8)
        return fabsf(quant_extreme(values, group)) / 127.0f;
    return quant_extreme(values, group) / (float)-half;
}

/* Scale and zero point of a range that holds zero, so that zero is stored exactly. */
static float asymmetric_scale(const float *values, const float *weight, size_t group, uint32_t bits, int search,
                              float *out_zero)
{
    const float highest = (float)((1 << bits) - 1);
    float low = 0, high = 0, d;
    for (size_t i = 0; i < group; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    d = (high - low) / highest;
    if (search) {
        float m;
        quant_fit_affine(values, weight, group, (int)highest, 1, &d, &m);
        low = m;
    }
    *out_zero = quant_clamp(quant_round(-low * quant_reciprocal(d)), 0, highest);
    return d;
}

void quant_encode_planar(const struct accel_format *format, const float *values, const float *weight, int search,
                         uint8_t *digits, uint8_t *scale, uint8_t *zero)
{
    const uint32_t bits = format->digit_bits;
    const size_t group = format->block_values;
    float offset = (float)(1u << (bits - 1)), d, inverse;
    if (zero)
        d = asymmetric_scale(values, weight, group, bits, search, &offset);
    else
        d = symmetric_scale(values, weight, group, bits, search);
    /* Digits are taken under the scale as stored, which is what a decoder multiplies with. */
    inverse = quant_reciprocal(quant_write_half(scale, d));
    if (zero)
        *zero = (uint8_t)offset;
    memset(digits, 0, format->plane_bytes[0]);
    for (size_t i = 0; i < group; i++)
        put_digit(digits, bits, i, digit_of(values[i] * inverse, offset, (float)((1u << bits) - 1)));
}
