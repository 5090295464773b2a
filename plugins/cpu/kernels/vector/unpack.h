/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the vector kernels: unpacks blocks of 32 to 256 weights whose codes are not 4 or 8 bits wide, or which
 * have sub-scales, to signed 8-bit codes with a scale and a minimum per 16 weights. quant/decode_k.c and
 * quant/decode_blocks.c define the formats.
 */
#ifndef CPU_VECTOR_UNPACK_H
#define CPU_VECTOR_UNPACK_H

#include "vec.h"

#include <accel/quant/format.h>

#define UNPACKED_VALUES 256u
#define UNPACKED_SCALES (UNPACKED_VALUES / 16u)

/* Up to UNPACKED_VALUES unpacked weights of a row: weight i is d[i / 16] * codes[i] + m[i / 16]. */
struct unpacked {
    int8_t codes[UNPACKED_VALUES];
    float d[UNPACKED_SCALES];
    float m[UNPACKED_SCALES];    /* only for formats with a minimum */
    int8_t low[UNPACKED_VALUES]; /* only for codebooks: weight i is d[i / 16] * (256 * codes[i] + low[i]) */
};

/* Constants of a format, known to the compiler. */
struct traits {
    uint32_t type;         /* ACCEL_Q4_K, ... */
    uint32_t block_values; /* 32 or UNPACKED_VALUES */
    uint32_t block_bytes;
    uint32_t minimum; /* 1: the format has minima */
    uint32_t fine;    /* 1: the scales of the 16 first and the 16 last of 32 weights differ */
};

#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    static const struct traits traits_##name = {ACCEL_##ID, values, bytes, CPU_MINIMUM_##code, (group) == 16};
#include <accel/quant/formats.def>

CPU_INLINE __m256i load32(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Loads 16 bytes to each half. */
CPU_INLINE __m256i load_pair16(const void *low, const void *high)
{
    const __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low));
    return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)high), 1);
}

CPU_INLINE void store32(int8_t *p, __m256i v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

CPU_INLINE uint32_t word_at(const uint8_t *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof(word));
    return word;
}

/* Shifts the bits of every byte left (right if negative) and masks them; both are constants. */
CPU_INLINE __m256i moved_bytes(__m256i bytes, const int left, const int mask)
{
    const __m256i at = left > 0 ? _mm256_slli_epi16(bytes, left) : left < 0 ? _mm256_srli_epi16(bytes, -left) : bytes;
    return _mm256_and_si256(at, _mm256_set1_epi8((char)mask));
}

/* Returns 32 codes of 4 bits from 16 bytes: low nibbles, then high nibbles. */
CPU_INLINE __m256i nibbles(const uint8_t *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(bytes), _mm_srli_epi16(bytes, 4), 1);
    return _mm256_and_si256(both, _mm256_set1_epi8(15));
}

/* Returns 16 in byte i if bit i of the word is set, else 0. */
CPU_INLINE __m256i fifth_bits(uint32_t word)
{
    const __m256i spread = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bits = _mm256_set1_epi64x((long long)0x8040201008040201);
    __m256i bytes = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32((int)word), spread), bits);
    return _mm256_and_si256(_mm256_cmpeq_epi8(bytes, bits), _mm256_set1_epi8(16));
}

/* Looks up 4-bit codes in the codebook of the iq4 formats. */
CPU_INLINE __m256i lookup_iq4(__m256i codes)
{
    const __m128i table = _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), codes);
}

/* Looks up 4-bit codes in the codebook of mxfp4, which is stored doubled. */
CPU_INLINE __m256i lookup_mxfp4(__m256i codes)
{
    const __m128i table = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), codes);
}

