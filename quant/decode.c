/* SPDX-License-Identifier: Apache-2.0 */
/* Reference decoder: dispatch by type, and planar rows. */
#include <accel/quant/format.h>

#include "blocks.h"

#define PACKED 32u /* values that are packed together */

/* A decoder: one of the functions. */
struct decoder {
    uint32_t type;
    quant_widen *widen;
    quant_decode_block *decode;
    quant_unpack_block *unpack;
};

#define WIDEN(type, name) {type, quant_widen_##name, NULL, NULL},
#define DECODE(type, name) {type, NULL, quant_decode_##name, NULL},
#define UNPACK(type, name) {type, NULL, NULL, quant_unpack_##name},

static const struct decoder decoders[] = {
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    QUANT_CODE_##code(WIDEN, DECODE, UNPACK, ACCEL_##ID, name)
#define ACCEL_ELEMENT(ID, name, id, values, bytes, bits, group, code, ...)                                             \
    QUANT_CODE_##code(WIDEN, DECODE, UNPACK, ACCEL_##ID, name)
#include <accel/quant/formats.def>
};

static const struct decoder *find(uint32_t type)
{
    for (size_t i = 0; i < sizeof(decoders) / sizeof(decoders[0]); i++)
        if (decoders[i].type == type)
            return &decoders[i];
    return NULL;
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

static void decode_float8(const uint8_t *codes, const uint8_t *scales, size_t group, size_t values, float *out)
{
    quant_widen_f8_e4m3(codes, values, out);
    for (size_t i = 0; i < values; i++)
        out[i] = quant_read_half(scales + 2 * (i / group)) * (out[i] * 0x1p-8f);
}

static void decode_planar(const struct accel_format *format, const void *const *planes, size_t values, float *out)
{
    const uint32_t bits = format->digit_bits;
    const uint8_t *codes = planes[0], *scales = planes[1];
    const uint8_t *zeros = format->planes > 2 ? planes[2] : NULL;
    const size_t group = format->group ? format->group : values;
    switch (ACCEL_PLANAR_SCHEME(format->type)) {
    case ACCEL_SCHEME_FLOAT8:
        decode_float8(codes, scales, group, values, out);
        return;
    case ACCEL_SCHEME_NF4:
    case ACCEL_SCHEME_CODEBOOK:
        decode_codebook(format, planes, values, out);
        return;
    default:
        break;
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
    if (format.kind == ACCEL_FORMAT_PLANAR) {
        decode_planar(&format, planes, values, out);
        return ACCEL_OK;
    }
    const struct decoder *decoder = find(type);
    if (decoder == NULL)
        return ACCEL_E_UNSUPPORTED;
    const uint8_t *block = planes[0];
    if (decoder->widen)
        decoder->widen(block, values, out);
    else if (decoder->unpack)
        decode_unpacked(decoder->unpack, block, format.plane_bytes[0], values, out);
    else
        for (size_t at = 0; at < values; at += format.block_values, block += format.plane_bytes[0])
            decoder->decode(block, out + at);
    return ACCEL_OK;
}

int32_t accel_format_unpack(uint32_t type, const void *block, int8_t *codes, float *scales)
{
    const struct decoder *decoder = find(type);
    if (decoder == NULL || decoder->unpack == NULL)
        return ACCEL_E_UNSUPPORTED;
    decoder->unpack(block, codes, scales);
    return ACCEL_OK;
}
