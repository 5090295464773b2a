/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to gemv_k.c: blocks of 256 weights of q2_k, q3_k and iq4_xs with 256-bit instructions, which operations bound
 * if each group of 32 weights is finished separately.
 * One mask extracts codes of different groups in each four bytes, and x is permuted to match, so that the products of
 * four groups are summed in 16 bits and share one multiplication with their scales, one conversion and one
 * multiplication with the scales of x. Every second group is four times too large, which its scale of x corrects. The
 * zero point of q3_k is subtracted in the initial sums. Codebook values of iq4_xs, which are signed, take the sign of x
 * and are multiplied with its magnitude.
 */
#ifndef CPU_VECTOR_GEMV_K_FIELDS_H
#define CPU_VECTOR_GEMV_K_FIELDS_H

#include "gemv.h"

/* Rows of x, and the same permuted for blocks. */
struct k_x {
    struct act_rows rows;
    int16_t half[CPU_GEMV_VALUES / 16];     /* q2_k, q6_k, without fields q3_k: sums of 16 codes */
    _Alignas(32) int8_t q[CPU_GEMV_VALUES]; /* iq4_xs, per two groups: their first and their last 16 values */
    int8_t magnitude[CPU_GEMV_VALUES];      /* iq4_xs only, in the order of q */
    int16_t begin[CPU_GEMV_VALUES / 8];     /* q3_k only: initial sums of half a block */
    float scale[CPU_GEMV_VALUES / 16];      /* in the order of the sums: 8 per half block, iq4_xs per block */
};

#if defined(CPU_BUILD_NEON)
#define HAS_FIELDS(type) 0
#define place_fields(type, values, x) (void)(x)
#define add_fields(type, block, x, b, sum) (sum)
#else
#define HAS_FIELDS(type) ((type) == ACCEL_Q2_K || (type) == ACCEL_Q3_K || (type) == ACCEL_IQ4_XS)
#define PARTS 4u /* vectors of x per half block */

/* ---- codes ---- */

/* 2-bit fields of half a block. Each four bytes of a part hold another field: 0 1 2 3, 1 0 3 2, and again with the
 * halves of their 16 bytes swapped. Fields 1 and 3 are four times too large. */
struct parts {
    __m256i v[PARTS];
};

CPU_INLINE struct parts two_bit_parts(__m256i bytes)
{
    const __m256i even = _mm256_set1_epi64x(0x0c0c0c0c03030303), odd = _mm256_set1_epi64x(0x030303030c0c0c0c);
    const __m256i high = _mm256_srli_epi16(bytes, 4);
    const __m256i straight = _mm256_blend_epi32(bytes, high, 0xcc), crossed = _mm256_alignr_epi8(high, bytes, 8);
    return (struct parts){{_mm256_and_si256(straight, even), _mm256_and_si256(straight, odd),
                           _mm256_and_si256(crossed, even), _mm256_and_si256(crossed, odd)}};
}

/* Returns the third bits of half h of a block of q3_k, positioned above the fields: bit i of a byte belongs to group i.
 * `crossed`: bits with the halves of 16 bytes swapped. */
CPU_INLINE struct parts third_bit_parts(__m256i bits, __m256i crossed, const int h)
{
    const __m256i even = _mm256_set1_epi64x(0x1010101004040404), odd = _mm256_set1_epi64x(0x0404040410101010);
    if (h == 0) {
        const __m256i by = _mm256_setr_epi32(2, 3, 0, 1, 2, 3, 0, 1), other = _mm256_setr_epi32(3, 2, 1, 0, 3, 2, 1, 0);
        return (struct parts){{_mm256_and_si256(_mm256_sllv_epi32(bits, by), even),
                               _mm256_and_si256(_mm256_sllv_epi32(bits, other), odd),
                               _mm256_and_si256(_mm256_sllv_epi32(crossed, by), even),
                               _mm256_and_si256(_mm256_sllv_epi32(crossed, other), odd)}};
    }
    const __m256i by = _mm256_setr_epi32(2, 1, 4, 3, 2, 1, 4, 3), other = _mm256_setr_epi32(1, 2, 3, 4, 1, 2, 3, 4);
    return (struct parts){{_mm256_and_si256(_mm256_srlv_epi32(bits, by), even),
                           _mm256_and_si256(_mm256_srlv_epi32(bits, other), odd),
                           _mm256_and_si256(_mm256_srlv_epi32(crossed, by), even),
                           _mm256_and_si256(_mm256_srlv_epi32(crossed, other), odd)}};
}

