/* SPDX-License-Identifier: Apache-2.0 */
/* SIMDe's replacements for x86 instructions, and those that SIMDe 0.7.4 and 0.8 lack or implement differently;
 * plugins/cpu/kernels/vector/simd.h includes it under SIMD_EMULATE. */
#ifndef KERNELS_SIMD_EMULATED_H
#define KERNELS_SIMD_EMULATED_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>

#include <string.h>

#undef _mm512_madd_epi16 /* SIMDe 0.7.4: a macro of four arguments */
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)

/* Defines a conversion of the first `count` elements of a vector. */
#define SIMD_CONVERT(name, to_vector, to, from_vector, from, count)                                                    \
    static inline __attribute__((unused)) to_vector name(from_vector a)                                                \
    {                                                                                                                  \
        from v[count];                                                                                                 \
        to w[count];                                                                                                   \
        to_vector out;                                                                                                 \
        memcpy(v, &a, sizeof(v));                                                                                      \
        for (int i = 0; i < (count); i++)                                                                              \
            w[i] = (to)v[i];                                                                                           \
        memcpy(&out, w, sizeof(out));                                                                                  \
        return out;                                                                                                    \
    }
SIMD_CONVERT(simd_cvtepi32_ps, __m512, float, __m512i, int32_t, 16)
SIMD_CONVERT(simd_cvtepi8_epi32, __m512i, int32_t, __m128i, int8_t, 16)
SIMD_CONVERT(simd_cvtepu8_epi32, __m512i, int32_t, __m128i, uint8_t, 16)
SIMD_CONVERT(simd_cvtepu8_epi16, __m512i, int16_t, __m256i, uint8_t, 32)
SIMD_CONVERT(simd_cvtepu16_epi32, __m512i, int32_t, __m256i, uint16_t, 16)
SIMD_CONVERT(simd_cvtepi32_epi16, __m256i, uint16_t, __m512i, uint32_t, 16)
#undef _mm512_cvtepi32_ps
#undef _mm512_cvtepi8_epi32
#undef _mm512_cvtepu8_epi32
#undef _mm512_cvtepu8_epi16
#undef _mm512_cvtepu16_epi32
#undef _mm512_cvtepi32_epi16
#define _mm512_cvtepi32_ps(a) simd_cvtepi32_ps(a)
#define _mm512_cvtepi8_epi32(a) simd_cvtepi8_epi32(a)
#define _mm512_cvtepu8_epi32(a) simd_cvtepu8_epi32(a)
#define _mm512_cvtepu8_epi16(a) simd_cvtepu8_epi16(a)
#define _mm512_cvtepu16_epi32(a) simd_cvtepu16_epi32(a)
#define _mm512_cvtepi32_epi16(a) simd_cvtepi32_epi16(a)

static inline __attribute__((unused)) __m512 simd_cvtph_ps(__m256i halves)
{
    float v[16];
    _mm256_storeu_ps(v, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
    _mm256_storeu_ps(v + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
    return _mm512_loadu_ps(v);
}
#undef _mm512_cvtph_ps
#define _mm512_cvtph_ps(halves) simd_cvtph_ps(halves)

static inline __attribute__((unused)) __m256i simd_cvtps_ph(__m512 a)
{
    float v[16];
    _mm512_storeu_ps(v, a);
    const __m128i low = _mm256_cvtps_ph(_mm256_loadu_ps(v), 0), high = _mm256_cvtps_ph(_mm256_loadu_ps(v + 8), 0);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
#undef _mm512_cvtps_ph
#define _mm512_cvtps_ph(a, nearest) simd_cvtps_ph(a)

/* SIMDe rounds the product. */
static inline __attribute__((unused)) __m512 simd_fmadd_ps(__m512 a, __m512 b, __m512 c)
{
    float v[16], w[16], sum[16];
    _mm512_storeu_ps(v, a);
    _mm512_storeu_ps(w, b);
    _mm512_storeu_ps(sum, c);
    for (int i = 0; i < 16; i++)
        sum[i] = __builtin_fmaf(v[i], w[i], sum[i]);
    return _mm512_loadu_ps(sum);
}
#undef _mm512_fmadd_ps
#define _mm512_fmadd_ps(a, b, c) simd_fmadd_ps(a, b, c)

static inline __attribute__((unused)) __m512 simd_permutevar_ps(__m512 a, __m512i control)
{
    float v[16], w[16];
    uint32_t from[16];
    _mm512_storeu_ps(v, a);
    _mm512_storeu_si512(from, control);
    for (int i = 0; i < 16; i++)
        w[i] = v[i / 4 * 4 + (int)(from[i] & 3)];
    return _mm512_loadu_ps(w);
}
#undef _mm512_permutevar_ps
#define _mm512_permutevar_ps(a, control) simd_permutevar_ps(a, control)

/* SIMDe has no AVX-VNNI. */
static inline __attribute__((unused)) __m256i simd_dpbusd_avx(__m256i sums, __m256i a, __m256i b)
{
    int32_t s[8];
    uint8_t v[32];
    int8_t w[32];
    _mm256_storeu_si256((__m256i *)s, sums);
    _mm256_storeu_si256((__m256i *)v, a);
    _mm256_storeu_si256((__m256i *)w, b);
    for (int i = 0; i < 32; i++)
        s[i / 4] += v[i] * w[i];
    return _mm256_loadu_si256((const __m256i *)s);
}
#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32(sums, a, b) simd_dpbusd_avx(sums, a, b)

#endif
