/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar formats. */
#include "blocks.h"
#include "blocks_write.h"
#include "search.h"

void quant_widen_f32(const uint8_t *bytes, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = accel_f32_from_bits(quant_read32(bytes + 4 * i));
}

void quant_widen_f16(const uint8_t *bytes, size_t count, float *out)
{
    quant_widen_halves(bytes, count, out);
}

void quant_widen_bf16(const uint8_t *bytes, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = accel_bf16_to_f32(quant_read16(bytes + 2 * i));
}

void quant_widen_f64(const uint8_t *bytes, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++) {
        double wide;
        memcpy(&wide, bytes + 8 * i, sizeof(wide));
        out[i] = (float)wide;
    }
}

void quant_narrow_f32(const float *values, size_t count, uint8_t *bytes)
{
    if (count > 0)
        memcpy(bytes, values, count * sizeof(*values));
}

void quant_narrow_f16(const float *values, size_t count, uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t half = accel_f16_from_f32(values[i]);
        memcpy(bytes + 2 * i, &half, sizeof(half));
    }
}

void quant_narrow_bf16(const float *values, size_t count, uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t upper = accel_bf16_from_f32(values[i]);
        memcpy(bytes + 2 * i, &upper, sizeof(upper));
    }
}

/* ---- floats of 8 bits, OCP 8-bit Floating Point Specification (revision 1.0) ---- */

/* Returns the bits of exponent and fraction that a magnitude rounds to, to nearest, ties to even; beyond the largest
 * exponent they go on. `bits` are those of a finite binary32 without its sign. */
static uint32_t round_float8(uint32_t bits, uint32_t fraction, uint32_t bias)
{
    const uint32_t exponent = bits >> 23, drop = 23 - fraction;
    uint32_t rounded = bits - ((127u - bias) << 23), shift = drop;
    if (exponent < 128u - bias) {
        /* Subnormal: the implicit bit joins the fraction, which is shifted to units of the smallest magnitude. */
        rounded = (bits & 0x7fffffu) | 0x800000u;
        shift = drop + 128u - bias - exponent;
        if (shift > 24)
            return 0;
    }
    return (rounded + (1u << (shift - 1)) - 1u + (rounded >> shift & 1u)) >> shift;
}

/* Rounds to floats of `fraction` bits; magnitudes beyond `most` become it, and a NaN becomes the code `nan`. */
static void narrow_float8(const float *values, size_t count, uint32_t fraction, uint32_t bias, uint32_t most,
                          uint32_t nan, uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = accel_f32_bits(values[i]), magnitude = bits & 0x7fffffffu;
        uint32_t code = nan;
        if (magnitude <= 0x7f800000u) {
            code = round_float8(magnitude, fraction, bias);
            code = code > most ? most : code;
        }
        bytes[i] = (uint8_t)(bits >> 24 & 0x80u) | (uint8_t)code;
    }
}

/* Four bits of exponent (bias 7) and three of fraction; no infinities, and all ones are a NaN. */
static float widen_e4m3(uint8_t byte)
{
    const uint32_t sign = (uint32_t)(byte & 0x80u) << 24, magnitude = byte & 0x7fu;
    if (magnitude == 0x7fu)
        return accel_f32_from_bits(sign | 0x7fc00000u);
    if (magnitude < 8)
        return accel_f32_from_bits(sign | accel_f32_bits((float)magnitude * 0x1p-9f));
    return accel_f32_from_bits(sign | ((magnitude << 20) + (120u << 23)));
}

void quant_widen_f8_e4m3(const uint8_t *bytes, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = widen_e4m3(bytes[i]);
}

/* Values beyond the largest, 448, become it. */
void quant_narrow_f8_e4m3(const float *values, size_t count, uint8_t *bytes)
{
    narrow_float8(values, count, 3, 7, 0x7eu, 0x7fu, bytes);
}

/* The upper byte of a half. */
void quant_widen_f8_e5m2(const uint8_t *bytes, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = accel_f16_to_f32((uint16_t)(bytes[i] << 8));
}

/* From 61440 on the result is an infinity, as of halves. */
void quant_narrow_f8_e5m2(const float *values, size_t count, uint8_t *bytes)
{
    narrow_float8(values, count, 2, 15, 0x7cu, 0x7eu, bytes);
}
