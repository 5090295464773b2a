/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders of planar rows: symmetric with the extreme value at the lowest code, asymmetric with an integer zero point,
 * codes of a codebook, and
 * floats of 8 bits.
 */
#include <math.h>
#include <string.h>

#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"
#include "search.h"

#define PACKED 32u /* values that are packed together */

/* Packs 32 codes in the layout of quant/LAYOUT.md. */
static void pack(const uint8_t codes[PACKED], uint32_t bits, uint8_t *out)
{
    if (bits == 8) {
        memcpy(out, codes, PACKED);
    } else if (bits == 4) {
        for (size_t j = 0; j < 16; j++)
            out[j] = (uint8_t)(codes[j] | codes[j + 16] << 4);
    } else {
        for (size_t j = 0; j < 8; j++)
            out[j] = (uint8_t)((codes[j] & 3) | (codes[j + 8] & 3) << 2 | (codes[j + 16] & 3) << 4 |
                               (codes[j + 24] & 3) << 6);
        for (size_t j = 0; bits == 3 && j < 4; j++) {
            uint32_t byte = 0;
            for (size_t i = 0; i < 8; i++)
                byte |= (uint32_t)(codes[8 * j + i] >> 2) << i;
            out[8 + j] = (uint8_t)byte;
        }
    }
}

/* ---- integer codes ---- */

/* Returns a symmetric scale. 8 bits use as many codes on both sides, fewer bits all codes. */
static float symmetric_scale(const float *values, const float *weight, size_t group, uint32_t bits, int search)
{
    const int half = 1 << (bits - 1);
    if (search)
        return quant_fit_symmetric(values, weight, group, bits == 8 ? -127 : -half, half - 1);
    if (bits == 8)
        return fabsf(quant_extreme(values, group)) / 127.0f;
    return quant_extreme(values, group) / (float)-half;
}

