/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the 8-bit GEMM: the cores of an ISA, which multiply a panel with a tile of act_q8. */
#ifndef CPU_VECTOR_GEMM_CORE_H
#define CPU_VECTOR_GEMM_CORE_H

#include "gemm.h"

/* A scale per 32 codes of up to 4 bits, or 5 (narrow16); the name ends in the zero point. */
gemm_core_fn CPU_NAME(core_narrow0), CPU_NAME(core_narrow8), CPU_NAME(core_narrow16);

/* A scale per 32 signed codes of 8 bits. */
gemm_core_fn CPU_NAME(core_wide);

/* Integer scales per 32 codes and a scale per 256. */
gemm_core_fn CPU_NAME(core_super0), CPU_NAME(core_super16);

/* Integer scales per 16 codes and a scale per 256; up to 6 bits. */
gemm_core_fn CPU_NAME(core_fine0), CPU_NAME(core_fine4), CPU_NAME(core_fine32);

/* Adds minima times sums of x, by blocks or by halves. */
gemm_core_fn CPU_NAME(minima_block), CPU_NAME(minima_half);

#if defined(CPU_BUILD_AVX512)
/* Broadcasts 4 codes of x to all lanes. */
CPU_INLINE __m512i broadcast4(const void *p)
{
    int32_t four;
    memcpy(&four, p, sizeof(four));
    return _mm512_set1_epi32(four);
}
#elif !defined(CPU_BUILD_NEON)
CPU_INLINE __m256i load_256(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Broadcasts 4 codes of x to all lanes. */
CPU_INLINE __m256i broadcast4(const void *p)
{
    int32_t four;
    memcpy(&four, p, sizeof(four));
    return _mm256_set1_epi32(four);
}

/* Adds integer sums * scale of x * scales `d` of the 16 rows. */
CPU_INLINE void add_scaled(const __m256i dot[2], __m256 scale, const float *d, float *sums)
{
    CPU_UNROLL
    for (size_t h = 0; h < 2; h++) {
        const __m256 value = _mm256_mul_ps(_mm256_cvtepi32_ps(dot[h]), scale);
        _mm256_storeu_ps(sums + 8 * h,
                         _mm256_fmadd_ps(value, _mm256_loadu_ps(d + 8 * h), _mm256_loadu_ps(sums + 8 * h)));
    }
}
#endif

#if defined(__ARM_FEATURE_MATMUL_INT8)
/* Interleaves words in pairs, so that 16 bytes are eight codes of a row and eight of the next. */
void CPU_NAME(zip_panel)(struct gemm_panel *panel, size_t words);
#endif

#endif
