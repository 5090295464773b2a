/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Conversions between binary32 and the two 16-bit floats, in plain C and exact: subnormals, infinities and minus
 * zero are preserved, a NaN stays a NaN (quiet, with its upper payload bits), rounding is to nearest, ties to even. No
 * function here depends on the floating-point mode. All are `static`, so that files compiled for several processors may
 * share this header.
 */
#ifndef ACCEL_QUANT_HALF_H
#define ACCEL_QUANT_HALF_H

#include <stdint.h>
#include <string.h>

/** The bits of a binary32. */
static inline uint32_t accel_f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/** The binary32 that has these bits. */
static inline float accel_f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/** Widens a binary16 (IEEE 754): always exact. */
static inline float accel_f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu;
    uint32_t mantissa = half & 0x3ffu;
    if (exponent == 31) {
        uint32_t quiet = mantissa ? 0x400000u : 0;
        return accel_f32_from_bits(sign | 0x7f800000u | quiet | mantissa << 13);
    }
    if (exponent == 0) {
        /* A subnormal is mantissa * 2^-24, which binary32 holds as a normal number. */
        float value = (float)mantissa * 0x1p-24f;
        return accel_f32_from_bits(sign | accel_f32_bits(value));
    }
    return accel_f32_from_bits(sign | (exponent + 112u) << 23 | mantissa << 13);
}

/** Narrows to binary16; beyond the largest half (from 65520 on) the result is an infinity. */
static inline uint16_t accel_f16_from_f32(float value)
{
    uint32_t bits = accel_f32_bits(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
    if (magnitude >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude >= 0x38800000u) {
        uint32_t rounded = magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u);
        return (uint16_t)(sign | rounded >> 13);
    }
    if (magnitude < 0x33000000u)
        return sign;
    /* Subnormal: the implicit bit joins the mantissa, which is shifted to units of 2^-24 and rounded. */
    uint32_t shift = 126u - (magnitude >> 23);
    uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    uint32_t rounded = mantissa >> shift;
    uint32_t rest = mantissa & ((1u << shift) - 1u);
    uint32_t half = 1u << (shift - 1u);
    rounded += rest > half || (rest == half && (rounded & 1u));
    return (uint16_t)(sign | rounded);
}

/** Widens a bfloat16: always exact. */
static inline float accel_bf16_to_f32(uint16_t upper)
{
    return accel_f32_from_bits((uint32_t)upper << 16);
}

/** Narrows to bfloat16. */
static inline uint16_t accel_bf16_from_f32(float value)
{
    uint32_t bits = accel_f32_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
