/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the vector kernels: GEMV, matmul with batches of act_q8 up to the limits of products.c, bound by the bytes
 * of W. One file per family of types. 256-bit instructions for all x86 ISAs, with the dot-product instruction if the
 * ISA has one.
 */
#ifndef CPU_VECTOR_GEMV_H
#define CPU_VECTOR_GEMV_H

#include "planar.h"

/* Rows of act_q8, from one on. */
struct act_rows {
    const int8_t *q;
    const float *scale;
    const float *sum; /* NULL in gemv_unpacked.c */
    size_t k;
    size_t blocks;
};

/* Broadcasts p[0] to the low half and p[1] to the high half. */
CPU_INLINE __m256 two_floats(const float *p)
{
#if defined(CPU_BUILD_NEON)
    return _mm256_set_m128(_mm_broadcast_ss(p + 1), _mm_broadcast_ss(p));
#else
    double both;
    memcpy(&both, p, sizeof(both));
    return _mm256_permutevar_ps(_mm256_castpd_ps(_mm256_set1_pd(both)), _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
#endif
}

/* Multiplies 32 unsigned codes with 32 of x and sums them to 8 integers. */
CPU_INLINE __m256i dot32u(__m256i codes, __m256i x)
{
#if defined(CPU_BUILD_NEON)
    const int32x4_t low = dot16(vdupq_n_s32(0), codes.a, x.a), high = dot16(vdupq_n_s32(0), codes.b, x.b);
    return (__m256i){vreinterpretq_s8_s32(low), vreinterpretq_s8_s32(high)};
#elif defined(CPU_BUILD_AVX512)
    return _mm256_dpbusd_epi32(_mm256_setzero_si256(), codes, x);
#elif defined(CPU_BUILD_AVXVNNI)
    return _mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), codes, x);
#else
    return _mm256_madd_epi16(_mm256_maddubs_epi16(codes, x), _mm256_set1_epi16(1));
#endif
}

/* Sums two dot32u of codes below 64. */
CPU_INLINE __m256i dot64u(__m256i first, __m256i x, __m256i second, __m256i y)
{
#if defined(CPU_BUILD_NEON)
    const int32x4_t low = dot16(dot16(vdupq_n_s32(0), first.a, x.a), second.a, y.a);
    const int32x4_t high = dot16(dot16(vdupq_n_s32(0), first.b, x.b), second.b, y.b);
    return (__m256i){vreinterpretq_s8_s32(low), vreinterpretq_s8_s32(high)};
#elif defined(CPU_BUILD_AVX512)
    return _mm256_dpbusd_epi32(dot32u(first, x), second, y);
#elif defined(CPU_BUILD_AVXVNNI)
    return _mm256_dpbusd_avx_epi32(dot32u(first, x), second, y);
#else
    __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16(first, x), _mm256_maddubs_epi16(second, y));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#endif
}

/* dot32u for signed codes. */
CPU_INLINE __m256i dot32s(__m256i codes, __m256i x)
{
#if defined(CPU_DOT_SIGNED)
    return dot32u(codes, x);
#else
    return dot32u(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes));
#endif
}

/* Sums 16 codes each. */
CPU_INLINE void half_sums(const int8_t *q, size_t values, int16_t *out)
{
    for (size_t i = 0; i < values; i += 32) {
        __m256i sums = _mm256_maddubs_epi16(_mm256_set1_epi8(1), load32(q + i));
        sums = _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
        __m128i two = _mm_hadd_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
        two = _mm_hadd_epi32(two, two);
        out[i / 16] = (int16_t)_mm_extract_epi16(two, 0);
        out[i / 16 + 1] = (int16_t)_mm_extract_epi16(two, 2);
    }
}

CPU_INLINE float sum8(__m256 v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

#endif
