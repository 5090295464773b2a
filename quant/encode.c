/* SPDX-License-Identifier: Apache-2.0 */
/* Encoder: dispatch by type, scalars, and rows of blocks. */
#include <accel/quant/format.h>

#include "blocks.h"
#include "blocks_write.h"

static const struct {
    uint32_t type;
    quant_encode_block *encode;
} encoders[] = {
    {ACCEL_Q4_0, quant_encode_q4_0},   {ACCEL_Q4_1, quant_encode_q4_1},     {ACCEL_Q5_0, quant_encode_q5_0},
    {ACCEL_Q5_1, quant_encode_q5_1},   {ACCEL_Q8_0, quant_encode_q8_0},     {ACCEL_Q2_K, quant_encode_q2_k},
    {ACCEL_Q3_K, quant_encode_q3_k},   {ACCEL_Q4_K, quant_encode_q4_k},     {ACCEL_Q5_K, quant_encode_q5_k},
    {ACCEL_Q6_K, quant_encode_q6_k},   {ACCEL_IQ4_NL, quant_encode_iq4_nl}, {ACCEL_IQ4_XS, quant_encode_iq4_xs},
    {ACCEL_MXFP4, quant_encode_mxfp4},
};

static int32_t encode_scalar(uint32_t type, const float *values, size_t count, uint8_t *bytes)
{
    if (type != ACCEL_F32 && type != ACCEL_F16 && type != ACCEL_BF16)
        return ACCEL_E_UNSUPPORTED;
    if (type == ACCEL_F32 && count > 0)
        memcpy(bytes, values, count * sizeof(*values));
    for (size_t i = 0; type != ACCEL_F32 && i < count; i++) {
        uint16_t half = type == ACCEL_BF16 ? accel_bf16_from_f32(values[i]) : accel_f16_from_f32(values[i]);
        memcpy(bytes + 2 * i, &half, sizeof(half));
    }
    return ACCEL_OK;
}

static int32_t encode(uint32_t type, const float *values, const float *weight, int search, size_t count,
                      void *const *planes)
{
    struct accel_format format;
    uint8_t *block = planes[0];
    int32_t code = accel_format_describe(type, &format);
    if (code != ACCEL_OK)
        return code;
    if (count % format.block_values != 0)
        return ACCEL_E_INVALID;
    if (format.kind == ACCEL_FORMAT_SCALAR)
        return encode_scalar(type, values, count, block);
    if (format.kind == ACCEL_FORMAT_PLANAR) {
        quant_encode_planar(&format, values, weight, search, count, planes);
        return ACCEL_OK;
    }
    for (size_t i = 0; i < sizeof(encoders) / sizeof(encoders[0]); i++) {
        if (encoders[i].type != type)
            continue;
        for (size_t at = 0; at < count; at += format.block_values, block += format.plane_bytes[0])
            encoders[i].encode(values + at, quant_weight_at(weight, at), search, block);
        return ACCEL_OK;
    }
    return ACCEL_E_UNSUPPORTED;
}

int32_t accel_format_encode(uint32_t type, const float *values, size_t count, void *const *planes)
{
    return encode(type, values, NULL, 0, count, planes);
}

int32_t accel_format_fit(uint32_t type, const float *values, const float *weight, size_t count, void *const *planes)
{
    return encode(type, values, weight, 1, count, planes);
}