CPU_INLINE float half_of_power(uint8_t exponent)
{
    uint32_t bits = exponent < 2 ? 0x200000u << exponent : (uint32_t)(exponent - 1) << 23;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

CPU_INLINE void set_two(float *at, float value)
{
    at[0] = at[1] = value;
}

/* Multiplies eight unsigned bytes by `factor`; each covers two groups of 16. */
CPU_INLINE void set_eight(float out[UNPACKED_SCALES], uint32_t low, uint32_t high, float factor)
{
    const __m256i first = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3), last = _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7);
    __m256i bytes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)((uint64_t)high << 32 | low)));
    __m256 values = _mm256_mul_ps(_mm256_cvtepi32_ps(bytes), _mm256_set1_ps(factor));
    _mm256_storeu_ps(out, _mm256_permutevar8x32_ps(values, first));
    _mm256_storeu_ps(out + 8, _mm256_permutevar8x32_ps(values, last));
}

/* Multiplies sixteen signed bytes by `factor`. */
CPU_INLINE void set_sixteen(float out[UNPACKED_SCALES], __m128i bytes, float factor)
{
    __m256i first = _mm256_cvtepi8_epi32(bytes), last = _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8));
    _mm256_storeu_ps(out, _mm256_mul_ps(_mm256_cvtepi32_ps(first), _mm256_set1_ps(factor)));
    _mm256_storeu_ps(out + 8, _mm256_mul_ps(_mm256_cvtepi32_ps(last), _mm256_set1_ps(factor)));
}

/* ---- blocks of 64 and 128 ---- */

/* Returns a scale of nvfp4: an unsigned float of 8 bits, halved; all ones are zero. */
CPU_INLINE float half_of_float8_scale(uint8_t byte)
{
    const uint32_t magnitude = byte & 0x7fu, bits = (magnitude << 20) + (119u << 23);
    float value;
    memcpy(&value, &bits, sizeof(value));
    return byte == 0x7f ? 0 : magnitude < 8 ? (float)magnitude * 0x1p-10f : value;
}

/* Unpacks a block as values `at` .. of a span: two groups of 16 codes at a time, eight low and eight high nibbles each.
 */
CPU_INLINE void unpack_nvfp4(const uint8_t *block, size_t at, struct unpacked *out)
{
    for (size_t g = 0; g < 4; g++)
        out->d[at / 16 + g] = half_of_float8_scale(block[g]);
    for (size_t g = 0; g < 2; g++) {
        int8_t *codes = out->codes + at + 32 * g;
        uint64_t second, third;
        store32(codes, lookup_mxfp4(nibbles(block + 4 + 16 * g)));
        memcpy(&second, codes + 8, sizeof(second));
        memcpy(&third, codes + 16, sizeof(third));
        memcpy(codes + 8, &third, sizeof(third));
        memcpy(codes + 16, &second, sizeof(second));
    }
}

/* Unpacks codes -1 .. 2, four to a byte. */
CPU_INLINE void unpack_q2_0(const uint8_t *block, size_t at, struct unpacked *out)
{
    for (size_t g = 0; g < 4; g++)
        out->d[at / 16 + g] = half_to_float(block);
    for (size_t g = 0; g < 2; g++) {
        __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(block + 2 + 8 * g)));
        bytes = _mm256_or_si256(bytes, _mm256_slli_epi32(bytes, 6)); /* codes 0 and 1 in bytes 0 and 1 */
        bytes = _mm256_or_si256(bytes, _mm256_slli_epi32(bytes, 12));
        bytes = _mm256_and_si256(bytes, _mm256_set1_epi8(3));
        store32(out->codes + at + 32 * g, _mm256_sub_epi8(bytes, _mm256_set1_epi8(1)));
    }
}

/* Unpacks signs. */
CPU_INLINE void unpack_q1_0(const uint8_t *block, size_t at, struct unpacked *out)
{
    for (size_t g = 0; g < 8; g++)
        out->d[at / 16 + g] = half_to_float(block);
    for (size_t g = 0; g < 4; g++) {
        const __m256i two = _mm256_srli_epi16(fifth_bits(word_at(block + 2 + 4 * g)), 3);
        store32(out->codes + at + 32 * g, _mm256_sub_epi8(two, _mm256_set1_epi8(1)));
    }
}

/* ---- blocks of 32 ---- */

