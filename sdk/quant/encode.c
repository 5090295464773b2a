/* SPDX-License-Identifier: Apache-2.0 */
/* Encoders by rounding to nearest. The q8_0 and half encodings are the ones other tools write; 4 bits leave room for
 * better searches. */
#include <accel/quant/format.h>

#include "blocks.h"

#include <math.h>

static void write_half(uint8_t *bytes, float value)
{
    uint16_t half = accel_f16_from_f32(value);
    /* An infinite scale would make every digit of the group NaN or infinite. */
    if ((half & 0x7fffu) == 0x7c00u)
        half = (uint16_t)((half & 0x8000u) | 0x7bffu);
    bytes[0] = (uint8_t)half;
    bytes[1] = (uint8_t)(half >> 8);
}

/* The value of largest magnitude, with its sign. */
static float extreme(const float *values, size_t count)
{
    float found = 0;
    for (size_t i = 0; i < count; i++)
        found = fabsf(values[i]) > fabsf(found) ? values[i] : found;
    return found;
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

/* 1 / d, or 0 where that is no finite number: such a group is stored with scale 0 anyway. */
static float reciprocal(float d)
{
    float inverse = d != 0 ? 1.0f / d : 0;
    return isfinite(inverse) ? inverse : 0;
}

static void encode_q8_0(const float *values, uint8_t *block)
{
    float d = fabsf(extreme(values, 32)) / 127.0f;
    float inverse = reciprocal(d);
    write_half(block, d);
    for (int j = 0; j < 32; j++)
        block[2 + j] = (uint8_t)(int8_t)clamp((int)roundf(values[j] * inverse), -128, 127);
}

/* The digit 0..15 of a value in units of a scale whose -8 is the extreme value. */
static int digit4(float scaled)
{
    return clamp((int)(scaled + 8.5f), 0, 15);
}

static void encode_q4_0(const float *values, uint8_t *block)
{
    float d = extreme(values, 32) / -8.0f;
    float inverse = reciprocal(d);
    write_half(block, d);
    for (int j = 0; j < 16; j++)
        block[2 + j] = (uint8_t)(digit4(values[j] * inverse) | digit4(values[j + 16] * inverse) << 4);
}

static void encode_q4_1(const float *values, uint8_t *block)
{
    float low = values[0], high = values[0];
    for (int j = 1; j < 32; j++) {
        low = values[j] < low ? values[j] : low;
        high = values[j] > high ? values[j] : high;
    }
    float d = (high - low) / 15.0f;
    float inverse = reciprocal(d);
    write_half(block, d);
    write_half(block + 2, low);
    for (int j = 0; j < 16; j++) {
        int first = clamp((int)((values[j] - low) * inverse + 0.5f), 0, 15);
        int second = clamp((int)((values[j + 16] - low) * inverse + 0.5f), 0, 15);
        block[4 + j] = (uint8_t)(first | second << 4);
    }
}

/* 8 bits: d = max / 127; 4 bits: the extreme value is digit 0, so that all 16 levels are in use. */
static void encode_planar_group(uint32_t bits, const float *values, size_t group, uint8_t *digits, uint8_t *scale)
{
    float most = extreme(values, group);
    float d = bits == 8 ? fabsf(most) / 127.0f : most / -8.0f;
    write_half(scale, d);
    /* Digits are taken under the scale as stored, which is what a decoder multiplies with. */
    float stored = quant_read_half(scale);
    float inverse = reciprocal(stored);
    for (size_t i = 0; i < group; i++) {
        uint8_t *run = digits + i / 32 * 4 * bits;
        float scaled = fminf(fmaxf(values[i] * inverse, -128.0f), 127.0f);
        if (bits == 8) {
            run[i % 32] = (uint8_t)clamp((int)roundf(scaled) + 128, 0, 255);
        } else if (i % 32 < 16) {
            run[i % 16] = (uint8_t)digit4(fmaxf(scaled, -8.0f));
        } else {
            run[i % 16] |= (uint8_t)(digit4(fmaxf(scaled, -8.0f)) << 4);
        }
    }
}

static int32_t encode_planar(const struct accel_format *format, const float *values, size_t count, void *const *planes)
{
    if (format->planes != 2 || (format->digit_bits != 8 && format->digit_bits != 4))
        return ACCEL_E_UNSUPPORTED;
    uint8_t *digits = planes[0], *scales = planes[1];
    for (size_t at = 0; at < count; at += format->block_values) {
        encode_planar_group(format->digit_bits, values + at, format->block_values, digits, scales);
        digits += format->plane_bytes[0];
        scales += format->plane_bytes[1];
    }
    return ACCEL_OK;
}

static int32_t encode_block(uint32_t type, const float *values, uint8_t *block)
{
    uint32_t bits = accel_f32_bits(values[0]);
    uint16_t half = type == ACCEL_BF16 ? accel_bf16_from_f32(values[0]) : accel_f16_from_f32(values[0]);
    switch (type) {
    case ACCEL_F32:
        memcpy(block, &bits, sizeof(bits));
        return ACCEL_OK;
    case ACCEL_F16:
    case ACCEL_BF16:
        memcpy(block, &half, sizeof(half));
        return ACCEL_OK;
    case ACCEL_Q8_0:
        encode_q8_0(values, block);
        return ACCEL_OK;
    case ACCEL_Q4_0:
        encode_q4_0(values, block);
        return ACCEL_OK;
    case ACCEL_Q4_1:
        encode_q4_1(values, block);
        return ACCEL_OK;
    default:
        return ACCEL_E_UNSUPPORTED;
    }
}

int32_t accel_format_encode(uint32_t type, const float *values, size_t count, void *const *planes)
{
    struct accel_format format;
    int32_t code = accel_format_describe(type, &format);
    if (code != ACCEL_OK)
        return code;
    if (count % format.block_values != 0)
        return ACCEL_E_INVALID;
    if (format.kind == ACCEL_FORMAT_PLANAR)
        return encode_planar(&format, values, count, planes);
    uint8_t *block = planes[0];
    for (size_t at = 0; at < count && code == ACCEL_OK; at += format.block_values, block += format.plane_bytes[0])
        code = encode_block(type, values + at, block);
    return code;
}
