/* SPDX-License-Identifier: Apache-2.0 */
/* BF16 instructions of the ISAs that have them, or, under SIMD_EMULATE, replacements of the tests. */
#ifndef CPU_VECTOR_SIMD_BF16_H
#define CPU_VECTOR_SIMD_BF16_H

#include "vec.h"

#ifndef SIMD_EMULATE

/* Rounds 16 floats and 16 more to BF16: those of `low` come first. */
CPU_INLINE __m512i simd_cvtne2ps(__m512 high, __m512 low)
{
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* Adds the products of two pairs of BF16 to each float. */
CPU_INLINE __m512 simd_dpbf16(__m512 sums, __m512i a, __m512i b)
{
    return _mm512_dpbf16_ps(sums, (__m512bh)a, (__m512bh)b);
}

#else
#include "simd_bf16_emulated.h"
#endif

/* Rounds 32 values of a row, `count` of them and zeros. */
CPU_INLINE __m512i simd_round32(const float *x, size_t count)
{
    float part[32] = {0};
    if (count >= 32)
        return simd_cvtne2ps(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x));
    memcpy(part, x, count * sizeof(*x));
    return simd_cvtne2ps(_mm512_loadu_ps(part + 16), _mm512_loadu_ps(part));
}

/* Stages rows begin .. end of act_bf16 [rows, k] for products of pairs: chunks of k, in each chunk tiles of `tile` rows
 * (a constant, 8 or 16), of which word l holds values 2l and 2l + 1 of each row. Missing rows repeat the last; their
 * results are not stored. Subnormal numbers become zeros, as products treat them. */
CPU_INLINE void simd_round_tiles(const size_t tile, size_t chunk, const float *x, size_t stride, size_t rows, size_t k,
                                 uint16_t *out, size_t begin, size_t end)
{
    const size_t row = cpu_act_bf16_row(k), staged = (rows + tile - 1) / tile * tile;
    for (size_t r = begin; r < end; r += tile) {
        for (size_t l = 0; l < row; l += 32) {
            const size_t at = l / chunk * chunk, count = least(chunk, row - at);
            uint32_t pairs[16][16], *to = (uint32_t *)(void *)(out + at * staged + r * count + (l - at) * tile);
            const void *from[16];
            for (size_t i = 0; i < tile; i++) {
                from[i] = pairs[i];
                _mm512_storeu_si512(pairs[i], simd_round32(x + least(r + i, end - 1) * stride + l, k - l));
            }
            CPU_UNROLL
            for (size_t i = 0; i < tile; i += 8) {
                transpose8(from + i, 0, to + i, tile);
                transpose8(from + i, 8, to + 8 * tile + i, tile);
            }
        }
    }
}

#endif
