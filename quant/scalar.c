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
