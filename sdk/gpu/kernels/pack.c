/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs rows of weights from the file format into the layout of weights.h, block by block: codes are unpacked and
 * stored four to a word. The file formats are those of accel/quant/format.h and its decoders.
 */
#include <string.h>

#include <accel/types.h>

#include "sdk/gpu/kernel.h"
#include "sdk/gpu/kernels/format.h"

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

/* Stores 32 codes in the words of a block: quads, as weights.h defines them. */
static void put_codes(const uint8_t q[FORMAT_BLOCK], uint32_t bits, uint32_t *words)
{
    const uint32_t low = bits == 8 ? 8 : bits >= 4 ? 4 : 2, each = 8 / low, mask = (1u << low) - 1;

    for (uint32_t v = 0; v < FORMAT_BLOCK; v++) {
        const uint32_t i = v / 4, c = v % 4;

        words[i / each] |= (q[v] & mask) << (8 * c + low * (i % each));
        if (bits == 3 || bits == 5)
            words[low] |= (uint32_t)(q[v] >> low) << (8 * c + i);
        if (bits == 6)
            words[low + i / 4] |= (uint32_t)(q[v] >> low) << (8 * c + 2 * (i % 4));
    }
}

/* Unpacks 32 codes from the halves of 16 bytes. */
static void unpack_nibbles(const uint8_t *bytes, uint8_t q[FORMAT_BLOCK])
{
    for (uint32_t j = 0; j < 16; j++) {
        q[j] = bytes[j] & 15;
        q[j + 16] = bytes[j] >> 4;
    }
}

static void add_fifth_bits(uint32_t fifth, uint8_t q[FORMAT_BLOCK])
{
    for (uint32_t j = 0; j < FORMAT_BLOCK; j++)
        q[j] |= (uint8_t)((fifth >> j & 1u) << 4);
}

/* ---- planar ---- */

static void unpack_planar(const uint8_t *bytes, uint32_t bits, uint8_t q[FORMAT_BLOCK])
{
    if (bits == 8) {
        for (uint32_t j = 0; j < FORMAT_BLOCK; j++)
            q[j] = bytes[j] ^ 0x80u; /* from the middle */
    } else if (bits == 4) {
        unpack_nibbles(bytes, q);
    } else {
        const uint32_t third = bits == 3 ? read32(bytes + 8) : 0;

        for (uint32_t j = 0; j < FORMAT_BLOCK; j++)
            q[j] = (uint8_t)((bytes[j % 8] >> j / 8 * 2 & 3u) | (third >> j & 1u) << 2);
    }
}

static void pack_planar(const struct gpu_format *format, uint64_t width, const uint8_t *const *from,
                        uint32_t *const *to)
{
    const uint64_t blocks = width / FORMAT_BLOCK;
    const uint64_t groups = format->span == 0 ? 1 : (blocks + format->span - 1) / format->span;

    for (uint64_t b = 0; b < blocks; b++) {
        uint8_t q[FORMAT_BLOCK];

        unpack_planar(from[0] + b * 4 * format->bits, format->bits, q);
        put_codes(q, format->bits, to[0] + b * format->bits);
    }
    for (uint64_t g = 0; g < groups; g++)
        put16(to[1], g, read16(from[1] + 2 * g));
    if (format->codebook == FORMAT_CODEBOOK_ROW)
        memcpy(to[2], from[2], 32);
    for (uint64_t g = 0; g < groups && format->scales == FORMAT_ASYMMETRIC; g++)
        to[2][g / 4] |= (uint32_t)from[2][g] << g % 4 * 8;
}

/* ---- blocks of 32 ---- */

static uint32_t power_bits(uint8_t byte)
{
    /* The scale of mxfp4 is half of 2^(byte - 127); 0 and 1 are subnormal. */
    return byte < 2 ? 0x20u << byte : (uint32_t)(byte - 1) << 7;
}

static void pack_block(uint32_t type, const struct gpu_format *format, const uint8_t *block, uint64_t b,
                       uint32_t *const *to)
{
    uint8_t q[FORMAT_BLOCK];

    if (type == ACCEL_MXFP4)
        put16(to[1], b, power_bits(block[0]));
    else if (format->scales == FORMAT_MINIMUM)
        to[1][b] = read32(block);
    else
        put16(to[1], b, read16(block));
    if (type == ACCEL_Q8_0) {
        memcpy(q, block + 2, sizeof(q));
    } else {
        const uint32_t head = type == ACCEL_MXFP4 ? 1 : format->scales == FORMAT_MINIMUM ? 4 : 2;

        unpack_nibbles(block + head + (format->bits == 5 ? 4 : 0), q);
        if (format->bits == 5)
            add_fifth_bits(read32(block + head), q);
    }
    put_codes(q, format->bits, to[0] + b * format->bits);
}

/* ---- blocks of 256 ---- */
/* Unpacked codes of 32 values of a block of 256, the two bytes of their scales, and the word of the block's scale. */
/* Digits of run i (32 values) of a block of 256, the two bytes of its scales, and the word of the block's own. */
struct unpacked {
    uint8_t q[FORMAT_BLOCK];
    uint32_t scales;
    uint32_t super;
};

static void unpack_q2_k(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    for (uint32_t j = 0; j < FORMAT_BLOCK; j++)
        unpacked->q[j] = block[16 + 32 * (i / 4) + j] >> 2 * (i % 4) & 3u;
    unpacked->scales = read16(block + 2 * i);
    unpacked->super = read32(block + 80);
}