/* Unpacks a block as values `at` .. of a span. */
CPU_INLINE void unpack_small(const struct traits traits, const uint8_t *block, size_t at, struct unpacked *out)
{
    int8_t *codes = out->codes + at;
    set_two(out->d + at / 16, traits.type == ACCEL_MXFP4 ? half_of_power(block[0]) : half_to_float(block));
    if (traits.type == ACCEL_MXFP4) {
        store32(codes, lookup_mxfp4(nibbles(block + 1)));
    } else if (traits.type == ACCEL_IQ4_NL) {
        store32(codes, lookup_iq4(nibbles(block + 2)));
    } else if (traits.type == ACCEL_Q5_0) {
        __m256i five = _mm256_or_si256(nibbles(block + 6), fifth_bits(word_at(block + 2)));
        store32(codes, _mm256_sub_epi8(five, _mm256_set1_epi8(16)));
    } else {
        set_two(out->m + at / 16, half_to_float(block + 2));
        store32(codes, _mm256_or_si256(nibbles(block + 8), fifth_bits(word_at(block + 4))));
    }
}

/* ---- blocks of 256 ---- */

/* Splits the 12 bytes of q4_k and q5_k: eight scales (out[0], out[1]) and eight minima (out[2], out[3]) of 6 bits; the
 * upper two bits of the last four of each are stored above the first four. */
CPU_INLINE void words6(const uint8_t *block, uint32_t out[4])
{
    const uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x03030303;
    uint32_t a = word_at(block + 4), b = word_at(block + 8), c = word_at(block + 12);
    out[0] = a & six;
    out[1] = (c & four) | (a >> 6 & two) << 4;
    out[2] = b & six;
    out[3] = (c >> 4 & four) | (b >> 6 & two) << 4;
}

CPU_INLINE void unpack_scales6(const uint8_t *block, struct unpacked *out)
{
    uint32_t words[4];
    words6(block, words);
    set_eight(out->d, words[0], words[1], half_to_float(block));
    set_eight(out->m, words[2], words[3], -half_to_float(block + 2));
}

/* Returns the sixteen 6-bit scales of q3_k; the load ends with the block. */
CPU_INLINE __m128i scales_q3_k(const uint8_t *block)
{
    const __m128i four = _mm_set1_epi8(15), two = _mm_set1_epi8(3);
    const __m128i end = _mm_loadu_si128((const __m128i *)(block + 94));
    const __m128i ab = _mm_setr_epi8(2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 6, 7, 8, 9);
    const __m128i c = _mm_setr_epi8(10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13);
    __m128i low = _mm_srlv_epi32(_mm_shuffle_epi8(end, ab), _mm_setr_epi32(0, 0, 4, 4));
    __m128i high = _mm_srlv_epi32(_mm_shuffle_epi8(end, c), _mm_setr_epi32(0, 2, 4, 6));
    low = _mm_or_si128(_mm_and_si128(low, four), _mm_slli_epi16(_mm_and_si128(high, two), 4));
    return _mm_sub_epi8(low, _mm_set1_epi8(32));
}

/* Offsets of the 32 codes of a group of a block: a code is the bits `mask` of a byte from offset `low` on, shifted
 * right, and the bits `above` (0: none) of one from `high` on, shifted left. */
struct k_place {
    size_t low, high;
    int right, mask;
    int left, above;
};

CPU_INLINE struct k_place k_place_of(const uint32_t type, const size_t g)
{
    const int i = (int)g, quarter = i % 4;
    switch (type) {
    case ACCEL_Q2_K:
        return (struct k_place){.low = 16 + g / 4 * 32, .right = 2 * quarter, .mask = 3};
    case ACCEL_Q3_K:
        return (struct k_place){32 + g / 4 * 32, 0, 2 * quarter, 3, 2 - i, 4};
    case ACCEL_Q4_K:
        return (struct k_place){.low = 16 + g / 2 * 32, .right = i % 2 * 4, .mask = 15};
    case ACCEL_Q5_K:
        return (struct k_place){48 + g / 2 * 32, 16, i % 2 * 4, 15, 4 - i, 16};
    default: /* q6_k */
        return (struct k_place){g / 4 * 64 + g % 2 * 32, 128 + g / 4 * 32, quarter / 2 * 4, 15, 4 - 2 * quarter, 48};
    }
}

