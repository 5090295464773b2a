/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the values that codes can take under stored scales, and replaces single codes: the codecs of formats that can
 * be encoded, and planar rows. */
#include <stdbool.h>

#include <accel/quant/format.h>

#include "blocks.h"
#include "blocks_write.h"

/* Adding it changes nothing, not even the sign of a zero. */
#define NO_OFFSET (-0.0f)

static void put_bits(uint8_t *byte, uint32_t shift, uint32_t bits, uint32_t code)
{
    uint32_t mask = (1u << bits) - 1;
    *byte = (uint8_t)((*byte & ~(mask << shift)) | (code & mask) << shift);
}

/* Stores a nibble: 2 * `span` values share `span` bytes, value j low and value j + span high. */
static void put_nibble(uint8_t *bytes, uint32_t span, uint32_t index, uint32_t code)
{
    put_bits(&bytes[index / (2 * span) * span + index % span], index % (2 * span) / span * 4, 4, code);
}

/* ---- blocks of 32 values ---- */

static void scale_first(const uint8_t *block, uint32_t group, float *out_scale, float *out_offset)
{
    (void)group;
    *out_scale = quant_read_half(block);
    *out_offset = NO_OFFSET;
}

static void scale_mxfp4(const uint8_t *block, uint32_t group, float *out_scale, float *out_offset)
{
    (void)group;
    *out_scale = quant_read_exponent(block[0]);
    *out_offset = NO_OFFSET;
}

static void scale_minimum(const uint8_t *block, uint32_t group, float *out_scale, float *out_offset)
{
    (void)group;
    *out_scale = quant_read_half(block);
    *out_offset = quant_read_half(block + 2);
}

static void put_nibble16(uint8_t *codes, uint32_t index, uint32_t code)
{
    put_nibble(codes, 16, index, code);
}

/* Stores a code of 5 bits: the highest ones of the block, then nibbles. */
static void put_five(uint8_t *codes, uint32_t index, uint32_t code)
{
    put_bits(&codes[index / 8], index % 8, 1, code >> 4);
    put_nibble(codes + 4, 16, index, code);
}

/* Stores a code, counted from -128. */
static void put_byte(uint8_t *codes, uint32_t index, uint32_t code)
{
    codes[index] = (uint8_t)(code ^ 128u);
}

/* ---- blocks of 256 values ---- */

static void scale_q2_k(const uint8_t *block, uint32_t group, float *out_scale, float *out_offset)
{
    *out_scale = quant_read_half(block + 80) * (float)(block[group] & 15);
    *out_offset = -(quant_read_half(block + 82) * (float)(block[group] >> 4));
}

static void scale_q3_k(const uint8_t *block, uint32_t group, float *out_scale, float *out_offset)
{
    *out_scale = quant_read_half(block + 108) * (float)(quant_q3_scale(block + 96, (int)group) - 32);
    *out_offset = NO_OFFSET;
}

/* Scale and offset of q4_k and q5_k. */
static void scale_45(const uint8_t *block, uint32_t group, float *out_scale, float *out_offset)
{
    int scale, minimum;
    quant_scale_min(block + 4, (int)group, &scale, &minimum);
    *out_scale = quant_read_half(block) * (float)scale;
    *out_offset = -(quant_read_half(block + 2) * (float)minimum);
}

static void scale_q6_k(const uint8_t *block, uint32_t group, float *out_scale, float *out_offset)
{
    *out_scale = quant_read_half(block + 208) * (float)(int8_t)block[192 + group];
    *out_offset = NO_OFFSET;
}

static void scale_iq4_xs(const uint8_t *block, uint32_t group, float *out_scale, float *out_offset)
{
    uint32_t low = block[4 + group / 2] >> (group % 2 * 4) & 15u, high = quant_read16(block + 2) >> (2 * group) & 3u;
    *out_scale = quant_read_half(block) * (float)((int)(low | high << 4) - 32);
    *out_offset = NO_OFFSET;
}

static void put_q2_k(uint8_t *codes, uint32_t index, uint32_t code)
{
    put_bits(&codes[index / 128 * 32 + index % 32], index % 128 / 32 * 2, 2, code);
}