/* Multiplies half a block with x and sums to two integers per field and 16 weights. Final sums are below 2^15, for
 * codes up to 7 with the zero point corrected; intermediate sums may wrap. */
CPU_INLINE __m256i sum_parts(const struct parts w, const int8_t *q)
{
    const __m256i straight =
        _mm256_add_epi16(_mm256_maddubs_epi16(w.v[0], load32(q)), _mm256_maddubs_epi16(w.v[2], load32(q + 64)));
    const __m256i exchanged =
        _mm256_add_epi16(_mm256_maddubs_epi16(w.v[1], load32(q + 32)), _mm256_maddubs_epi16(w.v[3], load32(q + 96)));
    return _mm256_add_epi16(straight, _mm256_shuffle_epi32(exchanged, 0xb1));
}

/* Returns the scales of half h in the order of sum_parts, from 16 bytes in both halves: as the lower or the upper byte.
 */
CPU_INLINE __m256i part_scales(__m256i scales, const int h, const int upper)
{
    const __m256i first = _mm256_setr_epi16(0, 0, 2, 2, 4, 4, 6, 6, 1, 1, 3, 3, 5, 5, 7, 7);
    const __m256i from = _mm256_add_epi16(first, _mm256_set1_epi16((short)(8 * h)));
    const __m256i none = _mm256_set1_epi16((short)0x8000);
    return _mm256_shuffle_epi8(scales, upper ? _mm256_or_si256(_mm256_slli_epi16(from, 8), _mm256_set1_epi16(0x80))
                                             : _mm256_or_si256(from, none));
}

/* ---- blocks ---- */

CPU_INLINE __m256 block_q2(const uint8_t *block, const struct k_x *x, size_t b, __m256 sum)
{
    const int8_t *q = x->q + 256 * b;
    const float *scale = x->scale + 16 * b;
    const __m128i both = _mm_loadu_si128((const __m128i *)block);
    const __m256i scales = _mm256_and_si256(_mm256_broadcastsi128_si256(both), _mm256_set1_epi8(15));
    const __m256i minima = _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(both, 4), _mm_set1_epi8(15)));
    const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128((int)word_at(block + 80)));
    __m256i low = sum_parts(two_bit_parts(load32(block + 16)), q);
    __m256i high = sum_parts(two_bit_parts(load32(block + 48)), q + 128);
    low = _mm256_madd_epi16(low, part_scales(scales, 0, 0));
    high = _mm256_madd_epi16(high, part_scales(scales, 1, 0));
    __m256 dot = _mm256_mul_ps(_mm256_cvtepi32_ps(low), _mm256_load_ps(scale));
    dot = _mm256_fmadd_ps(_mm256_cvtepi32_ps(high), _mm256_load_ps(scale + 8), dot);
    const __m256i offset = _mm256_madd_epi16(minima, load32(x->half + 16 * b));
    const __m256 away = _mm256_mul_ps(_mm256_cvtepi32_ps(offset), _mm256_loadu_ps(x->rows.scale + 8 * b));
    sum = _mm256_fnmadd_ps(away, _mm256_broadcastss_ps(_mm_movehdup_ps(d)), sum);
    return _mm256_fmadd_ps(dot, _mm256_broadcastss_ps(d), sum);
}

CPU_INLINE __m256i half_q3(const uint8_t *codes, __m256i bits, __m256i crossed, const int h, const int8_t *q,
                           const int16_t *begin)
{
    struct parts w = two_bit_parts(load32(codes + 32 * h));
    const struct parts third = third_bit_parts(bits, crossed, h);
    CPU_UNROLL
    for (size_t i = 0; i < PARTS; i++)
        w.v[i] = _mm256_or_si256(w.v[i], third.v[i]);
    return _mm256_add_epi16(sum_parts(w, q + 128 * h), load32(begin + 16 * h));
}

