/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMM of act_bf16 with BF16 weights, AVX-512 with BF16 products: twice the products of a float instruction. F16
 * weights would need two products each and gain nothing. Tile: 2 vectors of pairs x 8 rows, 16 sums in 32 registers.
 * Meant for processors without AMX.
 */
#include "plugins/cpu/kernels/vector/simd_bf16.h"

#define TILE_X 8u
typedef uint32_t gemm_word; /* two BF16 */

#include "plugins/cpu/kernels/vector/gemm_float.h"

CPU_INLINE const void *read_words(const struct gemm *gemm, size_t row, size_t at, size_t count, gemm_word *out)
{
    const struct cpu_matrix *w = &gemm->call->w;
    const char *words = (const char *)w->plane[0] + row * w->stride[0] + 4 * at;
    if (2 * (at + count) <= gemm->call->k)
        return words;
    memset(out, 0, 4 * count);
    return memcpy(out, words, 2 * gemm->call->k - 4 * at);
}

CPU_INLINE vf add_product(vf w, gemm_word x, vf acc)
{
    return (vf)simd_dpbf16((__m512)acc, (__m512i)w, _mm512_set1_epi32((int)x));
}

void cpu_gemm16_bf16_avx512bf16(const struct cpu_matmul *call, size_t begin, size_t end)
{
    const size_t staged = (call->m + TILE_X - 1) / TILE_X * TILE_X;
    const gemm_word *x = (const gemm_word *)(const void *)call->act_bf16;
    multiply(&(struct gemm){call, NULL, x, cpu_act_bf16_row(call->k) / 2, staged}, begin, end);
}

void cpu_round16_avx512bf16(const float *x, size_t stride, size_t rows, size_t k, uint16_t *out, size_t begin,
                            size_t end)
{
    simd_round_tiles(TILE_X, 2 * CHUNK, x, stride, rows, k, out, begin, end);
}

void cpu_fill_avx512bf16(struct cpu_kernels *table)
{
    table->round16 = cpu_round16_avx512bf16;
    table->product[CPU_GEMM16][CPU_BF16] = cpu_gemm16_bf16_avx512bf16;
}
