/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of weights from the form they have in files to the one of weights.h: block by block, digits are taken out and
 * put into words of four. The layouts are those of accel/quant/format.h and its decoders.
 */
#include "sdk/gpu/kernel.h"
#include "sdk/gpu/kernels/form.h"

#include <accel/types.h>
#include <string.h>

static uint32_t read16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t read32(const uint8_t *bytes)
{
    return read16(bytes) | read16(bytes + 2) << 16;
}

/* Puts 16 bits at place `index` of a plane of halves. */
static void put16(uint32_t *words, uint64_t index, uint32_t bits)
{
    words[index / 2] |= bits << index % 2 * 16;
}

/* Puts 32 digits at the words of a block: quads, as weights.h says. */
static void put_digits(const uint8_t q[FORM_BLOCK], uint32_t bits, uint32_t *words)
{
    const uint32_t low = bits == 8 ? 8 : bits >= 4 ? 4 : 2, each = 8 / low, mask = (1u << low) - 1;

    for (uint32_t v = 0; v < FORM_BLOCK; v++) {
        const uint32_t i = v / 4, c = v % 4;

        words[i / each] |= (q[v] & mask) << (8 * c + low * (i % each));
        if (bits == 3 || bits == 5)
            words[low] |= (uint32_t)(q[v] >> low) << (8 * c + i);
        if (bits == 6)
            words[low + i / 4] |= (uint32_t)(q[v] >> low) << (8 * c + 2 * (i % 4));
    }
}

/* 32 digits as halves of 16 bytes. */
static void take_nibbles(const uint8_t *bytes, uint8_t q[FORM_BLOCK])
{
    for (uint32_t j = 0; j < 16; j++) {
        q[j] = bytes[j] & 15;
        q[j + 16] = bytes[j] >> 4;
    }
}

static void add_fifth(uint32_t fifth, uint8_t q[FORM_BLOCK])
{
    for (uint32_t j = 0; j < FORM_BLOCK; j++)
        q[j] |= (uint8_t)((fifth >> j & 1u) << 4);
}

/* ---- planar ---- */

static void take_planar(const uint8_t *run, uint32_t bits, uint8_t q[FORM_BLOCK])
{
    if (bits == 8) {
        for (uint32_t j = 0; j < FORM_BLOCK; j++)
            q[j] = run[j] ^ 0x80u; /* from the middle */
    } else if (bits == 4) {
        take_nibbles(run, q);
    } else {
        const uint32_t third = bits == 3 ? read32(run + 8) : 0;

        for (uint32_t j = 0; j < FORM_BLOCK; j++)
            q[j] = (uint8_t)((run[j % 8] >> j / 8 * 2 & 3u) | (third >> j & 1u) << 2);
    }
}

static void pack_planar(const struct gpu_form *form, uint64_t width, const uint8_t *const *from, uint32_t *const *to)
{
    const uint64_t blocks = width / FORM_BLOCK;
    const uint64_t groups = form->span == 0 ? 1 : (blocks + form->span - 1) / form->span;

    for (uint64_t b = 0; b < blocks; b++) {
        uint8_t q[FORM_BLOCK];

        take_planar(from[0] + b * 4 * form->bits, form->bits, q);
        put_digits(q, form->bits, to[0] + b * form->bits);
    }
    for (uint64_t g = 0; g < groups; g++)
        put16(to[1], g, read16(from[1] + 2 * g));
    if (form->levels == FORM_BOOK)
        memcpy(to[2], from[2], 32);
    for (uint64_t g = 0; g < groups && form->scales == FORM_ASYMMETRIC; g++)
        to[2][g / 4] |= (uint32_t)from[2][g] << g % 4 * 8;
}

/* ---- blocks of 32 ---- */

static uint32_t power_bits(uint8_t byte)
{
    /* The scale of mxfp4 is half of 2^(byte - 127); 0 and 1 are subnormal. */
    return byte < 2 ? 0x20u << byte : (uint32_t)(byte - 1) << 7;
}

static void pack_block(uint32_t type, const struct gpu_form *form, const uint8_t *block, uint64_t b,
                       uint32_t *const *to)
{
    uint8_t q[FORM_BLOCK];

    if (type == ACCEL_MXFP4)
        put16(to[1], b, power_bits(block[0]));
    else if (form->scales == FORM_MINIMUM)
        to[1][b] = read32(block);
    else
        put16(to[1], b, read16(block));
    if (type == ACCEL_Q8_0) {
        memcpy(q, block + 2, sizeof q);
    } else {
        const uint32_t head = type == ACCEL_MXFP4 ? 1 : form->scales == FORM_MINIMUM ? 4 : 2;

        take_nibbles(block + head + (form->bits == 5 ? 4 : 0), q);
        if (form->bits == 5)
            add_fifth(read32(block + head), q);
    }
    put_digits(q, form->bits, to[0] + b * form->bits);
}

/* ---- blocks of 256 ---- */

