/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the 8-bit kernels: operations on 16 rows of W, a lane each, in VECTORS vectors. A dot-product instruction
 * multiplies 4 codes of every row with 4 activations broadcast to all lanes, so that there is no horizontal sum.
 * Without such an instruction (AVX2) products are summed in 16 bits, and widened once per 16 or 32 codes. */
#ifndef CPU_VECTOR_LANES_H
#define CPU_VECTOR_LANES_H

#include "gemm.h"

#define VECTORS (PANEL_ROWS / VN)

typedef int8_t vb __attribute__((vector_size(VN * 4)));

/* Loads a word of each row of vector v. */
CPU_INLINE vi load_word(const uint8_t *words, const size_t v)
{
    vi word;
    memcpy(&word, words + 4 * VN * v, sizeof(word));
    return word;
}

CPU_INLINE vi v_set_word(int32_t word)
{
    return word - (vi){0};
}

/* Broadcasts 4 codes of x to all lanes. */
CPU_INLINE vi broadcast4(const void *p)
{
    int32_t four;
    memcpy(&four, p, sizeof(four));
    return v_set_word(four);
}

CPU_INLINE vf to_floats(vi v)
{
    return __builtin_convertvector(v, vf);
}

/* Shifts the bits of every byte left (right if negative) and masks them. */
CPU_INLINE vi moved(vi bytes, const int left, const int mask)
{
    const vu at = left > 0 ? (vu)bytes << left : left < 0 ? (vu)bytes >> -left : (vu)bytes;
    return (vi)at & v_set_word(mask * 0x01010101);
}

/* Converts byte i (a constant) of every word; `sign` (a constant): signed. */
CPU_INLINE vi byte_of(vi words, const size_t i, const int sign)
{
    const vi top = i == 3 ? words : words << (24 - 8 * (int)i);
    if (sign)
        return top >> 24;
    return i == 0 ? words & 255 : (vi)((vu)top >> 24);
}

/* Widens the lower and the upper half of every word. */
CPU_INLINE void two_halves_of(vi words, vf *out_lower, vf *out_upper)
{
#if defined(CPU_BUILD_NEON)
    *out_lower = vcvt_f32_f16(vreinterpret_f16_s16(vmovn_s32(words)));
    *out_upper = vcvt_f32_f16(vreinterpret_f16_s16(vshrn_n_s32(words, 16)));
#elif defined(CPU_BUILD_AVX512)
    *out_lower = (vf)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)words));
    *out_upper = (vf)_mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32((__m512i)words, 16)));
#else
    const __m256i apart =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    const __m256i both = _mm256_shuffle_epi8((__m256i)words, apart);
    const __m128i first = _mm256_castsi256_si128(both), last = _mm256_extracti128_si256(both, 1);
    *out_lower = (vf)_mm256_cvtph_ps(_mm_unpacklo_epi64(first, last));
    *out_upper = (vf)_mm256_cvtph_ps(_mm_unpackhi_epi64(first, last));
#endif
}

#ifdef CPU_DOT32
/* Scales of codes, and sums times scales, which are floats. */
typedef vf factor;
typedef vf scaled;

CPU_INLINE factor factor_of(vi scales, const size_t i, const int sign)
{
    return to_floats(byte_of(scales, i, sign));
}

CPU_INLINE scaled scaled_of(vi sums, factor by)
{
    return to_floats(sums) * by;
}

CPU_INLINE scaled add_scaled(scaled value, vi sums, factor by)
{
    return v_fma(to_floats(sums), by, value);
}

CPU_INLINE vf scaled_floats(scaled value)
{
    return value;
}

#if !defined(CPU_BUILD_NEON)
/* Widens the first or the last two bytes of every word to 16 bits. */
CPU_INLINE vi two_scales_of(vi scales, const size_t last, const int sign)
{
    const int step = 0x04040404,
              from = (sign ? 0x01800080 : (int)0x80018000) + (last ? sign ? 0x02000200 : 0x00020002 : 0);
#if defined(CPU_BUILD_AVX512)
    const __m512i at = _mm512_broadcast_i32x4(_mm_setr_epi32(from, from + step, from + 2 * step, from + 3 * step));
    const __m512i twice = _mm512_shuffle_epi8((__m512i)scales, at);
    return (vi)(sign ? _mm512_srai_epi16(twice, 8) : twice);
#else
    const __m256i at = _mm256_broadcastsi128_si256(_mm_setr_epi32(from, from + step, from + 2 * step, from + 3 * step));
    const __m256i twice = _mm256_shuffle_epi8((__m256i)scales, at);
    return (vi)(sign ? _mm256_srai_epi16(twice, 8) : twice);
#endif
}

