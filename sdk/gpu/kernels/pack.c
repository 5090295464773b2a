/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codec of every weight format: its form in kernels (format.h), and how rows are packed from the file format into
 * the layout of weights.h, block by block. Codes are unpacked and stored four to a word. The file formats are those of
 * accel/quant/format.h and its decoders.
 */
#include <string.h>

#include <accel/quant/format.h>
#include <accel/quant/half.h>

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

        if (format->codebook == FORMAT_CODEBOOK_E4M3)
            memcpy(q, from[0] + b * FORMAT_BLOCK, sizeof(q));
        else
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

/* ---- blocks ---- */

/* 32 values of a block: unpacked codes, the word of their scales, and the word of the scales of 256 values. */
struct unpacked {
    uint8_t q[FORMAT_BLOCK];
    uint32_t scales;
    uint32_t super;
};

/* Unpacks values 32 i .. 32 i + 31 of a block. */
typedef void unpack_fn(const uint8_t *block, uint32_t i, struct unpacked *unpacked);

static void unpack_q8_0(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    (void)i;
    memcpy(unpacked->q, block + 2, sizeof(unpacked->q));
    unpacked->scales = read16(block);
}

static void unpack_q4_0(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    (void)i;
    unpack_nibbles(block + 2, unpacked->q);
    unpacked->scales = read16(block);
}

static void unpack_q4_1(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    (void)i;
    unpack_nibbles(block + 4, unpacked->q);
    unpacked->scales = read32(block);
}

static void unpack_q5_0(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    (void)i;
    unpack_nibbles(block + 6, unpacked->q);
    add_fifth_bits(read32(block + 2), unpacked->q);
    unpacked->scales = read16(block);
}

static void unpack_q5_1(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    (void)i;
    unpack_nibbles(block + 8, unpacked->q);
    add_fifth_bits(read32(block + 4), unpacked->q);
    unpacked->scales = read32(block);
}

/* The scale, half of 2^(byte - 127), becomes a bfloat; 0 and 1 are subnormal. */
static void unpack_mxfp4(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    (void)i;
    unpack_nibbles(block + 1, unpacked->q);
    unpacked->scales = block[0] < 2 ? 0x20u << block[0] : (uint32_t)(block[0] - 1) << 7;
}

/* Returns a scale of nvfp4, an unsigned float of 8 bits, halved, as a half; all ones are zero. */
static uint32_t nvfp4_scale(uint8_t byte)
{
    static const uint16_t subnormal[8] = {0, 0x1400, 0x1800, 0x1a00, 0x1c00, 0x1d00, 0x1e00, 0x1f00};
    const uint32_t magnitude = byte & 0x7fu;

    return byte == 0x7f ? 0 : magnitude < 8 ? subnormal[magnitude] : (magnitude << 7) + (7u << 10);
}

static void unpack_nvfp4(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    for (uint32_t j = 0; j < FORMAT_BLOCK; j++)
        unpacked->q[j] = block[4 + 16 * i + j / 16 * 8 + j % 8] >> j / 8 % 2 * 4 & 15u;
    unpacked->scales = nvfp4_scale(block[2 * i]) | nvfp4_scale(block[2 * i + 1]) << 16;
}

/* Codes under a negated scale: code q means q - 2. */
static void unpack_q2_0(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    for (uint32_t j = 0; j < FORMAT_BLOCK; j++)
        unpacked->q[j] = 3u - (block[2 + 8 * i + j / 4] >> j % 4 * 2 & 3u);
    unpacked->scales = read16(block) ^ 0x8000u;
}

static void unpack_q1_0(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    for (uint32_t j = 0; j < FORMAT_BLOCK; j++)
        unpacked->q[j] = (uint8_t)(1u + (block[2 + 4 * i + j / 8] >> j % 8 & 1u) * 2);
    unpacked->scales = read16(block);
}

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