/* Digits of run i (32 values) of a block of 256, the two bytes of its scales, and the word of the block's own. */
struct run {
    uint8_t q[FORM_BLOCK];
    uint32_t scales;
    uint32_t super;
};

static void take_q2_k(const uint8_t *block, uint32_t i, struct run *run)
{
    for (uint32_t j = 0; j < FORM_BLOCK; j++)
        run->q[j] = block[16 + 32 * (i / 4) + j] >> 2 * (i % 4) & 3u;
    run->scales = read16(block + 2 * i);
    run->super = read32(block + 80);
}

static uint32_t q3_scale(const uint8_t *packed, uint32_t group)
{
    const uint32_t low = packed[group % 8] >> group / 8 * 4 & 15u, high = packed[8 + group % 4] >> group / 4 * 2 & 3u;

    return ((low | high << 4) - 32u) & 255u;
}

static void take_q3_k(const uint8_t *block, uint32_t i, struct run *run)
{
    for (uint32_t j = 0; j < FORM_BLOCK; j++) {
        const uint32_t low = block[32 + 32 * (i / 4) + j] >> 2 * (i % 4) & 3u;

        run->q[j] = (uint8_t)(low | (block[j] >> i & 1u) << 2);
    }
    run->scales = q3_scale(block + 96, 2 * i) | q3_scale(block + 96, 2 * i + 1) << 8;
    run->super = read16(block + 108);
}

/* Scale and minimum of 6 bits as two bytes. */
static uint32_t scale_min(const uint8_t *packed, uint32_t i)
{
    if (i < 4)
        return (packed[i] & 63u) | (packed[i + 4] & 63u) << 8;
    return (packed[i + 4] & 15u) | (uint32_t)(packed[i - 4] >> 6) << 4 | (uint32_t)(packed[i + 4] >> 4) << 8 |
           (uint32_t)(packed[i] >> 6) << 12;
}

static void take_q45_k(const uint8_t *block, const uint8_t *fifth, const uint8_t *digits, uint32_t i, struct run *run)
{
    for (uint32_t j = 0; j < FORM_BLOCK; j++) {
        run->q[j] = digits[32 * (i / 2) + j] >> i % 2 * 4 & 15u;
        if (fifth != NULL)
            run->q[j] |= (uint8_t)((fifth[j] >> i & 1u) << 4);
    }
    run->scales = scale_min(block + 4, i);
    run->super = read32(block);
}

static void take_q6_k(const uint8_t *block, uint32_t i, struct run *run)
{
    const uint32_t half = i / 4, quarter = i % 4;

    for (uint32_t j = 0; j < FORM_BLOCK; j++) {
        const uint32_t low = block[64 * half + 32 * (quarter % 2) + j] >> quarter / 2 * 4 & 15u;

        run->q[j] = (uint8_t)(low | (block[128 + 32 * half + j] >> 2 * quarter & 3u) << 4);
    }
    run->scales = read16(block + 192 + 2 * i);
    run->super = read16(block + 208);
}

static void take_iq4_xs(const uint8_t *block, uint32_t i, struct run *run)
{
    const uint32_t low = block[4 + i / 2] >> i % 2 * 4 & 15u, high = read16(block + 2) >> 2 * i & 3u;

    take_nibbles(block + 8 + 16 * i, run->q);
    run->scales = ((low | high << 4) - 32u) & 255u;
    run->super = read16(block);
}

static void take_run(uint32_t type, const uint8_t *block, uint32_t i, struct run *run)
{
    if (type == ACCEL_Q2_K)
        take_q2_k(block, i, run);
    else if (type == ACCEL_Q3_K)
        take_q3_k(block, i, run);
    else if (type == ACCEL_Q4_K)
        take_q45_k(block, NULL, block + 16, i, run);
    else if (type == ACCEL_Q5_K)
        take_q45_k(block, block + 16, block + 48, i, run);
    else if (type == ACCEL_Q6_K)
        take_q6_k(block, i, run);
    else
        take_iq4_xs(block, i, run);
}

static void pack_super(uint32_t type, const struct gpu_form *form, const uint8_t *block, uint64_t b,
                       uint32_t *const *to)
{
    for (uint32_t i = 0; i < 8; i++) {
        struct run run;

        take_run(type, block, i, &run);
        put_digits(run.q, form->bits, to[0] + (8 * b + i) * form->bits);
        put16(to[1], 8 * b + i, run.scales);
        to[2][b] = run.super;
    }
}

/* ---- the table ---- */

static uint32_t block_bytes(uint32_t type)
{
    switch (type) {
    case ACCEL_Q4_0:
    case ACCEL_IQ4_NL:
        return 18;
    case ACCEL_Q4_1:
        return 20;
    case ACCEL_Q5_0:
        return 22;
    case ACCEL_Q5_1:
        return 24;
    case ACCEL_Q8_0:
        return 34;
    case ACCEL_MXFP4:
        return 17;
    case ACCEL_Q2_K:
        return 84;
    case ACCEL_Q3_K:
        return 110;
    case ACCEL_Q4_K:
        return 144;
    case ACCEL_Q5_K:
        return 176;
    case ACCEL_Q6_K:
        return 210;
    default: /* iq4_xs */
        return 136;
    }
}

