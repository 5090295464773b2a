/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the vector kernels: a vector of VN floats and the few operations that the compiler's vector arithmetic
 * lacks. Files in vector/ are compiled once per ISA, with its flags; CPU_NAME appends the ISA's name to their
 * functions. Everything here is static, so that no linker shares one ISA's copy with another. Under SIMD_EMULATE (tests
 * of 512-bit ISAs on other machines) simd.h replaces the instructions.
 */
#ifndef CPU_VECTOR_VEC_H
#define CPU_VECTOR_VEC_H

#include "plugins/cpu/kernels/declare.h"
#include "traits.h"

#include <math.h>

#if defined(CPU_BUILD_NEON)
#define VN 4u
#include <arm_neon.h>
#elif defined(CPU_BUILD_AVX512)
#define VN 16u
#include "plugins/cpu/kernels/vector/simd.h"
#else
#define VN 8u
#include "plugins/cpu/kernels/vector/simd.h"
#endif

/* CPU_DOT32: products of 8-bit codes are summed in 32 bits, four at a time; CPU_DOT_SIGNED: signed codes too. */
#if defined(CPU_BUILD_AVX512) || defined(CPU_BUILD_AVXVNNI) || defined(CPU_BUILD_NEON)
#define CPU_DOT32
#endif
#if defined(CPU_BUILD_NEON)
#define CPU_DOT_SIGNED
#endif

#if defined(CPU_BUILD_NEON)
typedef float32x4_t vf;
typedef int32x4_t vi;
#else
typedef float vf __attribute__((vector_size(VN * 4)));
typedef int32_t vi __attribute__((vector_size(VN * 4)));
#endif
typedef uint32_t vu __attribute__((vector_size(VN * 4)));

CPU_INLINE vf v_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof(v));
    return v;
}

CPU_INLINE void v_store(float *p, vf v)
{
    memcpy(p, &v, sizeof(v));
}

CPU_INLINE vf v_set(float x)
{
    return x - (vf){0};
}

/* Loads the first n < VN elements, padded with zeros. */
CPU_INLINE vf v_load_part(const float *p, size_t n)
{
    float t[VN] = {0};
    memcpy(t, p, n * sizeof(float));
    return v_load(t);
}

CPU_INLINE void v_store_part(float *p, vf v, size_t n)
{
    float t[VN];
    v_store(t, v);
    memcpy(p, t, n * sizeof(float));
}

/* Returns a where the mask is set, else b. */
CPU_INLINE vf v_select(vi mask, vf a, vf b)
{
    return (vf)((mask & (vi)a) | (~mask & (vi)b));
}

CPU_INLINE vf v_abs(vf a)
{
    return (vf)((vi)a & 0x7fffffff);
}

#if defined(CPU_BUILD_NEON)
#include "plugins/cpu/kernels/vector/neon_vec.h"
#else

/* Operations of x86 on a vector: V_SIMD; loads of VN elements of 1 and 2 bytes: v_load8, v_load16. */
#if defined(CPU_BUILD_AVX512)
#define V_SIMD(name) _mm512_##name
#define v_load8(p) _mm_loadu_si128((const __m128i *)(p))
#define v_load16(p) _mm256_loadu_si256((const __m256i *)(p))
#define v_store16(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define v_rounded(a, how) _mm512_roundscale_ps(a, how)
#else
#define V_SIMD(name) _mm256_##name
#define v_load8(p) _mm_loadl_epi64((const __m128i *)(p))
#define v_load16(p) _mm_loadu_si128((const __m128i *)(p))
#define v_store16(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define v_rounded(a, how) _mm256_round_ps(a, how)
#endif

CPU_INLINE vf v_fma(vf a, vf b, vf c)
{
    return V_SIMD(fmadd_ps)(a, b, c);
}

/* Returns b if one operand is NaN. */
CPU_INLINE vf v_max(vf a, vf b)
{
    return V_SIMD(max_ps)(a, b);
}

CPU_INLINE vf v_min(vf a, vf b)
{
    return V_SIMD(min_ps)(a, b);
}

