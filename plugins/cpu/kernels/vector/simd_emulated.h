/* SPDX-License-Identifier: Apache-2.0 */
/* SIMDe's replacements for x86 instructions, and those that SIMDe 0.7.4 and 0.8 lack or implement differently. */
#ifndef CPU_VECTOR_SIMD_EMULATED_H
#define CPU_VECTOR_SIMD_EMULATED_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>

static inline __attribute__((unused)) __m512 simd_cvtepi32_ps(__m512i a)
{
    int32_t v[16];
    float f[16];
    _mm512_storeu_si512(v, a);
    for (int i = 0; i < 16; i++)
        f[i] = (float)v[i];
    return _mm512_loadu_ps(f);
}
#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps(a) simd_cvtepi32_ps(a)

/* Folds halves, the order of GCC and Clang. */
static inline __attribute__((unused)) float simd_reduce_add_ps(__m512 a)
{
    float v[16];
    _mm512_storeu_ps(v, a);
    for (int half = 8; half; half /= 2) {
        for (int i = 0; i < half; i++)
            v[i] += v[i + half];
    }
    return v[0];
}
#undef _mm512_reduce_add_ps
#define _mm512_reduce_add_ps(a) simd_reduce_add_ps(a)

static inline __attribute__((unused)) __m512 simd_permute_ps(__m512 a, int control)
{
    float v[16], w[16];
    _mm512_storeu_ps(v, a);
    for (int i = 0; i < 16; i++)
        w[i] = v[i / 4 * 4 + (control >> i % 4 * 2 & 3)];
    return _mm512_loadu_ps(w);
}
#undef _mm512_permute_ps
#define _mm512_permute_ps(a, control) simd_permute_ps(a, control)

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

static inline __attribute__((unused)) __m512i simd_srai_epi32(__m512i a, unsigned count)
{
    int32_t v[16];
    _mm512_storeu_si512(v, a);
    for (int i = 0; i < 16; i++)
        v[i] >>= count;
    return _mm512_loadu_si512(v);
}
#undef _mm512_srai_epi32
#define _mm512_srai_epi32(a, count) simd_srai_epi32(a, count)

static inline __attribute__((unused)) __m512 simd_cvtph_ps(__m256i halves)
{
    float v[16];
    _mm256_storeu_ps(v, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
    _mm256_storeu_ps(v + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
    return _mm512_loadu_ps(v);
}
#undef _mm512_cvtph_ps
#define _mm512_cvtph_ps(halves) simd_cvtph_ps(halves)

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

/* SIMDe's version is a macro of four arguments. */
static inline __attribute__((unused)) __m512i simd_madd_epi16(__m512i a, __m512i b)
{
    int16_t v[32], w[32];
    int32_t sums[16];
    _mm512_storeu_si512(v, a);
    _mm512_storeu_si512(w, b);
    for (int i = 0; i < 16; i++)
        sums[i] = v[2 * i] * w[2 * i] + v[2 * i + 1] * w[2 * i + 1];
    return _mm512_loadu_si512(sums);
}
#undef _mm512_madd_epi16
#define _mm512_madd_epi16(a, b) simd_madd_epi16(a, b)

static inline __attribute__((unused)) __m512i simd_cvtepi8_epi32(__m128i a)
{
    int8_t v[16];
    int32_t w[16];
    _mm_storeu_si128((__m128i *)v, a);
    for (int i = 0; i < 16; i++)
        w[i] = v[i];
    return _mm512_loadu_si512(w);
}
#undef _mm512_cvtepi8_epi32
#define _mm512_cvtepi8_epi32(a) simd_cvtepi8_epi32(a)

static inline __attribute__((unused)) __m512i simd_cvtepu8_epi16(__m256i a)
{
    uint8_t v[32];
    uint16_t w[32];
    _mm256_storeu_si256((__m256i *)v, a);
    for (int i = 0; i < 32; i++)
        w[i] = v[i];
    return _mm512_loadu_si512(w);
}
#undef _mm512_cvtepu8_epi16
#define _mm512_cvtepu8_epi16(a) simd_cvtepu8_epi16(a)

static inline __attribute__((unused)) __m256i simd_cvtepi32_epi16(__m512i a)
{
    uint32_t v[16];
    uint16_t w[16];
    _mm512_storeu_si512(v, a);
    for (int i = 0; i < 16; i++)
        w[i] = (uint16_t)v[i];
    return _mm256_loadu_si256((const __m256i *)w);
}
#undef _mm512_cvtepi32_epi16
#define _mm512_cvtepi32_epi16(a) simd_cvtepi32_epi16(a)

#endif