/* Returns the sum of two sums of 16 bits times their scales. */
CPU_INLINE vi two_scaled(vi first, vi last, vi scales)
{
    const vi both = (first & 0xffff) | (last << 16);
#if defined(CPU_BUILD_AVX512)
    return (vi)_mm512_madd_epi16((__m512i)both, (__m512i)scales);
#else
    return (vi)_mm256_madd_epi16((__m256i)both, (__m256i)scales);
#endif
}
#endif
#else
/* Scales of codes, twice in 16 bits, and sums times scales, which are integers. */
typedef vi factor;
typedef vi scaled;

CPU_INLINE factor factor_of(vi scales, const size_t i, const int sign)
{
    const int step = sign ? 0x01000100 : 0x00010001, none = sign ? 0x00800080 : (int)0x80008000;
    const __m256i from = _mm256_setr_epi32(none, none + 4 * step, none + 8 * step, none + 12 * step, none,
                                           none + 4 * step, none + 8 * step, none + 12 * step);
    const __m256i twice =
        _mm256_shuffle_epi8((__m256i)scales, _mm256_add_epi32(from, _mm256_set1_epi32((int)i * step)));
    return (vi)(sign ? _mm256_srai_epi16(twice, 8) : twice);
}

CPU_INLINE scaled scaled_of(vi sums, factor by)
{
    return (vi)_mm256_madd_epi16((__m256i)sums, (__m256i)by);
}

CPU_INLINE scaled add_scaled(scaled value, vi sums, factor by)
{
    return value + scaled_of(sums, by);
}

CPU_INLINE vf scaled_floats(scaled value)
{
    return to_floats(value);
}
#endif

/* ---- blocks of 256 weights ---- */

/* Block header: 16 scales and 16 minima of a byte (8 of each if 32 weights share them), four per word. */
struct k_head {
    vi scales[4];
    vi minima[4];
    vf d;
    vf dmin;
};

/* Combines four bits of `low` with two of `high`, both shifted right. */
CPU_INLINE vi four_and_two(vi low, const int low_right, vi high, const int high_right)
{
    return moved(low, -low_right, 15) | (moved(high, -high_right, 3) << 4);
}

/* Splits the words of a header with scales and minima (unpack.h): three of q3_k, the last three of q4_k and q5_k. */
CPU_INLINE void split_head(const uint32_t type, const vi words[4], struct k_head *out)
{
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++) {
        if (type == ACCEL_Q2_K) {
            out->scales[i] = moved(words[i], 0, 15);
            out->minima[i] = moved(words[i], -4, 15);
        } else if (type == ACCEL_Q3_K) { /* 32 is subtracted */
            const vi six = four_and_two(words[i % 2], i < 2 ? 0 : 4, words[2], 2 * (int)i);
            out->scales[i] = (vi)((vb)six - 32);
        } else if (type == ACCEL_Q6_K) {
            out->scales[i] = words[i];
        }
    }
    if (type == ACCEL_Q4_K || type == ACCEL_Q5_K) {
        out->scales[0] = moved(words[1], 0, 63);
        out->scales[1] = four_and_two(words[3], 0, words[1], 6);
        out->minima[0] = moved(words[2], 0, 63);
        out->minima[1] = four_and_two(words[3], 4, words[2], 6);
    }
}

/* Whether panels of a type hold codes times integer scales. Sums of 16 bits would overflow; the products of q3_k need
 * unsigned bytes. */
CPU_INLINE bool is_folded(const uint32_t type)
{
#if defined(CPU_DOT_SIGNED)
    return type == ACCEL_Q2_K;
#elif defined(CPU_DOT32)
    return type == ACCEL_Q2_K || type == ACCEL_Q3_K;
#else
    (void)type;
    return false;
#endif
}

/* Multiplies the codes of every word with byte i of `scales`, two at a time: no product leaves its byte. Those of q2_k
 * are at most 3 * 15. Those of q3_k, -4 .. 3 times -32 .. 31, are negated, so that they fit with a zero point of 128.
 */
