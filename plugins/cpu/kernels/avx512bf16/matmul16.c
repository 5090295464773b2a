/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMM of act_bf16 with BF16 weights, AVX-512 with BF16 products: two vectors of rows of W are transposed, PAIRS pairs
 * of values at a time, so that a vector holds a pair of each row; all rows of x are multiplied with that panel. Tile: 2
 * vectors x 12 rows, 24 sums in 32 registers. Twice the products of a float instruction. F16 weights would need two
 * products each and gain nothing. Bound: operations. Meant for processors without AMX. Measured: doc/benchmark.md, GEMM
 * cores.
 */
#include "plugins/cpu/kernels/vector/finish.h"
#include "plugins/cpu/kernels/vector/gemm.h"
#include "plugins/cpu/kernels/vector/simd_bf16.h"

#define W_ROWS 32u
#define PAIRS 128u  /* pairs of k: a panel of 16 KiB */
#define X_ROWS 264u /* rows of x per panel: as many values of each stay in the L2 cache */

/* Fills a panel with pairs first .. first + count of W_ROWS rows from j on, `count` rounded up to four with zeros; rows
 * past the end repeat the last, their results are not stored. */
static void fill(const struct cpu_matmul *call, size_t j, size_t end, size_t first, size_t count,
                 uint32_t (*panel)[W_ROWS])
{
    const size_t left = 2 * (call->k - 2 * first), bytes = least(left, 4 * count), whole = bytes / 16 * 16;
    for (size_t r = 0; r < W_ROWS; r += 8) {
        uint8_t last[8][16] = {{0}};
        const uint8_t *rows[8], *ends[8];
        __m256i v[4];
        for (size_t i = 0; i < 8; i++) {
            rows[i] = (const uint8_t *)call->w.plane[0] + least(j + r + i, end - 1) * call->w.stride[0] + 4 * first;
            ends[i] = last[i];
            memcpy(last[i], rows[i] + whole, bytes - whole);
        }
        for (size_t at = 0; at < bytes; at += 16) {
            load_transposed(at < whole ? rows : ends, at < whole ? at : 0, v);
            CPU_UNROLL
            for (size_t c = 0; c < 4; c++)
                _mm256_storeu_si256((__m256i *)&panel[at / 4 + c][r], v[c]);
        }
    }
}

CPU_INLINE __m512i broadcast2(const uint16_t *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof(pair));
    return _mm512_set1_epi32(pair);
}

/* Adds the products of `count` pairs with `rows` (a constant) rows of x to `sums`. */
CPU_INLINE void tile(const uint32_t (*panel)[W_ROWS], const uint16_t *x, size_t stride, size_t count, const size_t rows,
                     float (*sums)[W_ROWS])
{
    __m512 acc[12][2];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        acc[r][0] = _mm512_loadu_ps(sums[r]);
        acc[r][1] = _mm512_loadu_ps(sums[r] + 16);
    }
    for (size_t l = 0; l < count; l++, x += 2) {
        const __m512i w0 = _mm512_loadu_si512(panel[l]), w1 = _mm512_loadu_si512(panel[l] + 16);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const __m512i pair = broadcast2(x + r * stride);
            acc[r][0] = simd_dpbf16(acc[r][0], w0, pair);
            acc[r][1] = simd_dpbf16(acc[r][1], w1, pair);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        _mm512_storeu_ps(sums[r], acc[r][0]);
        _mm512_storeu_ps(sums[r] + 16, acc[r][1]);
    }
}

/* Multiplies all rows of x with one panel. */
static void accumulate(const uint32_t (*panel)[W_ROWS], const uint16_t *x, size_t stride, size_t count, size_t rows,
                       float (*sums)[W_ROWS])
{
    for (; rows >= 12; rows -= 12, x += 12 * stride, sums += 12)
        tile(panel, x, stride, count, 12, sums);
    for (; rows >= 4; rows -= 4, x += 4 * stride, sums += 4)
        tile(panel, x, stride, count, 4, sums);
    for (; rows > 0; rows--, x += stride, sums++)
        tile(panel, x, stride, count, 1, sums);
}

/* Multiplies rows i .. i + rows of x with up to W_ROWS rows of W from j on. */
static void block(const struct cpu_matmul *call, size_t i, size_t rows, size_t j, size_t end)
{
    const size_t pairs = (call->k + 1) / 2, stride = cpu_act_bf16_row(call->k);
    float sums[X_ROWS][W_ROWS];
    uint32_t panel[PAIRS][W_ROWS];
    memset(sums, 0, rows * sizeof(sums[0]));
    for (size_t first = 0; first < pairs; first += PAIRS) {
        const size_t count = least(PAIRS, pairs - first);
        fill(call, j, end, first, count, panel);
        accumulate((const uint32_t(*)[W_ROWS])panel, call->act_bf16 + i * stride + 2 * first, stride, count, rows,
                   sums);
    }
    for (size_t r = 0; r < rows; r++)
        finish_row(call, i + r, j, least(W_ROWS, end - j), sums[r]);
}

void cpu_gemm16_bf16_avx512bf16(const struct cpu_matmul *call, size_t begin, size_t end)
{
    for (size_t i = 0; i < call->m; i += X_ROWS) {
        for (size_t j = begin; j < end; j += W_ROWS)
            block(call, i, least(X_ROWS, call->m - i), j, end);
    }
}

typedef uint32_t bits16 __attribute__((vector_size(64)));
typedef uint16_t halves16 __attribute__((vector_size(32)));

/* Rounds to nearest, ties to even; a NaN stays one. */
CPU_INLINE void round_vector(vf x, uint16_t *out)
{
    const bits16 bits = (bits16)x, near = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
    const bits16 number = (bits16)(x == x), rounded = (near & number) | (quiet & ~number);
    const halves16 half = __builtin_convertvector(rounded, halves16);
    memcpy(out, &half, sizeof(half));
}

void cpu_round16_avx512bf16(const float *x, size_t stride, size_t k, uint16_t *out, size_t begin, size_t end)
{
    const size_t row = cpu_act_bf16_row(k);
    for (size_t r = begin; r < end; r++) {
        for (size_t l = 0; l < row; l += VN) {
            const float *from = x + r * stride + l;
            round_vector(l + VN <= k ? v_load(from) : l < k ? v_load_part(from, k - l) : v_set(0), out + r * row + l);
        }
    }
}