CPU_INLINE vf v_round(vf a)
{
    return v_rounded(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

CPU_INLINE vf v_load_f16(const uint16_t *p)
{
    return V_SIMD(cvtph_ps)(v_load16(p));
}

CPU_INLINE void v_store_f16(uint16_t *p, vf v)
{
    v_store16(p, V_SIMD(cvtps_ph)(v, _MM_FROUND_TO_NEAREST_INT));
}

CPU_INLINE vf v_load_i8(const void *p)
{
    return V_SIMD(cvtepi32_ps)(V_SIMD(cvtepi8_epi32)(v_load8(p)));
}

CPU_INLINE vf v_load_u8(const void *p, unsigned shift, int mask)
{
    const vu v = (vu)V_SIMD(cvtepu8_epi32)(v_load8(p)) >> shift & (uint32_t)mask;
    return __builtin_convertvector((vi)v, vf);
}

CPU_INLINE vf v_load_bf16(const uint16_t *p)
{
    return (vf)((vu)V_SIMD(cvtepu16_epi32)(v_load16(p)) << 16);
}

#endif

#if !defined(CPU_BUILD_NEON)

CPU_INLINE float v_sum(vf v)
{
    float t[VN];
    v_store(t, v);
#if defined(CPU_BUILD_AVX512)
    CPU_UNROLL
    for (unsigned i = 0; i < 8; i++)
        t[i] += t[i + 8];
#endif
    float low = (t[0] + t[4]) + (t[2] + t[6]), high = (t[1] + t[5]) + (t[3] + t[7]);
    return low + high;
}

/* Computes four horizontal sums at once. */
CPU_INLINE void v_sum4(const vf v[4], float *out)
{
    __m256 half[4];
    /* Unrolled, or the sums go through memory. */
    CPU_UNROLL
    for (unsigned i = 0; i < 4; i++) {
#if defined(CPU_BUILD_AVX512)
        half[i] = _mm256_add_ps(_mm512_castps512_ps256(v[i]), (__m256)_mm512_extracti64x4_epi64((__m512i)v[i], 1));
#else
        half[i] = v[i];
#endif
    }
    __m256 sums = _mm256_hadd_ps(_mm256_hadd_ps(half[0], half[1]), _mm256_hadd_ps(half[2], half[3]));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1)));
}

#endif

/* Transposes eight words of 4 bytes from word `at` on of each of eight rows to eight rows `step` words apart. */
CPU_INLINE void transpose8(const void *const rows[8], size_t at, void *to, size_t step)
{
    float *out = to;
    __m256 v[8], w[8];
    CPU_UNROLL
    for (size_t i = 0; i < 8; i++)
        v[i] = _mm256_loadu_ps((const float *)rows[i] + at);
    CPU_UNROLL
    for (size_t i = 0; i < 8; i += 2) {
        w[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        w[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    CPU_UNROLL
    for (size_t i = 0; i < 8; i += 4) {
        v[i] = _mm256_shuffle_ps(w[i], w[i + 2], 0x44);
        v[i + 1] = _mm256_shuffle_ps(w[i], w[i + 2], 0xee);
        v[i + 2] = _mm256_shuffle_ps(w[i + 1], w[i + 3], 0x44);
        v[i + 3] = _mm256_shuffle_ps(w[i + 1], w[i + 3], 0xee);
    }
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++) {
        _mm256_storeu_ps(out + i * step, _mm256_permute2f128_ps(v[i], v[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * step, _mm256_permute2f128_ps(v[i], v[i + 4], 0x31));
    }
}

CPU_INLINE float max8(__m256 v)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

CPU_INLINE float v_most(vf v)
{
    float t[VN], most;
    v_store(t, v);
    most = t[0];
    for (unsigned i = 1; i < VN; i++)
        most = t[i] > most ? t[i] : most;
    return most;
}

CPU_INLINE float half_to_float(const void *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof(half));
    return _cvtsh_ss(half);
}

#endif
