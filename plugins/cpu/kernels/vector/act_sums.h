/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the vector kernels: sums of the codes of a block of act_q8, which correct zero points and minima. */
#ifndef CPU_VECTOR_ACT_SUMS_H
#define CPU_VECTOR_ACT_SUMS_H

#include "plugins/cpu/kernels/activations.h"
#include "vec.h"

/* Sums of a block of one row, as struct cpu_tile has them: whole, first 16, last 16. */
struct act_sums {
    union cpu_tile_sum minus[3];
    float sum[3];
};

CPU_INLINE struct act_sums act_sums_of(__m256i q, float scale)
{
    struct act_sums out;
    /* Sums pairs of codes to 16 bits, then the 4 words of each half, 16 codes: each 32-bit word ends with two partial
     * sums. */
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
    const __m256i fours = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, 0x4e));
    const __m256i twos = _mm256_add_epi16(fours, _mm256_shuffle_epi32(fours, 0xb1));
    const __m128i half[2] = {_mm256_castsi256_si128(twos), _mm256_extracti128_si256(twos, 1)};
    const __m128i part[3] = {_mm_add_epi16(half[0], half[1]), half[0], half[1]};
    CPU_UNROLL
    for (size_t i = 0; i < 3; i++) {
        const int sum = _mm_cvtsi128_si32(_mm_madd_epi16(part[i], _mm_set1_epi16(1)));
#if defined(CPU_BUILD_AVX512)
        out.minus[i].minus8 = -8 * sum;
#else
        const int minus = _mm_cvtsi128_si32(_mm_sub_epi16(_mm_setzero_si128(), part[i]));
        memcpy(out.minus[i].minus, &minus, sizeof(minus));
#endif
        out.sum[i] = scale * (float)sum;
    }
    return out;
}

#endif
