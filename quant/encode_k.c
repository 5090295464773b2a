/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders of super-blocks of 256 values: each group gets its best scale (and minimum), these are rounded to the
 * format's few bits under one half, and codes are computed from the stored scales.
 */
#include <string.h>

#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"
#include "search.h"

#define VALUES 256

/* Groups with minima: integer scales and minima under two halves. */
struct minima {
    float d;    /* as stored */
    float dmin; /* as stored */
    int scale[16];
    int minimum[16];
};

/* Groups without minima: signed integer scales under one half. */
struct signed_scales {
    float d; /* as stored */
    int scale[16];
};

static int whole(float value, int low, int high)
{
    return (int)quant_clamp(quant_round(value), (float)low, (float)high);
}

/* Fits `groups` groups with codes from 0 to `highest`; scales and minima from 0 to `most`. */
static void fit_minima(const float *values, const float *weight, int groups, int highest, int most, uint8_t *d,
                       uint8_t *dmin, struct minima *out)
{
    float scale[16], minimum[16], largest = 0, lowest = 0;
    const size_t count = (size_t)(VALUES / groups);
    for (int g = 0; g < groups; g++) {
        quant_fit_affine(values + (size_t)g * count, quant_weight_at(weight, (size_t)g * count), count, highest, 1,
                         &scale[g], &minimum[g]);
        largest = scale[g] > largest ? scale[g] : largest;
        lowest = minimum[g] < lowest ? minimum[g] : lowest;
    }
    out->d = quant_write_half(d, largest / (float)most);
    out->dmin = quant_write_half(dmin, -lowest / (float)most);
    for (int g = 0; g < groups; g++) {
        out->scale[g] = whole(scale[g] * quant_reciprocal(out->d), 0, most);
        out->minimum[g] = whole(-minimum[g] * quant_reciprocal(out->dmin), 0, most);
    }
}

static void codes_minima(const float *values, const struct minima *m, int groups, int highest, uint8_t codes[VALUES])
{
    for (int i = 0; i < VALUES; i++) {
        int g = i / (VALUES / groups);
        float scaled = (values[i] + m->dmin * (float)m->minimum[g]) * quant_reciprocal(m->d * (float)m->scale[g]);
        codes[i] = (uint8_t)whole(scaled, 0, highest);
    }
}

/* Fits groups of `count` values with codes from `lowest` to `highest` and scales from `low` to -low - 1. */
static void fit_signed(const float *values, const float *weight, int groups, int lowest, int highest, int low,
                       uint8_t *d, struct signed_scales *out)
{
    float scale[16] = {0}, most;
    const size_t count = (size_t)(VALUES / groups);
    for (int g = 0; g < groups; g++)
        scale[g] = quant_fit_symmetric(values + (size_t)g * count, quant_weight_at(weight, (size_t)g * count), count,
                                       lowest, highest);
    most = quant_extreme(scale, (size_t)groups);
    out->d = quant_write_half(d, most / (float)low);
    for (int g = 0; g < groups; g++)
        out->scale[g] = whole(scale[g] * quant_reciprocal(out->d), low, -low - 1);
}

/* Computes codes, stored with `lowest` as 0. */
static void codes_signed(const float *values, const struct signed_scales *s, int groups, int lowest, int highest,
                         uint8_t codes[VALUES])
{
    for (int i = 0; i < VALUES; i++) {
        float d = s->d * (float)s->scale[i / (VALUES / groups)];
        codes[i] = (uint8_t)(whole(values[i] * quant_reciprocal(d), lowest, highest) - lowest);
    }
}

/* ---- formats with minima ---- */

void quant_encode_q2_k(const float *values, const float *weight, int search, uint8_t *block)
{
    struct minima m;
    uint8_t codes[VALUES];
    (void)search;
    memset(block, 0, 84);
    fit_minima(values, weight, 16, 3, 15, block + 80, block + 82, &m);
    codes_minima(values, &m, 16, 3, codes);
    for (int g = 0; g < 16; g++)
        block[g] = (uint8_t)(m.scale[g] | m.minimum[g] << 4);
    for (int i = 0; i < VALUES; i++)
        block[16 + i / 128 * 32 + i % 32] |= (uint8_t)(codes[i] << i % 128 / 32 * 2);
}

/* Packs scales and minima, the inverse of quant_scale_min; the bytes were zero. */
static void write_scales6(const struct minima *m, uint8_t *packed)
{
    for (int g = 0; g < 4; g++) {
        packed[g] = (uint8_t)(m->scale[g] | (m->scale[g + 4] >> 4) << 6);
        packed[g + 4] = (uint8_t)(m->minimum[g] | (m->minimum[g + 4] >> 4) << 6);
        packed[g + 8] = (uint8_t)((m->scale[g + 4] & 15) | (m->minimum[g + 4] & 15) << 4);
    }
}