static void put_q3_k(uint8_t *codes, uint32_t index, uint32_t code)
{
    put_bits(&codes[index % 32], index / 32, 1, code >> 2);
    put_q2_k(codes + 32, index, code);
}

static void put_nibble32(uint8_t *codes, uint32_t index, uint32_t code)
{
    put_nibble(codes, 32, index, code);
}

static void put_q5_k(uint8_t *codes, uint32_t index, uint32_t code)
{
    put_bits(&codes[index % 32], index / 32, 1, code >> 4);
    put_nibble(codes + 32, 32, index, code);
}

static void put_q6_k(uint8_t *codes, uint32_t index, uint32_t code)
{
    put_nibble(codes, 64, index, code);
    put_q2_k(codes + 128, index, code >> 4);
}

/* ---- codes of each format ---- */

#define CODES(name, lowest, highest, codebook, scale, put, at)                                                         \
    const struct quant_codes quant_codes_##name = {lowest, highest, codebook, scale, put, at};
CODES(q4_0, -8, 7, NULL, scale_first, put_nibble16, 2)
CODES(q4_1, 0, 15, NULL, scale_minimum, put_nibble16, 4)
CODES(q5_0, -16, 15, NULL, scale_first, put_five, 2)
CODES(q5_1, 0, 31, NULL, scale_minimum, put_five, 4)
CODES(q8_0, -128, 127, NULL, scale_first, put_byte, 2)
CODES(q2_k, 0, 3, NULL, scale_q2_k, put_q2_k, 16)
CODES(q3_k, -4, 3, NULL, scale_q3_k, put_q3_k, 0)
CODES(q4_k, 0, 15, NULL, scale_45, put_nibble32, 16)
CODES(q5_k, 0, 31, NULL, scale_45, put_q5_k, 16)
CODES(q6_k, -32, 31, NULL, scale_q6_k, put_q6_k, 0)
CODES(iq4_nl, 0, 15, quant_iq4_codebook, scale_first, put_nibble16, 2)
CODES(iq4_xs, 0, 15, quant_iq4_codebook, scale_iq4_xs, put_nibble16, 8)
CODES(mxfp4, 0, 15, quant_mxfp4_codebook, scale_mxfp4, put_nibble16, 1)

/* ---- dispatch by type ---- */

#define SCALAR(type, name, group)
#define BLOCK(type, name, group) {type, group, &quant_codes_##name},

static const struct interleaved {
    uint32_t type;
    uint32_t group; /* values per scale */
    const struct quant_codes *codes;
} interleaved[] = {
#define ACCEL_FORMAT QUANT_ENCODERS
#include <accel/quant/formats.def>
};

static const struct interleaved *find(uint32_t type)
{
    for (size_t i = 0; i < sizeof(interleaved) / sizeof(interleaved[0]); i++)
        if (interleaved[i].type == type)
            return &interleaved[i];
    return NULL;
}

static void levels_interleaved(const struct accel_format *format, const struct interleaved *row, const uint8_t *bytes,
                               size_t index, struct accel_format_run *run)
{
    const struct quant_codes *codes = row->codes;
    const uint8_t *block = bytes + index / format->block_values * format->plane_bytes[0];
    const uint32_t at = (uint32_t)(index % format->block_values);
    run->count = row->group - at % row->group;
    run->lowest = codes->lowest;
    run->highest = codes->highest;
    codes->scale(block, at / row->group, &run->scale, &run->offset);
    run->levels = codes->codebook ? 16 : 0;
    for (uint32_t i = 0; i < run->levels; i++)
        run->level[i] = (float)codes->codebook[i];
}

/* Returns whether values under one scale have too many levels for a table, in other steps than integers. */
static bool is_float8(const struct accel_format *format)
{
    return format->kind == ACCEL_FORMAT_PLANAR && ACCEL_PLANAR_SCHEME(format->type) == ACCEL_SCHEME_FLOAT8;
}