static uint32_t q3_scale(const uint8_t *packed, uint32_t group)
{
    const uint32_t low = packed[group % 8] >> group / 8 * 4 & 15u, high = packed[8 + group % 4] >> group / 4 * 2 & 3u;

    return ((low | high << 4) - 32u) & 255u;
}

static void unpack_q3_k(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    for (uint32_t j = 0; j < FORMAT_BLOCK; j++) {
        const uint32_t low = block[32 + 32 * (i / 4) + j] >> 2 * (i % 4) & 3u;

        unpacked->q[j] = (uint8_t)(low | (block[j] >> i & 1u) << 2);
    }
    unpacked->scales = q3_scale(block + 96, 2 * i) | q3_scale(block + 96, 2 * i + 1) << 8;
    unpacked->super = read16(block + 108);
}

/* Scale and minimum of 6 bits as two bytes. */
static uint32_t scale_min(const uint8_t *packed, uint32_t i)
{
    if (i < 4)
        return (packed[i] & 63u) | (packed[i + 4] & 63u) << 8;
    return (packed[i + 4] & 15u) | (uint32_t)(packed[i - 4] >> 6) << 4 | (uint32_t)(packed[i + 4] >> 4) << 8 |
           (uint32_t)(packed[i] >> 6) << 12;
}

static void unpack_q45_k(const uint8_t *block, const uint8_t *fifth, const uint8_t *codes, uint32_t i,
                         struct unpacked *unpacked)
{
    for (uint32_t j = 0; j < FORMAT_BLOCK; j++) {
        unpacked->q[j] = codes[32 * (i / 2) + j] >> i % 2 * 4 & 15u;
        if (fifth != NULL)
            unpacked->q[j] |= (uint8_t)((fifth[j] >> i & 1u) << 4);
    }
    unpacked->scales = scale_min(block + 4, i);
    unpacked->super = read32(block);
}

static void unpack_q6_k(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    const uint32_t half = i / 4, quarter = i % 4;

    for (uint32_t j = 0; j < FORMAT_BLOCK; j++) {
        const uint32_t low = block[64 * half + 32 * (quarter % 2) + j] >> quarter / 2 * 4 & 15u;

        unpacked->q[j] = (uint8_t)(low | (block[128 + 32 * half + j] >> 2 * quarter & 3u) << 4);
    }
    unpacked->scales = read16(block + 192 + 2 * i);
    unpacked->super = read16(block + 208);
}

static void unpack_iq4_xs(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    const uint32_t low = block[4 + i / 2] >> i % 2 * 4 & 15u, high = read16(block + 2) >> 2 * i & 3u;

    unpack_nibbles(block + 8 + 16 * i, unpacked->q);
    unpacked->scales = ((low | high << 4) - 32u) & 255u;
    unpacked->super = read16(block);
}

static void unpack_values(uint32_t type, const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    if (type == ACCEL_Q2_K)
        unpack_q2_k(block, i, unpacked);
    else if (type == ACCEL_Q3_K)
        unpack_q3_k(block, i, unpacked);
    else if (type == ACCEL_Q4_K)
        unpack_q45_k(block, NULL, block + 16, i, unpacked);
    else if (type == ACCEL_Q5_K)
        unpack_q45_k(block, block + 16, block + 48, i, unpacked);
    else if (type == ACCEL_Q6_K)
        unpack_q6_k(block, i, unpacked);
    else
        unpack_iq4_xs(block, i, unpacked);
}

static void pack_super(uint32_t type, const struct gpu_format *format, const uint8_t *block, uint64_t b,
                       uint32_t *const *to)
{
    for (uint32_t i = 0; i < 8; i++) {
        struct unpacked unpacked;

        unpack_values(type, block, i, &unpacked);
        put_codes(unpacked.q, format->bits, to[0] + (8 * b + i) * format->bits);
        put16(to[1], 8 * b + i, unpacked.scales);
        to[2][b] = unpacked.super;
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
    struct gpu_format format;

    if (!gpu_format_of(layout->type, &format))
        return;
    for (uint32_t plane = 0; plane < format.planes; plane++)
        out[plane] = to[plane];
    in[0] = from[0];
    if (format.bits >= 16) {
        memcpy(out[0], in[0], width * format.bits / 8);
        return;
    }
    if (ACCEL_IS_PLANAR(layout->type)) {
        for (uint32_t plane = 1; plane < format.planes; plane++)
            in[plane] = from[plane];
        pack_planar(&format, width, in, out);
        return;
    }
    const uint32_t bytes = block_bytes(layout->type), values = format.planes == 3 ? 256 : FORMAT_BLOCK;
    for (uint64_t b = 0; b < width / values; b++, in[0] += bytes) {
        if (values == 256)
            pack_super(layout->type, &format, in[0], b, out);
        else
            pack_block(layout->type, &format, in[0], b, out);
    }
}

static uint64_t row_bytes(const struct gpu_layout *layout, uint32_t plane, uint64_t width)
{
    struct gpu_format format;

    return gpu_format_of(layout->type, &format) ? 4 * gpu_format_words(&format, plane, width) : 0;
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
#define LAYOUT(type, planes) {(type), (planes), FORMAT_TILE, 0, row_bytes, pack},
#define TYPE(type, planes) (type),

static const struct gpu_layout layouts[] = {TYPES(LAYOUT)};
const uint32_t gpu_types[] = {TYPES(TYPE)};
const uint32_t gpu_type_count = sizeof(gpu_types) / sizeof(*gpu_types);

const struct gpu_layout *gpu_layout_find(uint32_t type)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
        if (layouts[i].type == type)
            return &layouts[i];
    return NULL;
}
