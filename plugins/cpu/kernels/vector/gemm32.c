/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMM of F32 activations. Tile: 2 vectors x 6 rows, 12 sums in 16 registers, or x 12 rows with 32 registers. Bound:
 * two multiply-adds a cycle.
 */
#include "vec.h"

#if defined(CPU_BUILD_NEON) || defined(CPU_BUILD_AVX512)
#define TILE_X 12u
#else
#define TILE_X 6u
#endif
typedef float gemm_word;

#include "gemm_float.h"

CPU_INLINE const void *read_words(const struct gemm *gemm, size_t row, size_t at, size_t count, gemm_word *out)
{
    gemm->decode(&gemm->call->w, row, at, count, out);
    return out;
}

CPU_INLINE vf add_product(vf w, gemm_word x, vf acc)
{
    return v_fma(w, v_set(x), acc);
}

static size_t staged_rows(size_t rows)
{
    return (rows + CPU_ACT_F32_ROWS - 1) / CPU_ACT_F32_ROWS * CPU_ACT_F32_ROWS;
}

void CPU_NAME(gemm32)(decode_fn *decode, const struct cpu_matmul *call, size_t begin, size_t end)
{
    multiply(&(struct gemm){call, decode, call->act_f32, call->k, staged_rows(call->m)}, begin, end);
}

/* Stores a tile of x: values l of its rows are adjacent. Missing rows repeat the last; their results are not stored. */
static void arrange_tile(const float *x, size_t stride, size_t rows, size_t count, float *out)
{
    const float *from[TILE_X];
    for (size_t r = 0; r < TILE_X; r++)
        from[r] = x + least(r, rows - 1) * stride;
    for (size_t l = 0; l < count; l++, out += TILE_X) {
        CPU_UNROLL
        for (size_t r = 0; r < TILE_X; r++)
            out[r] = from[r][l];
    }
}

void CPU_NAME(arrange)(const float *x, size_t stride, size_t rows, size_t k, float *out, size_t begin, size_t end)
{
    for (size_t at = 0; at < k; at += CHUNK) {
        const size_t count = least(CHUNK, k - at);
        for (size_t r = begin; r < end; r += TILE_X)
            arrange_tile(x + r * stride + at, stride, least(TILE_X, end - r), count,
                         out + at * staged_rows(rows) + r * count);
    }
}
