/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of few rows of activations rounded to 8 bits, for the formats of unpack.h and planar.h.
 * Layout: weights as they lie. Tile: 8 runs of 256 weights of one row of W are taken apart into the first cache, and 2
 * rows of x at a time pass over them; sums of 32 products are exact integers, scaled in float.
 * Bound: operations.
 */
#include "finish.h"
#include "gemm.h"
#include "gemv.h"

#define RUNS 8u    /* of a row of W taken apart at a time: 3 KiB */
#define X_ROWS 64u /* rows of x that pass over them */
#define PAIR 2u
#define FEW 3u /* rows of x up to which this is faster than the panels of gemm.c */

/* Rows of x, from some value and block on. */
struct passing {
    const int8_t *q;
    const float *scale;
    const float *sum;
    size_t k;
    size_t blocks;
};

/* The products of a block of a run with x. */
CPU_INLINE __m256i dot_block(const struct kind kind, const struct run *run, size_t g, __m256i x)
{
    __m256i products = dot32s(load32(run->digits + 32 * g), x);
    if (has_levels(kind))
        products = _mm256_add_epi32(_mm256_slli_epi32(products, 8), dot32s(load32(run->low + 32 * g), x));
    return products;
}

/* p[0] in the low half and p[1] in the high one. */
CPU_INLINE __m256 two_floats(const float *p)
{
    return _mm256_set_m128(_mm_broadcast_ss(p + 1), _mm_broadcast_ss(p));
}

/* The minima of block g, times the sums of x that they meet: `scale` is x's. */
CPU_INLINE __m256 minimum_part(const struct kind kind, const struct run *run, size_t g, __m256i x, __m256 scale,
                               const float *sum)
{
    if (!kind.fine)
        return _mm256_castps128_ps256(_mm_mul_ss(_mm_load_ss(run->m + 2 * g), _mm_load_ss(sum)));
    __m256i sums = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), x), _mm256_set1_epi16(1));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_mul_ps(two_floats(run->m + 2 * g), scale));
}

/* Adds a run of `count` blocks of 32 to the sums of `rows` (a constant) rows of x. */
CPU_INLINE void pass_run(const struct kind kind, const struct run *run, const struct passing *x, size_t block,
                         size_t count, const size_t rows, __m256 acc[PAIR])
{
    for (size_t g = 0; g < count; g++) {
        __m256 d = kind.fine ? two_floats(run->d + 2 * g) : _mm256_broadcast_ss(run->d + 2 * g);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const size_t at = r * x->blocks + block + g;
            __m256i q = load32(x->q + r * x->k + (block + g) * 32);
            __m256 scale = _mm256_broadcast_ss(x->scale + at);
            acc[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot_block(kind, run, g, q)), _mm256_mul_ps(d, scale), acc[r]);
            if (kind.minimum && kind.fine)
                acc[r] = _mm256_add_ps(acc[r], minimum_part(kind, run, g, q, scale, x->sum + at));
        }
    }
}

/* The minima of a run where 32 weights share one. */
CPU_INLINE float minima(const struct run *run, const float *sum, size_t count)
{
    float total = 0;
    for (size_t g = 0; g < count; g++)
        total += run->m[2 * g] * sum[g];
    return total;
}

/* `values` weights of one row of W, taken apart in `runs`, with `rows` (a constant) rows of x; adds to `sums`, which of
 * each row of x are FINISH_COLUMNS apart. */