static void levels_planar(const struct accel_format *format, const void *const *planes, size_t values, size_t index,
                          struct accel_format_run *run)
{
    const size_t size = format->group ? format->group : values, group = index / size;
    const uint8_t *scales = planes[1], *zeros = format->planes > 2 ? planes[2] : NULL;
    const uint32_t scheme = ACCEL_PLANAR_SCHEME(format->type);
    /* A row may exceed the range of count. */
    run->count = size - index % size < UINT32_MAX ? (uint32_t)(size - index % size) : UINT32_MAX;
    run->scale = quant_read_half(scales + 2 * group);
    run->offset = NO_OFFSET;
    run->levels = scheme >= ACCEL_SCHEME_NF4 ? 16 : 0;
    for (uint32_t i = 0; i < run->levels; i++)
        run->level[i] = scheme == ACCEL_SCHEME_NF4 ? accel_format_nf4[i] : quant_read_half(zeros + 2 * i);
    if (run->levels) {
        run->lowest = 0;
        run->highest = 15;
        return;
    }
    run->lowest = -(zeros ? (int32_t)zeros[group] : (int32_t)(1u << (format->digit_bits - 1)));
    run->highest = run->lowest + (int32_t)((1u << format->digit_bits) - 1);
}

int32_t accel_format_levels(uint32_t type, const void *const *planes, size_t values, size_t index,
                            struct accel_format_run *out_run)
{
    struct accel_format format;
    const struct interleaved *row = find(type);
    int32_t code = accel_format_describe(type, &format);
    if (code != ACCEL_OK)
        return code;
    if (values % format.block_values != 0 || index >= values)
        return ACCEL_E_INVALID;
    if (is_float8(&format))
        return ACCEL_E_UNSUPPORTED;
    if (format.kind == ACCEL_FORMAT_PLANAR)
        levels_planar(&format, planes, values, index, out_run);
    else if (row)
        levels_interleaved(&format, row, planes[0], index, out_run);
    else
        return ACCEL_E_UNSUPPORTED;
    return ACCEL_OK;
}

/* Stores a planar code in the layout of quant/LAYOUT.md. */
static void put_planar_code(uint8_t *codes, uint32_t bits, size_t index, uint32_t code)
{
    uint8_t *run = codes + index / 32 * 4 * bits;
    uint32_t i = (uint32_t)(index % 32);
    if (bits == 8)
        run[i] = (uint8_t)code;
    else if (bits == 4)
        put_nibble16(run, i, code);
    else
        put_bits(&run[i % 8], i / 8 * 2, 2, code);
    if (bits == 3)
        put_bits(&run[8 + i / 8], i % 8, 1, code >> 2);
}

static void put_planar(const struct accel_format *format, void *const *planes, size_t values, size_t index,
                       size_t count, const int32_t *codes)
{
    const size_t size = format->group ? format->group : values;
    const uint32_t scheme = ACCEL_PLANAR_SCHEME(format->type);
    const uint8_t *zeros = scheme == ACCEL_SCHEME_ASYMMETRIC ? planes[2] : NULL;
    const int32_t middle = scheme == ACCEL_SCHEME_SYMMETRIC ? (int32_t)(1u << (format->digit_bits - 1)) : 0;
    for (size_t i = index; i < index + count; i++) {
        int32_t zero = zeros ? (int32_t)zeros[i / size] : middle;
        put_planar_code(planes[0], format->digit_bits, i, (uint32_t)(codes[i - index] + zero));
    }
}

int32_t accel_format_put(uint32_t type, void *const *planes, size_t values, size_t index, size_t count,
                         const int32_t *codes)
{
    struct accel_format format;
    const struct interleaved *row = find(type);
    int32_t code = accel_format_describe(type, &format);
    if (code != ACCEL_OK)
        return code;
    if (values % format.block_values != 0 || index > values || count > values - index)
        return ACCEL_E_INVALID;
    if (is_float8(&format))
        return ACCEL_E_UNSUPPORTED;
    if (format.kind == ACCEL_FORMAT_PLANAR) {
        put_planar(&format, planes, values, index, count, codes);
        return ACCEL_OK;
    }
    if (!row)
        return ACCEL_E_UNSUPPORTED;
    for (size_t i = index; i < index + count; i++) {
        uint8_t *block = (uint8_t *)planes[0] + i / format.block_values * format.plane_bytes[0];
        row->codes->put(block + row->codes->at, (uint32_t)(i % format.block_values),
                        (uint32_t)(codes[i - index] - row->codes->lowest));
    }
    return ACCEL_OK;
}
