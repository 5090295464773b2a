/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the 8-bit matmuls: the cores of a level, which multiply a panel with a tile of rows of x. */
#ifndef CPU_VECTOR_GEMM_CORE_H
#define CPU_VECTOR_GEMM_CORE_H

#include "gemm.h"

/* A scale for 32 digits of up to 4 bits, or 5 (narrow16), which are as many above their value as the name says. */
gemm_core_fn CPU_NAME(core_narrow0), CPU_NAME(core_narrow8), CPU_NAME(core_narrow16);

/* A scale for 32 signed digits of 8 bits. */
gemm_core_fn CPU_NAME(core_wide);

/* Factors for 32 digits and a scale for 256. */
gemm_core_fn CPU_NAME(core_super0), CPU_NAME(core_super16);

/* Factors for 16 digits and a scale for 256; up to 6 bits. */
gemm_core_fn CPU_NAME(core_fine0), CPU_NAME(core_fine4), CPU_NAME(core_fine32);

/* What is added for each x, by blocks and by halves. */
gemm_core_fn CPU_NAME(minima_block), CPU_NAME(minima_half);

#if defined(CPU_BUILD_AVX512)
/* Four digits of x, to all lanes. */
CPU_INLINE __m512i broadcast4(const void *p)
{
    int32_t four;
    memcpy(&four, p, sizeof(four));
    return _mm512_set1_epi32(four);
}
#elif !defined(CPU_BUILD_NEON)
CPU_INLINE __m256i load_run(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Four digits of x, to all lanes. */
CPU_INLINE __m256i broadcast4(const void *p)
{
    int32_t four;
    memcpy(&four, p, sizeof(four));
    return _mm256_set1_epi32(four);
}

/* Adds integers times a scale of x times what `d` says of the 16 rows. */
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
/* Zips runs two by two, so that 16 bytes are eight digits of a row and eight of the next. */
void CPU_NAME(zip_panel)(struct gemm_panel *panel, size_t runs);
#endif

#endif
