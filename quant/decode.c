/* SPDX-License-Identifier: Apache-2.0 */
/* Reference decoder: dispatch by type, scalars, and planar rows. */
#include <stdbool.h>

#include <accel/quant/format.h>

#include "blocks.h"
#include "search.h"

#define PACKED 32u /* values that are packed together */

static const struct {
    uint32_t type;
    quant_decode_block *decode;
} decoders[] = {
    {ACCEL_Q4_0, quant_decode_q4_0},   {ACCEL_Q4_1, quant_decode_q4_1},     {ACCEL_Q5_0, quant_decode_q5_0},
    {ACCEL_Q5_1, quant_decode_q5_1},   {ACCEL_Q8_0, quant_decode_q8_0},     {ACCEL_Q2_K, quant_decode_q2_k},
    {ACCEL_Q3_K, quant_decode_q3_k},   {ACCEL_Q4_K, quant_decode_q4_k},     {ACCEL_Q5_K, quant_decode_q5_k},
    {ACCEL_Q6_K, quant_decode_q6_k},   {ACCEL_IQ4_NL, quant_decode_iq4_nl}, {ACCEL_IQ4_XS, quant_decode_iq4_xs},
    {ACCEL_MXFP4, quant_decode_mxfp4},
};

uint32_t quant_planar_code(const uint8_t *codes, uint32_t bits, size_t index)
{
    const uint8_t *run = codes + index / 32 * 4 * bits;
    uint32_t i = (uint32_t)(index % 32);
    if (bits == 8)
        return run[i];
    if (bits == 4)
        return run[i % 16] >> (i / 16 * 4) & 15u;
    uint32_t low = run[i % 8] >> (i / 8 * 2) & 3u;
    return bits == 2 ? low : low | (quant_read32(run + 8) >> i & 1u) << 2;
}

/* Unpacks 32 codes. */
static void unpack(const uint8_t *run, uint32_t bits, uint8_t out[PACKED])
{
    if (bits == 8) {
        memcpy(out, run, PACKED);
    } else if (bits == 4) {
        for (size_t j = 0; j < 16; j++) {
            out[j] = run[j] & 15;
            out[j + 16] = run[j] >> 4;
        }
    } else {
        const uint32_t third = bits == 3 ? quant_read32(run + 8) : 0;
        for (size_t j = 0; j < 8; j++)
            for (size_t i = 0; i < 4; i++)
                out[8 * i + j] = (uint8_t)((run[j] >> 2 * i & 3) | (third >> (8 * i + j) & 1) << 2);
    }
}

static void decode_codebook(const struct accel_format *format, const void *const *planes, size_t values, float *out)
{
    const uint8_t *codes = planes[0], *scales = planes[1], *plane = format->planes > 2 ? planes[2] : NULL;
    const size_t group = format->group ? format->group : values;
    float codebook[16];
    for (size_t i = 0; i < 16 && values > 0; i++)
        codebook[i] = plane ? quant_read_half(plane + 2 * i) : accel_format_nf4[i];
    for (size_t at = 0; at < values; at += PACKED, codes += PACKED / 2) {
        const float d = quant_read_half(scales + 2 * (at / group));
        uint8_t run[PACKED];
        unpack(codes, 4, run);
        for (size_t i = 0; i < PACKED; i++)
            out[at + i] = d * codebook[run[i]];
    }
}

static void decode_planar(const struct accel_format *format, const void *const *planes, size_t values, float *out)
{
    const uint32_t bits = format->digit_bits;
    const uint8_t *codes = planes[0], *scales = planes[1];
    const uint8_t *zeros = format->planes > 2 ? planes[2] : NULL;
    const size_t group = format->group ? format->group : values;
    if (ACCEL_PLANAR_SCHEME(format->type) >= ACCEL_SCHEME_NF4) {
        decode_codebook(format, planes, values, out);
        return;
    }
    for (size_t at = 0; at < values; at += PACKED, codes += 4 * bits) {
        const float d = quant_read_half(scales + 2 * (at / group));
        const int32_t zero = zeros ? zeros[at / group] : 1 << (bits - 1);
        uint8_t run[PACKED];
        unpack(codes, bits, run);
        for (size_t i = 0; i < PACKED; i++)
            out[at + i] = d * (float)((int32_t)run[i] - zero);
    }
}

static bool decode_scalar(uint32_t type, const uint8_t *bytes, size_t values, float *out)
{
    if (type == ACCEL_F16) {
        quant_widen_halves(bytes, values, out);
        return true;
    }
    for (size_t i = 0; i < values; i++) {
        if (type == ACCEL_F32) {
            out[i] = accel_f32_from_bits(quant_read32(bytes + 4 * i));
        } else if (type == ACCEL_BF16) {
            out[i] = accel_bf16_to_f32(quant_read16(bytes + 2 * i));
        } else if (type == ACCEL_F64) {
            double wide;
            memcpy(&wide, bytes + 8 * i, sizeof(wide));
            out[i] = (float)wide;
        } else {
            return false;
        }
    }
    return true;
}

/* Decodes a row of blocks of 256 values by unpacking them. */
static void decode_unpacked(quant_unpack_block *unpack, const uint8_t *block, size_t block_bytes, size_t values,
                            float *out)
{
    int8_t codes[256];
    float scales[16];
    for (size_t at = 0; at < values; at += 256, block += block_bytes) {
        unpack(block, codes, scales);
        for (size_t i = 0; i < 256; i++)
            out[at + i] = scales[i / 16] * (float)codes[i];
    }
}

int32_t accel_format_decode(uint32_t type, const void *const *planes, size_t values, float *out)
{
    struct accel_format format;
    int32_t code = accel_format_describe(type, &format);
    if (code != ACCEL_OK)
        return code;
    if (values % format.block_values != 0)
        return ACCEL_E_INVALID;
    if (format.kind == ACCEL_FORMAT_SCALAR)
        return decode_scalar(type, planes[0], values, out) ? ACCEL_OK : ACCEL_E_UNSUPPORTED;
    if (format.kind == ACCEL_FORMAT_PLANAR) {
        decode_planar(&format, planes, values, out);
        return ACCEL_OK;
    }
    for (size_t i = 0; i < sizeof(decoders) / sizeof(decoders[0]); i++) {
        if (decoders[i].type != type)
            continue;
        const uint8_t *block = planes[0];
        for (size_t at = 0; at < values; at += format.block_values, block += format.plane_bytes[0])
            decoders[i].decode(block, out + at);
        return ACCEL_OK;
    }
    quant_unpack_block *unpack = quant_unpacker(type);
    if (unpack == NULL)
        return ACCEL_E_UNSUPPORTED;
    decode_unpacked(unpack, planes[0], format.plane_bytes[0], values, out);
    return ACCEL_OK;
}