CPU_INLINE __m256 block_q3(const uint8_t *block, const struct k_x *x, size_t b, __m256 sum)
{
    const int8_t *q = x->q + 256 * b;
    const int16_t *begin = x->begin + 32 * b;
    const float *scale = x->scale + 16 * b;
    const __m256i bits = load32(block), crossed = _mm256_shuffle_epi32(bits, 0x4e);
    const __m256i scales = _mm256_broadcastsi128_si256(scales_q3_k(block));
    const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128((int)(word_at(block + 106) >> 16)));
    __m256i low = half_q3(block + 32, bits, crossed, 0, q, begin);
    __m256i high = half_q3(block + 32, bits, crossed, 1, q, begin);
    /* Scales as upper bytes make the sums 256 times too large: below 2^31, and exact in float. */
    low = _mm256_madd_epi16(low, part_scales(scales, 0, 1));
    high = _mm256_madd_epi16(high, part_scales(scales, 1, 1));
    __m256 dot = _mm256_mul_ps(_mm256_cvtepi32_ps(low), _mm256_load_ps(scale));
    dot = _mm256_fmadd_ps(_mm256_cvtepi32_ps(high), _mm256_load_ps(scale + 8), dot);
    return _mm256_fmadd_ps(dot, _mm256_broadcastss_ps(d), sum);
}

/* Multiplies both groups of a pair: four integers each. */
CPU_INLINE __m256i pair_iq4(const uint8_t *codes, const int8_t *q, const int8_t *magnitude)
{
    const __m256i both = load32(codes), four = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
    const __m256i low = lookup_iq4(_mm256_and_si256(both, four));
    const __m256i high = lookup_iq4(_mm256_and_si256(_mm256_srli_epi16(both, 4), four));
    const __m256i first = _mm256_maddubs_epi16(load32(magnitude), _mm256_sign_epi8(low, load32(q)));
    const __m256i last = _mm256_maddubs_epi16(load32(magnitude + 32), _mm256_sign_epi8(high, load32(q + 32)));
    return _mm256_add_epi32(_mm256_madd_epi16(first, ones), _mm256_madd_epi16(last, ones));
}

/* Adds neighbours: two of v, two of w in each half. */
CPU_INLINE __m256i fold_pairs(__m256i v, __m256i w)
{
    const __m256 a = _mm256_castsi256_ps(v), b = _mm256_castsi256_ps(w);
    return _mm256_add_epi32(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)),
                            _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)));
}

/* Adds a block; sums are in the order 0 2 4 6 1 3 5 7 of the groups. */
CPU_INLINE __m256 block_iq4(const uint8_t *block, const struct k_x *x, size_t b, __m256 sum)
{
    const int8_t *q = x->q + 256 * b, *m = x->magnitude + 256 * b;
    const __m256i nibble = _mm256_setr_epi32(0, 8, 16, 24, 4, 12, 20, 28);
    const __m256i pair = _mm256_setr_epi32(12, 16, 20, 24, 14, 18, 22, 26);
    const uint8_t *w = block + 8;
    __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32((int)word_at(block + 4)), nibble);
    __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32((int)word_at(block)), pair);
    low = _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)), _mm256_and_si256(high, _mm256_set1_epi32(48)));
    const __m256i scales = _mm256_sub_epi32(low, _mm256_set1_epi32(32));
    const __m256 d = _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128((int)word_at(block))));
    const __m256 scale = _mm256_mul_ps(_mm256_cvtepi32_ps(scales), _mm256_load_ps(x->scale + 8 * b));
    const __m256i first = fold_pairs(pair_iq4(w, q, m), pair_iq4(w + 32, q + 64, m + 64));
    const __m256i last = fold_pairs(pair_iq4(w + 64, q + 128, m + 128), pair_iq4(w + 96, q + 192, m + 192));
    const __m256 dot = _mm256_cvtepi32_ps(fold_pairs(first, last));
    return _mm256_fmadd_ps(_mm256_mul_ps(dot, scale), d, sum);
}

