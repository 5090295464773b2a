/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of planar formats: symmetric with the extreme value at the lowest digit, asymmetric with a whole zero point, and
 * digits that number the levels of a table.
 */
#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"
#include "search.h"

#include <math.h>
#include <string.h>

#define RUN 32u /* values that are packed together */

/* Packs 32 digits the way quant_planar_digit finds them. */
static void pack(const uint8_t digits[RUN], uint32_t bits, uint8_t *out)
{
    if (bits == 8) {
        memcpy(out, digits, RUN);
    } else if (bits == 4) {
        for (size_t j = 0; j < 16; j++)
            out[j] = (uint8_t)(digits[j] | digits[j + 16] << 4);
    } else {
        for (size_t j = 0; j < 8; j++)
            out[j] = (uint8_t)((digits[j] & 3) | (digits[j + 8] & 3) << 2 | (digits[j + 16] & 3) << 4 |
                               (digits[j + 24] & 3) << 6);
        for (size_t j = 0; bits == 3 && j < 4; j++) {
            uint32_t byte = 0;
            for (size_t i = 0; i < 8; i++)
                byte |= (uint32_t)(digits[8 * j + i] >> 2) << i;
            out[8 + j] = (uint8_t)byte;
        }
    }
}

/* ---- whole digits ---- */

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
    /* Values that are all far below zero: no zero point lies so high. */
    if (search && -low > ((float)highest + 0.5f) * d) {
        d = whole;
        low = lowest;
    }
    *out_zero =
        (int)quant_clamp(quant_round(quant_clamp(-low * quant_reciprocal(d), 0, (float)highest)), 0, (float)highest);
    return search ? quant_fit_zero(values, weight, group, highest, d, out_zero) : d;
}

static void encode_group(const float *values, const float *weight, int search, size_t count, uint32_t bits,
                         uint8_t *digits, uint8_t *scale, uint8_t *zero)
{
    const float highest = (float)((1u << bits) - 1);
    int offset = 1 << (bits - 1);
    float d = zero ? asymmetric_scale(values, weight, count, bits, search, &offset)
                   : symmetric_scale(values, weight, count, bits, search);
    /* Halves have nothing smaller; under a scale of zero all values would be lost. */
    if (d != 0 && fabsf(d) < 0x1p-24f)
        d = copysignf(0x1p-24f, d);
    /* Digits are taken under the scale as stored, which is what a decoder multiplies with. */
    const float inverse = quant_reciprocal(quant_write_half(scale, d)), from = (float)offset;
    if (zero)
        *zero = (uint8_t)offset;
    for (size_t at = 0; at < count; at += RUN, digits += 4 * bits) {
        uint8_t run[RUN];
        for (size_t i = 0; i < RUN; i++)
            run[i] = (uint8_t)(int32_t)quant_clamp(values[at + i] * inverse + from + 0.5f, 0, highest);
        pack(run, bits, digits);
    }
}

/* ---- levels ---- */

static void read_levels(const uint8_t *halves, float out_level[16])
{
    for (size_t l = 0; l < 16; l++)
        out_level[l] = halves ? quant_read_half(halves + 2 * l) : accel_format_nf4[l];
}

static void digits_of_levels(const float *values, size_t count, size_t group, const uint8_t *scale,
                             const float level[16], uint8_t *digits)
{
    for (size_t at = 0; at < count; at += RUN, digits += RUN / 2) {
        uint8_t run[RUN];
        quant_digits_levels(values + at, RUN, quant_reciprocal(quant_read_half(scale + at / group * 2)), level, run);
        pack(run, 4, digits);
    }
}

/* Fits each group's scale to levels; where they are a book, books and scales take turns. */
static void search_levels(const float *values, const float *weight, size_t count, size_t group, uint8_t *scale,
                          uint8_t *book)
{
    float level[16];
    for (int turn = 0; turn < (book ? 3 : 1); turn++) {
        read_levels(book, level);
        for (size_t at = 0; at < count; at += group) {
            const float *w = quant_weight_at(weight, at);
            uint8_t *half = scale + at / group * 2;
            /* The first turn looks everywhere: digits of the largest value say little about a book. */
            quant_write_half(half, turn == 0 ? quant_fit_levels(values + at, w, group, level)
                                             : quant_fit_around(values + at, w, group, level, quant_read_half(half)));
        }
        if (book)
            quant_fit_book(values, weight, count, group, scale, 0, book);
    }
}

static void encode_levels(const float *values, const float *weight, int search, size_t count, size_t group,
                          void *const *planes, uint8_t *book)
{
    uint8_t *scale = planes[1];
    float level[16];
    for (size_t at = 0; at < count; at += group)
        quant_write_half(scale + at / group * 2, fabsf(quant_extreme(values + at, group)));
    if (book)
        quant_fit_book(values, weight, count, group, scale, 1, book);
    /* One scale for a whole row says no more than its book does. */
    if (search && !(book && group == count))
        search_levels(values, weight, count, group, scale, book);
    read_levels(book, level);
    digits_of_levels(values, count, group, scale, level, planes[0]);
}

/* ---- any ---- */

void quant_encode_planar(const struct accel_format *format, const float *values, const float *weight, int search,
                         size_t count, void *const *planes)
{
    const size_t group = format->group ? format->group : count;
    const uint32_t scheme = ACCEL_PLANAR_SCHEME(format->type), bits = format->digit_bits;
    uint8_t *digits = planes[0], *scale = planes[1], *zero = scheme == ACCEL_SCHEME_ASYMMETRIC ? planes[2] : NULL;
    if (count == 0) {
        for (uint32_t p = 1; p < format->planes; p++)
            memset(planes[p], 0, format->row_bytes[p]);
        return;
    }
    if (scheme == ACCEL_SCHEME_NF4 || scheme == ACCEL_SCHEME_CODEBOOK) {
        encode_levels(values, weight, search, count, group, planes, scheme == ACCEL_SCHEME_NF4 ? NULL : planes[2]);
        return;
    }
    for (size_t at = 0; at < count; at += group)
        encode_group(values + at, quant_weight_at(weight, at), search, group, bits, digits + at / 8 * bits,
                     scale + at / group * 2, zero ? zero + at / group : NULL);
}
