/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages act_q8: rounds activations to 8 bits, blocks of 32 or rows.
 * Layout: see struct cpu_act_q8 and struct cpu_tile. Tile: one block in registers, 256-bit instructions for all x86
 * ISAs.
 * Bound: operations, some 80 per block with its tile.
 */
#include "act_sums.h"

/* Stores a block of one row, its scale and its sums in its tile. */
CPU_INLINE void store_tile(__m256i q, float scale, const struct act_sums sums, struct cpu_tile *tile, size_t lane)
{
    uint32_t words[8];
    _mm256_storeu_si256((__m256i *)words, q);
    CPU_UNROLL
    for (size_t c = 0; c < 8; c++)
        memcpy(tile->q[c][lane], &words[c], sizeof(words[c]));
    CPU_UNROLL
    for (size_t i = 0; i < 3; i++) {
        tile->minus[i][lane] = sums.minus[i];
        tile->sum[i][lane] = sums.sum[i];
    }
    tile->scale[lane] = scale;
}

/* Returns the largest magnitude of `count` values, a multiple of 32. */
CPU_INLINE float largest_of(const float *x, const size_t count)
{
    const __m256 sign = _mm256_set1_ps(-0.0f), zero = _mm256_setzero_ps();
    __m256 most[4] = {zero, zero, zero, zero};
    for (size_t at = 0; at < count; at += CPU_BLOCK) {
        CPU_UNROLL
        for (size_t i = 0; i < 4; i++)
            most[i] = _mm256_max_ps(most[i], _mm256_andnot_ps(sign, _mm256_loadu_ps(x + at + 8 * i)));
    }
    return max8(_mm256_max_ps(_mm256_max_ps(most[0], most[1]), _mm256_max_ps(most[2], most[3])));
}

/* Rounds 32 values to 8 bits: codes of a scale of `largest` / 127. */
CPU_INLINE __m256i quantize_block(const float *x, float largest)
{
    /* With a smaller maximum all become zero, since the reciprocal would overflow. */
    const __m256 inverse = _mm256_set1_ps(largest > 1e-36f ? 127.0f / largest : 0);
    __m256i whole[4];
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++)
        whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), inverse));
    const __m256i packed =
        _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3]));
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Pads the last tile with zeros after the last row. */
static void tile_end_row(const struct cpu_act_q8 *rows, size_t r, size_t blocks)
{
    if (rows->tiles == NULL || r + 1 != rows->rows)
        return;
    for (size_t b = 0; b < blocks; b++) {
        struct cpu_tile *tile = cpu_tile_of(rows, blocks, r / CPU_TILE_ROWS, b);
        for (size_t lane = r % CPU_TILE_ROWS + 1; lane < CPU_TILE_ROWS; lane++) {
            for (size_t c = 0; c < 8; c++)
                memset(tile->q[c][lane], 0, 4);
            for (size_t i = 0; i < 3; i++) {
                memset(&tile->minus[i][lane], 0, sizeof(tile->minus[i][lane]));
                tile->sum[i][lane] = 0;
            }
            tile->scale[lane] = 0;
        }
    }
}

/* `by_row` (a constant): a scale per row. */
CPU_INLINE void quantize_row(const int by_row, const float *x, size_t k, const struct cpu_act_q8 *out, size_t r)
{
    const size_t blocks = k / CPU_BLOCK;
    const float whole = by_row ? largest_of(x, k) : 0;
    for (size_t b = 0; b < blocks; b++) {
        const size_t at = r * blocks + b;
        const float largest = by_row ? whole : largest_of(x + b * CPU_BLOCK, CPU_BLOCK);
        const __m256i q = quantize_block(x + b * CPU_BLOCK, largest);
        const struct act_sums sums = act_sums_of(q, largest / 127.0f);
        out->scale[at] = largest / 127.0f;
        _mm256_storeu_si256((__m256i *)(out->q + at * CPU_BLOCK), q);
        out->sum[at] = sums.sum[0];
        if (out->tiles != NULL)
            store_tile(q, out->scale[at], sums, cpu_tile_of(out, blocks, r / CPU_TILE_ROWS, b), r % CPU_TILE_ROWS);
    }
    tile_end_row(out, r, blocks);
}

void CPU_NAME(quantize)(const float *x, size_t stride, size_t k, const struct cpu_act_q8 *out, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++)
        quantize_row(0, x + r * stride, k, out, r);
}

void CPU_NAME(quantize_rows)(const float *x, size_t stride, size_t k, const struct cpu_act_q8 *out, size_t begin,
                             size_t end)
{
    for (size_t r = begin; r < end; r++)
        quantize_row(1, x + r * stride, k, out, r);
}