/* Adds block b of x, counted through all of its rows. */
CPU_INLINE __m256 add_fields(const uint32_t type, const uint8_t *block, const struct k_x *x, size_t b, __m256 sum)
{
    return type == ACCEL_Q2_K   ? block_q2(block, x, b, sum)
           : type == ACCEL_Q3_K ? block_q3(block, x, b, sum)
                                : block_iq4(block, x, b, sum);
}

/* ---- x ---- */

/* Permutes half a block of x for the parts, and computes the sums for codes that are all 4. */
CPU_INLINE void place_parts(const int8_t *q, const float *scale, const float factor, int8_t *out, int16_t *out_begin,
                            float *out_scale)
{
    const __m256i g0 = load32(q), g1 = load32(q + 32), g2 = load32(q + 64), g3 = load32(q + 96);
    const __m256i even = _mm256_blend_epi32(_mm256_blend_epi32(g0, g1, 0x22), _mm256_blend_epi32(g2, g3, 0x88), 0xcc);
    const __m256i odd = _mm256_blend_epi32(_mm256_blend_epi32(g1, g0, 0x22), _mm256_blend_epi32(g3, g2, 0x88), 0xcc);
    const __m256i even2 = _mm256_blend_epi32(_mm256_blend_epi32(g2, g3, 0x22), _mm256_blend_epi32(g0, g1, 0x88), 0xcc);
    const __m256i odd2 = _mm256_blend_epi32(_mm256_blend_epi32(g3, g2, 0x22), _mm256_blend_epi32(g1, g0, 0x88), 0xcc);
    const __m256i e = _mm256_set1_epi64x(0x1010101004040404), o = _mm256_set1_epi64x(0x0404040410101010);
    const __m128 four = _mm_mul_ps(_mm_loadu_ps(scale), _mm_setr_ps(factor, factor / 4, factor, factor / 4));
    store32(out, even);
    store32(out + 32, odd);
    store32(out + 64, _mm256_shuffle_epi32(even2, 0x4e));
    store32(out + 96, _mm256_shuffle_epi32(odd2, 0x4e));
    const __m256i fours = sum_parts((struct parts){{e, o, e, o}}, out);
    _mm256_storeu_si256((__m256i *)out_begin, _mm256_sub_epi16(_mm256_setzero_si256(), fours));
    _mm256_store_ps(out_scale, _mm256_set_m128(four, four));
}

CPU_INLINE void place_pairs(size_t values, struct k_x *x)
{
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    for (size_t i = 0; i < values; i += 64) {
        const __m256i a = load32(x->rows.q + i), b = load32(x->rows.q + i + 32);
        const __m256i first = _mm256_permute2x128_si256(a, b, 0x20), last = _mm256_permute2x128_si256(a, b, 0x31);
        store32(x->q + i, first);
        store32(x->q + i + 32, last);
        store32(x->magnitude + i, _mm256_abs_epi8(first));
        store32(x->magnitude + i + 32, _mm256_abs_epi8(last));
    }
    for (size_t i = 0; i < values / 32; i += 8)
        _mm256_store_ps(x->scale + i, _mm256_permutevar8x32_ps(_mm256_loadu_ps(x->rows.scale + i), order));
}

/* Permutes `values` values of x. */
CPU_INLINE void place_fields(const uint32_t type, size_t values, struct k_x *x)
{
    if (type == ACCEL_IQ4_XS)
        place_pairs(values, x);
    for (size_t h = 0; type != ACCEL_IQ4_XS && h < values / 128; h++)
        place_parts(x->rows.q + 128 * h, x->rows.scale + 4 * h, type == ACCEL_Q2_K ? 1 : 1.0f / 256, x->q + 128 * h,
                    x->begin + 16 * h, x->scale + 8 * h);
}

#endif
#endif