/* Returns the zero point of the codes of a type without minima. */
CPU_INLINE int k_zero_of(const uint32_t type)
{
    return type == ACCEL_Q3_K ? 4 : type == ACCEL_Q6_K ? 32 : 0;
}

/* Returns the 32 unsigned codes of group g (a constant) of a block. */
CPU_INLINE __m256i k_codes_of(const uint32_t type, const uint8_t *block, const size_t g)
{
    const struct k_place at = k_place_of(type, g);
    const __m256i low = moved_bytes(load32(block + at.low), -at.right, at.mask);
    return at.above == 0 ? low : _mm256_or_si256(low, moved_bytes(load32(block + at.high), at.left, at.above));
}

/* Unpacks a block of q2_k .. q6_k. */
CPU_INLINE void unpack_k(const uint32_t type, const uint8_t *block, struct unpacked *out)
{
    const __m128i both = _mm_loadu_si128((const __m128i *)block), four = _mm_set1_epi8(15);
    switch (type) {
    case ACCEL_Q2_K:
        set_sixteen(out->d, _mm_and_si128(both, four), half_to_float(block + 80));
        set_sixteen(out->m, _mm_and_si128(_mm_srli_epi16(both, 4), four), -half_to_float(block + 82));
        break;
    case ACCEL_Q3_K:
        set_sixteen(out->d, scales_q3_k(block), half_to_float(block + 108));
        break;
    case ACCEL_Q6_K:
        set_sixteen(out->d, _mm_loadu_si128((const __m128i *)(block + 192)), half_to_float(block + 208));
        break;
    default:
        unpack_scales6(block, out);
        break;
    }
    CPU_UNROLL
    for (size_t g = 0; g < 8; g++)
        store32(out->codes + 32 * g,
                _mm256_sub_epi8(k_codes_of(type, block, g), _mm256_set1_epi8((char)k_zero_of(type))));
}

CPU_INLINE void unpack_iq4_xs(const uint8_t *block, struct unpacked *out)
{
    uint32_t low = word_at(block + 4), high = (uint32_t)block[2] | (uint32_t)block[3] << 8;
    float d = half_to_float(block);
    CPU_UNROLL
    for (size_t i = 0; i < 8; i++) {
        int scale = (int)((low >> 4 * i & 15) | (high >> 2 * i & 3) << 4) - 32;
        set_two(out->d + 2 * i, d * (float)scale);
        store32(out->codes + 32 * i, lookup_iq4(nibbles(block + 8 + 16 * i)));
    }
}

/* ---- any ---- */

/* Unpacks `count` weights (a multiple of 32, and of the block) from weight `at` of a row on. */
CPU_INLINE void unpack(const struct traits traits, const uint8_t *row, size_t at, size_t count, struct unpacked *out)
{
    const uint8_t *block = row + at / traits.block_values * traits.block_bytes;
    if (traits.block_values < UNPACKED_VALUES) {
        for (size_t i = 0; i < count; i += traits.block_values, block += traits.block_bytes) {
            if (traits.type == ACCEL_NVFP4)
                unpack_nvfp4(block, i, out);
            else if (traits.type == ACCEL_Q2_0)
                unpack_q2_0(block, i, out);
            else if (traits.type == ACCEL_Q1_0)
                unpack_q1_0(block, i, out);
            else
                unpack_small(traits, block, i, out);
        }
        return;
    }
    switch (traits.type) {
    case ACCEL_Q2_K:
    case ACCEL_Q3_K:
    case ACCEL_Q4_K:
    case ACCEL_Q5_K:
    case ACCEL_Q6_K:
        unpack_k(traits.type, block, out);
        break;
    case ACCEL_IQ4_XS:
        unpack_iq4_xs(block, out);
        break;
    default: /* the GRID formats */
        (void)accel_format_unpack(traits.type, block, out->codes, out->d);
        break;
    }
}

#endif