static void write_nibbles64(const uint8_t codes[VALUES], uint8_t *bytes)
{
    for (int i = 0; i < VALUES; i++)
        bytes[i / 64 * 32 + i % 32] |= (uint8_t)((codes[i] & 15) << i % 64 / 32 * 4);
}

void quant_encode_q4_k(const float *values, const float *weight, int search, uint8_t *block)
{
    struct minima m;
    uint8_t codes[VALUES];
    (void)search;
    memset(block, 0, 144);
    fit_minima(values, weight, 8, 15, 63, block, block + 2, &m);
    codes_minima(values, &m, 8, 15, codes);
    write_scales6(&m, block + 4);
    write_nibbles64(codes, block + 16);
}

void quant_encode_q5_k(const float *values, const float *weight, int search, uint8_t *block)
{
    struct minima m;
    uint8_t codes[VALUES];
    (void)search;
    memset(block, 0, 176);
    fit_minima(values, weight, 8, 31, 63, block, block + 2, &m);
    codes_minima(values, &m, 8, 31, codes);
    write_scales6(&m, block + 4);
    for (int i = 0; i < VALUES; i++)
        block[16 + i % 32] |= (uint8_t)((codes[i] >> 4) << i / 32);
    write_nibbles64(codes, block + 48);
}

/* ---- formats with signed scales ---- */

void quant_encode_q3_k(const float *values, const float *weight, int search, uint8_t *block)
{
    struct signed_scales s;
    uint8_t codes[VALUES], *packed = block + 96;
    (void)search;
    memset(block, 0, 110);
    fit_signed(values, weight, 16, -4, 3, -32, block + 108, &s);
    codes_signed(values, &s, 16, -4, 3, codes);
    for (int g = 0; g < 16; g++) {
        int scale = s.scale[g] + 32;
        packed[g % 8] |= (uint8_t)((scale & 15) << g / 8 * 4);
        packed[8 + g % 4] |= (uint8_t)((scale >> 4) << g / 4 * 2);
    }
    for (int i = 0; i < VALUES; i++) {
        block[i % 32] |= (uint8_t)((codes[i] >> 2) << i / 32);
        block[32 + i / 128 * 32 + i % 32] |= (uint8_t)((codes[i] & 3) << i % 128 / 32 * 2);
    }
}

void quant_encode_q6_k(const float *values, const float *weight, int search, uint8_t *block)
{
    struct signed_scales s;
    uint8_t codes[VALUES];
    (void)search;
    memset(block, 0, 210);
    fit_signed(values, weight, 16, -32, 31, -128, block + 208, &s);
    codes_signed(values, &s, 16, -32, 31, codes);
    for (int g = 0; g < 16; g++)
        block[192 + g] = (uint8_t)(int8_t)s.scale[g];
    for (int i = 0; i < VALUES; i++) {
        int half = i / 128, quarter = i % 128 / 32, j = i % 32;
        block[64 * half + 32 * (quarter % 2) + j] |= (uint8_t)((codes[i] & 15) << quarter / 2 * 4);
        block[128 + 32 * half + j] |= (uint8_t)((codes[i] >> 4) << 2 * quarter);
    }
}

void quant_encode_iq4_xs(const float *values, const float *weight, int search, uint8_t *block)
{
    float scale[8], d, inverse;
    uint32_t high = 0;
    (void)search;
    memset(block, 0, 136);
    for (size_t g = 0; g < 8; g++)
        scale[g] = quant_fit_codebook(values + 32 * g, quant_weight_at(weight, 32 * g), 32, quant_iq4_codebook_f32);
    d = quant_write_half(block, quant_extreme(scale, 8) / -32.0f);
    inverse = quant_reciprocal(d);
    for (int g = 0; g < 8; g++) {
        int whole_scale = whole(scale[g] * inverse, -32, 31);
        float group_inverse = quant_reciprocal(d * (float)whole_scale);
        uint8_t *run = block + 8 + 16 * g, codes[32];
        block[4 + g / 2] |= (uint8_t)(((whole_scale + 32) & 15) << g % 2 * 4);
        high |= (uint32_t)((whole_scale + 32) >> 4) << 2 * g;
        quant_find_codes(values + (size_t)32 * (size_t)g, 32, group_inverse, quant_iq4_codebook_f32, codes);
        for (size_t j = 0; j < 16; j++)
            run[j] = (uint8_t)(codes[j] | codes[j + 16] << 4);
    }
    block[2] = (uint8_t)high;
    block[3] = (uint8_t)(high >> 8);
}
