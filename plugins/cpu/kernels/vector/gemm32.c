/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of many rows of activations in F32, for all types of weights: two vectors of rows of W are decoded, CHUNK
 * values at a time, and turned so that a vector holds one value of each row; all rows of x pass over that panel, six at
 * a time, a broadcast value of x for two multiply-adds. Tile: 2 vectors x 6 rows, 12 sums in registers. Bound:
 * operations, two multiply-adds a cycle.
 */
#include "gemm32.h"
#include "finish.h"

#define W_ROWS (2u * VN)
#define CHUNK 256u /* of k: a panel of 16 KiB, or 32 with vectors of 16 */
#if defined(CPU_BUILD_NEON)
#define TILE_X 12u /* 24 sums in 32 registers */
#else
#define TILE_X 6u
#endif
#define X_ROWS 240u /* rows of x per pass over a panel: a multiple of the tile */

/* Eight rows of eight values, `stride` apart, to eight vectors with a value of each row, W_ROWS apart. */
static void turn8(const float *from, size_t stride, float *to)
{
    __m256 v[8], w[8];
    CPU_UNROLL
    for (size_t i = 0; i < 8; i++)
        v[i] = _mm256_loadu_ps(from + i * stride);
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
        _mm256_storeu_ps(to + i * W_ROWS, _mm256_permute2f128_ps(v[i], v[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * W_ROWS, _mm256_permute2f128_ps(v[i], v[i + 4], 0x31));
    }
}

/* Values at .. at + count of W_ROWS rows from j on; rows past the end repeat the last, whose results nobody stores. */
static void fill(decode_fn *decode, const struct cpu_matmul *call, size_t j, size_t end, size_t at, size_t count,
                 float (*panel)[W_ROWS])
{
    float rows[8][CHUNK];
    for (size_t r = 0; r < W_ROWS; r += 8) {
        for (size_t i = 0; i < 8; i++)
            decode(&call->w, least(j + r + i, end - 1), at, count, rows[i]);
        size_t l = 0;
        for (; l + 8 <= count; l += 8)
            turn8(rows[0] + l, CHUNK, panel[l] + r);
        for (; l < count; l++) {
            for (size_t i = 0; i < 8; i++)
                panel[l][r + i] = rows[i][l];
        }
    }
}

/* Adds the products of `count` values with `rows` (a constant) rows of x to `sums`. */
CPU_INLINE void tile(const float (*panel)[W_ROWS], const float *x, size_t stride, size_t count, const size_t rows,
                     float (*sums)[W_ROWS])
{
    vf acc[TILE_X][2];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        acc[r][0] = v_load(sums[r]);
        acc[r][1] = v_load(sums[r] + VN);
    }
    for (size_t l = 0; l < count; l++) {
        const vf w0 = v_load(panel[l]), w1 = v_load(panel[l] + VN);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const vf value = v_set(x[r * stride + l]);
            acc[r][0] = v_fma(w0, value, acc[r][0]);
            acc[r][1] = v_fma(w1, value, acc[r][1]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        v_store(sums[r], acc[r][0]);
        v_store(sums[r] + VN, acc[r][1]);
    }
}

/* All rows of x of a pass over one panel. */
static void pass(const float (*panel)[W_ROWS], const float *x, size_t stride, size_t count, size_t rows,
                 float (*sums)[W_ROWS])
{
    for (; rows >= TILE_X; rows -= TILE_X, x += TILE_X * stride, sums += TILE_X)
        tile(panel, x, stride, count, TILE_X, sums);
    for (; rows >= 2; rows -= 2, x += 2 * stride, sums += 2)
        tile(panel, x, stride, count, 2, sums);
    if (rows)
        tile(panel, x, stride, count, 1, sums);
}

void CPU_NAME(gemm32)(decode_fn *decode, const struct cpu_matmul *call, size_t begin, size_t end)
{
    for (size_t i = 0; i < call->m; i += X_ROWS) {
        const size_t rows = least(X_ROWS, call->m - i);
        for (size_t j = begin; j < end; j += W_ROWS) {
            float sums[X_ROWS][W_ROWS], panel[CHUNK][W_ROWS];
            memset(sums, 0, rows * sizeof(sums[0]));
            for (size_t at = 0; at < call->k; at += CHUNK) {
                const size_t count = least(CHUNK, call->k - at);
                fill(decode, call, j, end, at, count, panel);
                pass((const float(*)[W_ROWS])panel, call->x + i * call->x_stride + at, call->x_stride, count, rows,
                     sums);
            }
            for (size_t r = 0; r < rows; r++)
                finish_row(call, i + r, j, least(W_ROWS, end - j), sums[r]);
        }
    }
}