static void unpack_q45_k(const uint8_t *block, const uint8_t *codes, uint32_t i, struct unpacked *unpacked)
{
    for (uint32_t j = 0; j < FORMAT_BLOCK; j++)
        unpacked->q[j] = codes[32 * (i / 2) + j] >> i % 2 * 4 & 15u;
    unpacked->scales = scale_min(block + 4, i);
    unpacked->super = read32(block);
}

static void unpack_q4_k(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    unpack_q45_k(block, block + 16, i, unpacked);
}

static void unpack_q5_k(const uint8_t *block, uint32_t i, struct unpacked *unpacked)
{
    unpack_q45_k(block, block + 48, i, unpacked);
    for (uint32_t j = 0; j < FORMAT_BLOCK; j++)
        unpacked->q[j] |= (uint8_t)((block[16 + j] >> i & 1u) << 4);
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

/* ---- the table ---- */

/* Formats of weights, beside planar ones. X(ID, bits, scales, span, codebook, planes, unpack), see struct gpu_format.
 */
#define CODECS(X)                                                                                                      \
    X(F32, 32, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 1, NULL)                                                       \
    X(F16, 16, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 1, NULL)                                                       \
    X(BF16, 16, FORMAT_BFLOAT, 1, FORMAT_NO_CODEBOOK, 1, NULL)                                                         \
    X(F8_E4M3, 16, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 1, NULL)                                                   \
    X(F8_E5M2, 16, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 1, NULL)                                                   \
    X(Q8_0, 8, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 2, unpack_q8_0)                                                \
    X(Q6_K, 6, FORMAT_SUPER16, 1, FORMAT_NO_CODEBOOK, 3, unpack_q6_k)                                                  \
    X(Q5_K, 5, FORMAT_SUPER, 1, FORMAT_NO_CODEBOOK, 3, unpack_q5_k)                                                    \
    X(Q5_1, 5, FORMAT_MINIMUM, 1, FORMAT_NO_CODEBOOK, 2, unpack_q5_1)                                                  \
    X(Q5_0, 5, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 2, unpack_q5_0)                                                \
    X(Q4_K, 4, FORMAT_SUPER, 1, FORMAT_NO_CODEBOOK, 3, unpack_q4_k)                                                    \
    X(Q4_1, 4, FORMAT_MINIMUM, 1, FORMAT_NO_CODEBOOK, 2, unpack_q4_1)                                                  \
    X(Q4_0, 4, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 2, unpack_q4_0)                                                \
    X(IQ4_NL, 4, FORMAT_LOOKUP, 1, FORMAT_CODEBOOK_IQ4, 2, unpack_q4_0)                                                \
    X(IQ4_XS, 4, FORMAT_SUPERL, 1, FORMAT_CODEBOOK_IQ4, 3, unpack_iq4_xs)                                              \
    X(Q3_K, 3, FORMAT_SUPER16, 1, FORMAT_NO_CODEBOOK, 3, unpack_q3_k)                                                  \
    X(Q2_K, 2, FORMAT_SUPER16M, 1, FORMAT_NO_CODEBOOK, 3, unpack_q2_k)                                                 \
    X(MXFP4, 4, FORMAT_POWERS, 1, FORMAT_CODEBOOK_MXFP4, 2, unpack_mxfp4)                                              \
    X(NVFP4, 4, FORMAT_PAIRS, 1, FORMAT_CODEBOOK_MXFP4, 2, unpack_nvfp4)                                               \
    X(Q2_0, 2, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 2, unpack_q2_0)                                                \
    X(Q1_0, 2, FORMAT_SYMMETRIC, 1, FORMAT_NO_CODEBOOK, 2, unpack_q1_0)                                                \
    X(IQ3_S, 4, FORMAT_SUPER16L, 1, FORMAT_CODEBOOK_IQ3_S, 3, NULL)                                                    \
    X(IQ3_XXS, 4, FORMAT_SUPER16L, 1, FORMAT_CODEBOOK_IQ3_XXS, 3, NULL)                                                \
    X(IQ2_S, 3, FORMAT_SUPER16L, 1, FORMAT_CODEBOOK_IQ2, 3, NULL)                                                      \
    X(IQ2_XS, 3, FORMAT_SUPER16L, 1, FORMAT_CODEBOOK_IQ2, 3, NULL)                                                     \
    X(IQ2_XXS, 3, FORMAT_SUPER16L, 1, FORMAT_CODEBOOK_IQ2, 3, NULL)                                                    \
    X(IQ1_M, 3, FORMAT_SUPER16L, 1, FORMAT_CODEBOOK_IQ1, 3, NULL)                                                      \
    X(IQ1_S, 3, FORMAT_SUPER16L, 1, FORMAT_CODEBOOK_IQ1, 3, NULL)                                                      \
    X(TQ2_0, 2, FORMAT_SYMMETRIC, 8, FORMAT_NO_CODEBOOK, 2, NULL)                                                      \
    X(TQ1_0, 2, FORMAT_SYMMETRIC, 8, FORMAT_NO_CODEBOOK, 2, NULL)

static const struct codec {
    uint32_t type;
    struct gpu_format format;
    unpack_fn *unpack; /* NULL: floats, which are copied or widened, and formats that accel_format_unpack reads */
} codecs[] = {
#define CODEC(ID, bits, scales, span, codebook, planes, unpack)                                                        \
    {ACCEL_##ID, {bits, scales, span, codebook, planes}, unpack},
    CODECS(CODEC)};

static const struct codec *find_codec(uint32_t type)
{
    for (size_t i = 0; i < sizeof(codecs) / sizeof(*codecs); i++)
        if (codecs[i].type == type)
            return &codecs[i];
    return NULL;
}

static const uint32_t planar_scales[] = {
    [ACCEL_SCHEME_SYMMETRIC] = FORMAT_SYMMETRIC, [ACCEL_SCHEME_ASYMMETRIC] = FORMAT_ASYMMETRIC,
    [ACCEL_SCHEME_NF4] = FORMAT_LOOKUP,          [ACCEL_SCHEME_CODEBOOK] = FORMAT_LOOKUP,
    [ACCEL_SCHEME_FLOAT8] = FORMAT_LOOKUP,
};
static const uint32_t planar_codebooks[] = {
    [ACCEL_SCHEME_SYMMETRIC] = FORMAT_NO_CODEBOOK, [ACCEL_SCHEME_ASYMMETRIC] = FORMAT_NO_CODEBOOK,
    [ACCEL_SCHEME_NF4] = FORMAT_CODEBOOK_NF4,      [ACCEL_SCHEME_CODEBOOK] = FORMAT_CODEBOOK_ROW,
    [ACCEL_SCHEME_FLOAT8] = FORMAT_CODEBOOK_E4M3,
};

int32_t gpu_format_of(uint32_t type, struct gpu_format *out_format)
{
    const struct codec *codec = find_codec(type);
    const uint32_t scheme = ACCEL_PLANAR_SCHEME(type), group = ACCEL_PLANAR_LOG2_GROUP(type);
    struct accel_format format;

    if (codec != NULL)
        *out_format = codec->format;
    else if (ACCEL_IS_PLANAR(type) && accel_format_describe(type, &format) == ACCEL_OK)
        *out_format = (struct gpu_format){format.digit_bits, planar_scales[scheme], group == 0 ? 0 : 1u << (group - 5),
                                          planar_codebooks[scheme], format.planes};
    else
        return 0;
    return 1;
}

/* ---- rows ---- */

/* Returns a float of four bits of exponent (bias 7) and three of fraction as a half. */
static uint32_t half_of_e4m3(uint8_t byte)
{
    static const uint16_t subnormal[8] = {0, 0x1800, 0x1c00, 0x1e00, 0x2000, 0x2100, 0x2200, 0x2300};
    const uint32_t sign = (byte & 0x80u) << 8, magnitude = byte & 0x7fu;

    if (magnitude == 0x7fu)
        return sign | 0x7e00u;
    return sign | (magnitude < 8 ? subnormal[magnitude] : (magnitude << 7) + (8u << 10));
}

/* Copies floats; those of 8 bits become halves, which have all of their values. */
static void pack_floats(const struct codec *codec, uint64_t width, const uint8_t *from, uint32_t *to)
{
    if (codec->type != ACCEL_F8_E4M3 && codec->type != ACCEL_F8_E5M2) {
        memcpy(to, from, width * codec->format.bits / 8);
        return;
    }
    for (uint64_t i = 0; i < width; i++)
        put16(to, i, codec->type == ACCEL_F8_E4M3 ? half_of_e4m3(from[i]) : (uint32_t)from[i] << 8);
}

static void pack_blocks(const struct codec *codec, uint64_t width, const uint8_t *block, uint32_t *const *to)
{
    const struct gpu_format *format = &codec->format;
    struct accel_format blocks;
    uint32_t parts;

    (void)accel_format_describe(codec->type, &blocks);
    parts = blocks.block_values / FORMAT_BLOCK;
    for (uint64_t b = 0; b < width / FORMAT_BLOCK; b++) {
        struct unpacked unpacked;

        codec->unpack(block + b / parts * blocks.plane_bytes[0], (uint32_t)(b % parts), &unpacked);
        put_codes(unpacked.q, format->bits, to[0] + b * format->bits);
        if (format->scales == FORMAT_MINIMUM || format->scales == FORMAT_PAIRS)
            to[1][b] = unpacked.scales;
        else
            put16(to[1], b, unpacked.scales);
        if (format->planes == 3)
            to[2][b / parts] = unpacked.super;
    }
}

/* The entries of codebooks of weights.h by code, for formats that accel_format_unpack reads. */
static const int8_t codebooks[][16] = {
    [FORMAT_NO_CODEBOOK] = {2, 1, 0, -1}, /* under a negated scale: code q means q - 2 */
    [FORMAT_CODEBOOK_IQ1] = {-9, -7, -1, 1, 7, 9},
    [FORMAT_CODEBOOK_IQ2] = {-43, -25, -8, 8, 25, 43},
    [FORMAT_CODEBOOK_IQ3_XXS] = {-62, -52, -44, -36, -28, -20, -12, -4, 4, 12, 20, 28, 36, 44, 52, 62},
    [FORMAT_CODEBOOK_IQ3_S] = {-15, -13, -11, -9, -7, -5, -3, -1, 1, 3, 5, 7, 9, 11, 13, 15},
};

/* Returns the number that all scales of a block are multiples of, up to 31 times. */
static float unit_of(const struct codec *codec, const uint8_t *block)
{
    uint32_t half = read16(block);

    for (uint32_t w = 0; w < 4 && codec->type == ACCEL_IQ1_M; w++)
        half = (w == 0 ? 0 : half) | (uint32_t)(block[49 + 2 * w] >> 4) << 4 * w;
    return accel_f16_to_f32((uint16_t)half) * (codec->type == ACCEL_IQ3_S     ? 1.0f
                                               : codec->type == ACCEL_IQ3_XXS ? 0.25f
                                                                              : 0.125f);
}

/* Packs formats whose codes accel_format_unpack gives: entries of a codebook under scales that are small multiples of
 * a float, or codes from -1 to 2 under a half. */
static void pack_unpacked(const struct codec *codec, uint64_t width, const uint8_t *block, uint32_t *const *to)
{
    const struct gpu_format *format = &codec->format;
    struct accel_format blocks;
    uint8_t code_of[256] = {0};

    (void)accel_format_describe(codec->type, &blocks);
    for (uint32_t q = 1u << format->bits; q-- > 0;)
        code_of[(uint8_t)codebooks[format->codebook][q]] = (uint8_t)q;
    for (uint64_t b = 0; b < width / 256; b++, block += blocks.plane_bytes[0]) {
        const float unit = unit_of(codec, block);
        int8_t codes[256];
        uint8_t q[256];
        float scales[16];

        (void)accel_format_unpack(codec->type, block, codes, scales);
        for (uint32_t i = 0; i < 256; i++)
            q[i] = code_of[(uint8_t)codes[i]];
        for (uint32_t i = 0; i < 8; i++)
            put_codes(q + FORMAT_BLOCK * i, format->bits, to[0] + (8 * b + i) * format->bits);
        if (format->scales == FORMAT_SYMMETRIC) {
            put16(to[1], b, read16(block + blocks.plane_bytes[0] - 2) ^ 0x8000u);
            continue;
        }
        for (uint32_t g = 0; g < 16; g++) {
            const float times = scales[g] / unit; /* exact; no number if the unit is zero or none */

            to[1][4 * b + g / 4] |= (times > 0 && times < 32 ? (uint32_t)times : 1u) << 8 * (g % 4);
        }
        memcpy(&to[2][b], &unit, sizeof(unit));
    }
}

static void pack(const struct gpu_layout *layout, uint64_t width, const void *const *from, void *const *to)
{
    const struct codec *codec = find_codec(layout->type);
    const uint8_t *in[GPU_PLANES] = {NULL};
    uint32_t *out[GPU_PLANES] = {NULL};
    struct gpu_format format;

    if (!gpu_format_of(layout->type, &format))
        return;
    for (uint32_t plane = 0; plane < format.planes; plane++)
        out[plane] = to[plane];
    if (codec == NULL) {
        for (uint32_t plane = 0; plane < format.planes; plane++)
            in[plane] = from[plane];
        pack_planar(&format, width, in, out);
    } else if (format.bits >= 16) {
        pack_floats(codec, width, from[0], out[0]);
    } else if (codec->unpack == NULL) {
        pack_unpacked(codec, width, from[0], out);
    } else {
        pack_blocks(codec, width, from[0], out);
    }
}

static uint64_t row_bytes(const struct gpu_layout *layout, uint32_t plane, uint64_t width)
{
    struct gpu_format format;

    return gpu_format_of(layout->type, &format) ? 4 * gpu_format_words(&format, plane, width) : 0;
}

/* X(type, planes) for each group of a planar format. */
#define GROUPS(X, bits, scheme, planes)                                                                                \
    X(ACCEL_PLANAR(bits, 0u, scheme), planes)                                                                          \
    X(ACCEL_PLANAR(bits, 5u, scheme), planes)                                                                          \
    X(ACCEL_PLANAR(bits, 6u, scheme), planes)                                                                          \
    X(ACCEL_PLANAR(bits, 7u, scheme), planes)                                                                          \
    X(ACCEL_PLANAR(bits, 8u, scheme), planes)                                                                          \
    X(ACCEL_PLANAR(bits, 9u, scheme), planes)
#define LAYOUT(type, planes) {(type), (planes), FORMAT_TILE, 0, row_bytes, pack},
#define LAYOUT_CODEC(ID, bits, scales, span, codebook, planes, unpack) LAYOUT(ACCEL_##ID, planes)
#define TYPE(type, planes) (type),
#define TYPE_CODEC(ID, ...) ACCEL_##ID,

static const struct gpu_layout layouts[] = {CODECS(LAYOUT_CODEC)
#define ACCEL_PLANAR_FORMAT(scheme, start, end, bits, planes, ...) GROUPS(LAYOUT, bits, scheme, planes)
#include <accel/quant/formats.def>
};

const uint32_t gpu_types[] = {CODECS(TYPE_CODEC)
#define ACCEL_PLANAR_FORMAT(scheme, start, end, bits, planes, ...) GROUPS(TYPE, bits, scheme, planes)
#include <accel/quant/formats.def>
};
const uint32_t gpu_type_count = sizeof(gpu_types) / sizeof(*gpu_types);

const struct gpu_layout *gpu_layout_find(uint32_t type)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
        if (layouts[i].type == type)
            return &layouts[i];
    return NULL;
}