/* Returns scale and zero point of a range that includes zero, so that zero is stored exactly. */
static float asymmetric_scale(const float *values, const float *weight, size_t group, uint32_t bits, int search,
                              int *out_zero)
{
    const int highest = (1 << bits) - 1;
    float low = 0, high = 0, d;
    for (size_t i = 0; i < group; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    const float whole = (high - low) / (float)highest, lowest = low;
    d = whole;
    if (search)
        quant_fit_affine(values, weight, group, highest, 1, &d, &low);
    /* All values are far below zero: no zero point is high enough. */
    if (search && -low > ((float)highest + 0.5f) * d) {
        d = whole;
        low = lowest;
    }
    *out_zero =
        (int)quant_clamp(quant_round(quant_clamp(-low * quant_reciprocal(d), 0, (float)highest)), 0, (float)highest);
    return search ? quant_fit_zero(values, weight, group, highest, d, out_zero) : d;
}

static void encode_group(const float *values, const float *weight, int search, size_t count, uint32_t bits,
                         uint8_t *codes, uint8_t *scale, uint8_t *zero)
{
    const float highest = (float)((1u << bits) - 1);
    int offset = 1 << (bits - 1);
    float d = zero ? asymmetric_scale(values, weight, count, bits, search, &offset)
                   : symmetric_scale(values, weight, count, bits, search);
    /* Raises the scale to the smallest half; a scale of zero would lose all values. */
    if (d != 0 && fabsf(d) < 0x1p-24f)
        d = copysignf(0x1p-24f, d);
    /* Codes are computed with the stored scale, which decoders multiply with. */
    const float inverse = quant_reciprocal(quant_write_half(scale, d)), from = (float)offset;
    if (zero)
        *zero = (uint8_t)offset;
    for (size_t at = 0; at < count; at += PACKED, codes += 4 * bits) {
        uint8_t unpacked[PACKED];
        for (size_t i = 0; i < PACKED; i++)
            unpacked[i] = (uint8_t)(int32_t)quant_clamp(values[at + i] * inverse + from + 0.5f, 0, highest);
        pack(unpacked, bits, codes);
    }
}

/* ---- codebooks ---- */

static void read_codebook(const uint8_t *halves, float out_codebook[16])
{
    for (size_t l = 0; l < 16; l++)
        out_codebook[l] = halves ? quant_read_half(halves + 2 * l) : accel_format_nf4[l];
}

static void find_codes(const float *values, size_t count, size_t group, const uint8_t *scale, const float codebook[16],
                       uint8_t *codes)
{
    for (size_t at = 0; at < count; at += PACKED, codes += PACKED / 2) {
        uint8_t unpacked[PACKED];
        quant_find_codes(values + at, PACKED, quant_reciprocal(quant_read_half(scale + at / group * 2)), codebook,
                         unpacked);
        pack(unpacked, 4, codes);
    }
}

/* Fits each group's scale to the codebook; a trainable codebook and the scales are refined in turns. */
static void search_codebook(const float *values, const float *weight, size_t count, size_t group, uint8_t *scale,
                            uint8_t *plane)
{
    float codebook[16];
    for (int turn = 0; turn < (plane ? 3 : 1); turn++) {
        read_codebook(plane, codebook);
        for (size_t at = 0; at < count; at += group) {
            const float *w = quant_weight_at(weight, at);
            uint8_t *half = scale + at / group * 2;
            /* The first turn searches the whole range: an initial guess from the largest value is poor for a codebook.
             */
            quant_write_half(half, turn == 0
                                       ? quant_fit_codebook(values + at, w, group, codebook)
                                       : quant_refit_codebook(values + at, w, group, codebook, quant_read_half(half)));
        }
        if (plane)
            quant_train_codebook(values, weight, count, group, scale, 0, plane);
    }
}

static void encode_codebook(const float *values, const float *weight, int search, size_t count, size_t group,
                            void *const *planes, uint8_t *plane)
{
    uint8_t *scale = planes[1];
    float codebook[16];
    for (size_t at = 0; at < count; at += group)
        quant_write_half(scale + at / group * 2, fabsf(quant_extreme(values + at, group)));
    if (plane)
        quant_train_codebook(values, weight, count, group, scale, 1, plane);
    /* With one scale per row the codebook absorbs the scale. */
    if (search && !(plane && group == count))
        search_codebook(values, weight, count, group, scale, plane);
    read_codebook(plane, codebook);
    find_codes(values, count, group, scale, codebook, planes[0]);
}

/* ---- floats ---- */

#define FLOAT8_MOST 1.75f /* 448 / 256 */

/* The extreme value of a group becomes the greatest code; each code has the step of its exponent, which no other scale
 * makes finer. */
static void encode_float8(const float *values, size_t count, size_t group, uint8_t *codes, uint8_t *scale)
{
    for (size_t at = 0; at < count; at += group, scale += 2) {
        const float d = fabsf(quant_extreme(values + at, group)) / FLOAT8_MOST;
        const float inverse = quant_reciprocal(quant_write_half(scale, d > 0 && d < 0x1p-24f ? 0x1p-24f : d)) * 256.0f;
        for (size_t i = at; i < at + group; i += PACKED) {
            float scaled[PACKED];
            for (size_t j = 0; j < PACKED; j++)
                scaled[j] = values[i + j] * inverse;
            quant_narrow_f8_e4m3(scaled, PACKED, codes + i);
        }
    }
}

/* ---- any ---- */

void quant_encode_planar(const struct accel_format *format, const float *values, const float *weight, int search,
                         size_t count, void *const *planes)
{
    const size_t group = format->group ? format->group : count;
    const uint32_t scheme = ACCEL_PLANAR_SCHEME(format->type), bits = format->digit_bits;
    uint8_t *codes = planes[0], *scale = planes[1], *zero = scheme == ACCEL_SCHEME_ASYMMETRIC ? planes[2] : NULL;
    if (count == 0) {
        for (uint32_t p = 1; p < format->planes; p++)
            memset(planes[p], 0, format->row_bytes[p]);
        return;
    }
    if (scheme == ACCEL_SCHEME_FLOAT8) {
        encode_float8(values, count, group, codes, scale);
        return;
    }
    if (scheme == ACCEL_SCHEME_NF4 || scheme == ACCEL_SCHEME_CODEBOOK) {
        encode_codebook(values, weight, search, count, group, planes, scheme == ACCEL_SCHEME_NF4 ? NULL : planes[2]);
        return;
    }
    for (size_t at = 0; at < count; at += group)
        encode_group(values + at, quant_weight_at(weight, at), search, group, bits, codes + at / 8 * bits,
                     scale + at / group * 2, zero ? zero + at / group : NULL);
}