CPU_INLINE vi fold_scale(const uint32_t type, vi codes, vi scales, size_t i)
{
    typedef uint16_t vh __attribute__((vector_size(VN * 4)));
    const vi scale = (vi)((vu)scales << (24 - 8 * i)) >> 24;
    const vh by = (vh)((scale & 0xffff) | scale << 16);
    return (vi)(type == ACCEL_Q3_K ? (128 + 4 * by) * 257 - (vh)codes * by : (vh)codes * by);
}

/* Returns a word of the unsigned codes of group g (a constant) from the words at the offsets of its place. */
CPU_INLINE vi k_word_of(const uint32_t type, const size_t g, vi low, vi high)
{
    const struct k_place at = k_place_of(type, g);
    const vi codes = moved(low, -at.right, at.mask);
    return at.above == 0 ? codes : codes | moved(high, at.left, at.above);
}

#if defined(CPU_BUILD_NEON)

/* Adds products of codes with the four codes of row r (a constant) of a word of x. */
CPU_INLINE vi add_products_of(vi sums, vi codes, const int8_t x[CPU_TILE_ROWS][4], const size_t r)
{
    return dot_lane(sums, vreinterpretq_s8_s32(codes), vld1q_s8(x[0]), r);
}

CPU_INLINE vi start_of(const int center, const union cpu_tile_sum *sum)
{
    return center == 0 ? v_set_word(0) : vpaddlq_s16(vreinterpretq_s16_s32(broadcast4(sum->minus))) * center;
}

CPU_INLINE vi wide_sums(vi sums)
{
    return sums;
}

/* Forbids reordering of the sums: the compiler would load all codes first, and spill them. */
CPU_INLINE void fix_order(vi sums[VECTORS])
{
    __asm__ volatile("" : "+w"(sums[0]), "+w"(sums[1]), "+w"(sums[2]), "+w"(sums[3]));
}

#else

/* Adds products of unsigned codes, of up to 6 bits if sums are of 16 bits. */
CPU_INLINE vi add_products(vi sums, vi codes, vi x)
{
#if defined(CPU_BUILD_AVX512)
    return (vi)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)codes, (__m512i)x);
#elif defined(CPU_BUILD_AVXVNNI)
    return (vi)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)codes, (__m256i)x);
#else
    return (vi)_mm256_add_epi16((__m256i)sums, _mm256_maddubs_epi16((__m256i)codes, (__m256i)x));
#endif
}

/* Adds products of codes with the four codes of row r of a word of x. */
CPU_INLINE vi add_products_of(vi sums, vi codes, const int8_t x[CPU_TILE_ROWS][4], const size_t r)
{
    return add_products(sums, codes, broadcast4(x[r]));
}

/* Returns the initial sum that corrects the zero point `center`, a power of two from 4 on or 0, from a sum of x in
 * struct cpu_tile. */
CPU_INLINE vi start_of(const int center, const union cpu_tile_sum *sum)
{
    if (center == 0)
        return v_set_word(0);
#if defined(CPU_BUILD_AVX512)
    const vi eight = broadcast4(&sum->minus8);
    return center == 4 ? eight >> 1 : center == 8 ? eight : center == 16 ? eight + eight : eight * (center / 8);
#elif defined(CPU_DOT32)
    return (vi)_mm256_madd_epi16((__m256i)broadcast4(sum->minus), _mm256_set1_epi16((int16_t)center));
#else
    return (vi)_mm256_slli_epi16((__m256i)broadcast4(sum->minus), __builtin_ctz((unsigned)center));
#endif
}

/* Widens the sums of add_products to 32 bits. */
CPU_INLINE vi wide_sums(vi sums)
{
#ifdef CPU_DOT32
    return sums;
#else
    return (vi)_mm256_madd_epi16((__m256i)sums, _mm256_set1_epi16(1));
#endif
}

/* Forbids reordering of the sums: the compiler would hold all products, in memory. */
CPU_INLINE void fix_order(vi sums[VECTORS])
{
#if !defined(CPU_BUILD_AVX512)
    __asm__ volatile("" : "+x"(sums[0]), "+x"(sums[1]));
#else
    (void)sums;
#endif
}

#endif

#endif