CPU_INLINE void pass(const struct kind kind, const struct run *runs, size_t values, const struct passing *x,
                     const size_t rows, float *sums)
{
    __m256 acc[PAIR];
    float offset[PAIR] = {0};
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        acc[r] = _mm256_setzero_ps();
    for (size_t at = 0; at < values; at += RUN_VALUES, runs++) {
        const size_t count = least(RUN_VALUES, values - at) / 32;
        pass_run(kind, runs, x, at / 32, count, rows, acc);
        for (size_t r = 0; kind.minimum && !kind.fine && r < rows; r++)
            offset[r] += minima(runs, x->sum + r * x->blocks + at / 32, count);
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        sums[r * FINISH_COLUMNS] += sum8(acc[r]) + offset[r];
}

/* Takes apart `values` weights of row j from `at` on. */
CPU_INLINE void unpack_row(const struct kind kind, const struct cpu_matrix *w, size_t j, size_t at, size_t values,
                           struct run runs[RUNS])
{
    const uint8_t *row = (const uint8_t *)w->plane[0] + j * w->stride[0];
    for (size_t done = 0; done < values; done += RUN_VALUES) {
        prefetch_ahead(row + bytes_before(kind, w, at + done), w->stride[0]);
        prefetch_ahead(row + bytes_before(kind, w, at + done) + 64, w->stride[0]);
        take_apart(kind, w, j, at + done, least(RUN_VALUES, values - done), runs++);
    }
}

/* One row of W with rows i .. i + rows of x: one column of `sums`. */
CPU_INLINE void one_row(const struct kind kind, const struct cpu_matmul *call, size_t i, size_t rows, size_t j,
                        float *sums)
{
    const size_t blocks = call->k / 32;
    for (size_t at = 0; at < call->k; at += RUNS * RUN_VALUES) {
        struct run runs[RUNS];
        size_t values = least(RUNS * RUN_VALUES, call->k - at), r = 0;
        unpack_row(kind, &call->w, j, at, values, runs);
        for (; r < rows; r += PAIR) {
            size_t first = (i + r) * blocks + at / 32;
            const struct passing x = {call->x8.q + (i + r) * call->k + at, call->x8.scale + first, call->x8.sum + first,
                                      call->k, blocks};
            if (rows - r >= PAIR)
                pass(kind, runs, values, &x, PAIR, sums + r * FINISH_COLUMNS);
            else
                pass(kind, runs, values, &x, 1, sums + r * FINISH_COLUMNS);
        }
    }
}

CPU_INLINE void matmul8(const struct kind kind, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const int fast_panel = kind.block_values == RUN_VALUES && kind.type != ACCEL_IQ4_XS; /* gemm_fill_k.h */
    if (call->m > (fast_panel ? 1 : FEW) && call->x8.tiles != NULL &&
        CPU_NAME(gemm8)(call, is_planar(kind) ? call->w.type : kind.type, begin, end))
        return;
    for (size_t i = 0; i < call->m; i += X_ROWS) {
        const size_t rows = least(X_ROWS, call->m - i);
        for (size_t j = begin; j < end; j += FINISH_COLUMNS) {
            float sums[X_ROWS * FINISH_COLUMNS];
            const size_t count = least(FINISH_COLUMNS, end - j);
            memset(sums, 0, rows * FINISH_COLUMNS * sizeof(sums[0]));
            for (size_t c = 0; c < count; c++)
                one_row(kind, call, i, rows, j + c, sums + c);
            for (size_t r = 0; r < rows; r++)
                finish_row(call, i + r, j, count, sums + r * FINISH_COLUMNS);
        }
    }
}

#define MATMUL8(name)                                                                                                  \
    void CPU_NAME(matmul8_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                             \
    {                                                                                                                  \
        if (!CPU_NAME(gemv8)(kind_##name.type, call, begin, end))                                                      \
            matmul8(kind_##name, call, begin, end);                                                                    \
    }

MATMUL8(q5_0)
MATMUL8(q5_1)
MATMUL8(q2_k)
MATMUL8(q3_k)
MATMUL8(q4_k)
MATMUL8(q5_k)
MATMUL8(q6_k)
MATMUL8(iq4_nl)
MATMUL8(iq4_xs)
MATMUL8(mxfp4)

void CPU_NAME(matmul8_planar)(const struct cpu_matmul *call, size_t begin, size_t end)
{
    if (CPU_NAME(gemv8)(call->w.type, call, begin, end))
        return;
    if (is_of_levels(&call->w))
        matmul8(kind_levels, call, begin, end);
    else if (is_asymmetric(&call->w))
        matmul8(kind_planar_a, call, begin, end);
    else
        matmul8(kind_planar, call, begin, end);
}
