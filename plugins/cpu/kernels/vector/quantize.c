/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages act_q8: rounds activations to 8 bits, blocks of 32.
 * Layout: see struct cpu_act_q8 and struct cpu_tile. Tile: one block in registers, 256-bit instructions for all x86
 * ISAs.
 * Bound: operations, some 80 per block with its tile.
 */
#include "act_sums.h"
#include "plugins/cpu/kernels/tile.h"

/* Stores a block of one row, its scale and its sums in its tile. */
CPU_INLINE void store_tile(__m256i q, float scale, struct cpu_tile *tile, size_t lane)
{
    uint32_t words[8];
    _mm256_storeu_si256((__m256i *)words, q);
    CPU_UNROLL
    for (size_t c = 0; c < 8; c++)
        memcpy(tile->q[c][lane], &words[c], sizeof(words[c]));
    const struct act_sums sums = act_sums_of(q, scale);
    CPU_UNROLL
    for (size_t i = 0; i < 3; i++) {
        tile->minus[i][lane] = sums.minus[i];
        tile->sum[i][lane] = sums.sum[i];
    }
    tile->scale[lane] = scale;
}

CPU_INLINE float max_of(__m256 v)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

/* Quantizes a block of 32 values to 8 bits, and returns the codes. */
CPU_INLINE __m256i quantize_block(const float *x, float *out_scale)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 v[4], most = _mm256_setzero_ps();
    __m256i whole[4];
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++) {
        v[i] = _mm256_loadu_ps(x + 8 * i);
        most = _mm256_max_ps(most, _mm256_andnot_ps(sign, v[i]));
    }
    const float largest = max_of(most);
    /* A block with a smaller maximum becomes zero, since the reciprocal would overflow. */
    const __m256 inverse = _mm256_set1_ps(largest > 1e-36f ? 127.0f / largest : 0);
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++)
        whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], inverse));
    *out_scale = largest / 127.0f;
    const __m256i packed =
        _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3]));
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Returns the sum of 32 codes. */
CPU_INLINE int sum_of(__m256i q)
{
    __m256i sums = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), q), _mm256_set1_epi16(1));
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

void CPU_NAME(quantize)(const float *x, size_t stride, size_t k, const struct cpu_act_q8 *out, size_t begin, size_t end)
{
    const size_t blocks = k / CPU_BLOCK;
    for (size_t r = begin; r < end; r++) {
        for (size_t b = 0; b < blocks; b++) {
            const size_t at = r * blocks + b;
            const __m256i q = quantize_block(x + r * stride + b * CPU_BLOCK, &out->scale[at]);
            _mm256_storeu_si256((__m256i *)(out->q + at * CPU_BLOCK), q);
            out->sum[at] = out->scale[at] * (float)sum_of(q);
            if (out->tiles != NULL)
                store_tile(q, out->scale[at], cpu_tile_of(out, blocks, r / CPU_TILE_ROWS, b), r % CPU_TILE_ROWS);
        }
        tile_end_row(out, r, blocks);
    }
}