static void pack(const struct gpu_layout *layout, uint64_t width, const void *const *from, void *const *to)
{
    const uint8_t *in[GPU_PLANES] = {NULL};
    uint32_t *out[GPU_PLANES] = {NULL};
    struct gpu_form form;

    if (!gpu_form_of(layout->type, &form))
        return;
    for (uint32_t plane = 0; plane < form.planes; plane++)
        out[plane] = to[plane];
    in[0] = from[0];
    if (form.bits >= 16) {
        memcpy(out[0], in[0], width * form.bits / 8);
        return;
    }
    if (ACCEL_IS_PLANAR(layout->type)) {
        for (uint32_t plane = 1; plane < form.planes; plane++)
            in[plane] = from[plane];
        pack_planar(&form, width, in, out);
        return;
    }
    const uint32_t bytes = block_bytes(layout->type), values = form.planes == 3 ? 256 : FORM_BLOCK;
    for (uint64_t b = 0; b < width / values; b++, in[0] += bytes) {
        if (values == 256)
            pack_super(layout->type, &form, in[0], b, out);
        else
            pack_block(layout->type, &form, in[0], b, out);
    }
}

static uint64_t row_bytes(const struct gpu_layout *layout, uint32_t plane, uint64_t width)
{
    struct gpu_form form;

    return gpu_form_of(layout->type, &form) ? 4 * gpu_form_words(&form, plane, width) : 0;
}

/* X(type, planes) for each type. */
#define GROUPS(X, bits, scheme, planes)                                                                                \
    X(ACCEL_PLANAR(bits, 0u, scheme), planes)                                                                          \
    X(ACCEL_PLANAR(bits, 5u, scheme), planes)                                                                          \
    X(ACCEL_PLANAR(bits, 6u, scheme), planes)                                                                          \
    X(ACCEL_PLANAR(bits, 7u, scheme), planes)                                                                          \
    X(ACCEL_PLANAR(bits, 8u, scheme), planes)                                                                          \
    X(ACCEL_PLANAR(bits, 9u, scheme), planes)
#define TYPES(X)                                                                                                       \
    X(ACCEL_F32, 1)                                                                                                    \
    X(ACCEL_F16, 1)                                                                                                    \
    X(ACCEL_BF16, 1)                                                                                                   \
    X(ACCEL_Q4_0, 2)                                                                                                   \
    X(ACCEL_Q4_1, 2)                                                                                                   \
    X(ACCEL_Q5_0, 2)                                                                                                   \
    X(ACCEL_Q5_1, 2)                                                                                                   \
    X(ACCEL_Q8_0, 2)                                                                                                   \
    X(ACCEL_Q2_K, 3)                                                                                                   \
    X(ACCEL_Q3_K, 3)                                                                                                   \
    X(ACCEL_Q4_K, 3)                                                                                                   \
    X(ACCEL_Q5_K, 3)                                                                                                   \
    X(ACCEL_Q6_K, 3)                                                                                                   \
    X(ACCEL_IQ4_NL, 2)                                                                                                 \
    X(ACCEL_IQ4_XS, 3)                                                                                                 \
    X(ACCEL_MXFP4, 2)                                                                                                  \
    GROUPS(X, 2u, ACCEL_SCHEME_SYMMETRIC, 2)                                                                           \
    GROUPS(X, 3u, ACCEL_SCHEME_SYMMETRIC, 2)                                                                           \
    GROUPS(X, 4u, ACCEL_SCHEME_SYMMETRIC, 2)                                                                           \
    GROUPS(X, 8u, ACCEL_SCHEME_SYMMETRIC, 2)                                                                           \
    GROUPS(X, 2u, ACCEL_SCHEME_ASYMMETRIC, 3)                                                                          \
    GROUPS(X, 3u, ACCEL_SCHEME_ASYMMETRIC, 3)                                                                          \
    GROUPS(X, 4u, ACCEL_SCHEME_ASYMMETRIC, 3)                                                                          \
    GROUPS(X, 8u, ACCEL_SCHEME_ASYMMETRIC, 3)                                                                          \
    GROUPS(X, 4u, ACCEL_SCHEME_NF4, 2)                                                                                 \
    GROUPS(X, 4u, ACCEL_SCHEME_CODEBOOK, 3)
#define LAYOUT(type, planes) {(type), (planes), FORM_TILE, 0, row_bytes, pack},
#define TYPE(type, planes) (type),

static const struct gpu_layout layouts[] = {TYPES(LAYOUT)};
const uint32_t gpu_types[] = {TYPES(TYPE)};
const uint32_t gpu_type_count = sizeof gpu_types / sizeof *gpu_types;

const struct gpu_layout *gpu_layout_find(uint32_t type)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].type == type)
            return &layouts[i];
    return NULL;
}
