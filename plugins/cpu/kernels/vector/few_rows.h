/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 8-bit matmuls of the types of struct layout, of what a level wrote before it includes this:
 *     FEW4, FEW8: rows of x up to which four rows of W are the faster way, by bits of W
 *     dot_few(f, call, w, few, i, sums): four rows of W with `few` (a constant) rows of x from row i on; their sums for
 *         row r of x to sums[r][0 .. 3]
 *     FEW_APART, where it is the faster way: bytes from which on a quarter of the rows of W is a stream of its own
 */
#ifndef CPU_VECTOR_FEW_ROWS_H
#define CPU_VECTOR_FEW_ROWS_H

#include "finish.h"
#include "four.h"
#include "gemm.h"

/* `rows` rows of x, up to FEW8, with four rows of W: PAIR at a time, so that these come from the first cache for the
 * next of them. */
CPU_INLINE void dot_rows(const struct layout f, const struct cpu_matmul *call, const struct four w, size_t i,
                         size_t rows, float *const *sums)
{
    size_t r = 0;
    for (; r + PAIR <= rows; r += PAIR)
        dot_few(f, call, w, PAIR, i + r, sums + r);
    for (; PAIR > 2 && r + 2 <= rows; r += 2)
        dot_few(f, call, w, 2, i + r, sums + r);
    if (r < rows)
        dot_few(f, call, w, 1, i + r, sums + r);
}

/* Up to FEW8 rows of x. */
CPU_INLINE void matmul_few(const struct layout f, const struct cpu_matmul *call, size_t i, size_t rows, size_t begin,
                           size_t end)
{
    for (size_t j = begin; j < end; j += FINISH_COLUMNS) {
        float sums[FEW8][FINISH_COLUMNS + 4], *to[FEW8];
        const size_t count = least(FINISH_COLUMNS, end - j);
        for (size_t at = 0; at < count; at += count - at < 4 ? 1 : 4) {
            const int whole = count - at >= 4;
            const struct four w = {digits_of(f, &call->w, j + at), scales_of(f, &call->w, j + at),
                                   whole ? call->w.stride[0] : 0, whole ? call->w.stride[f.planar] : 0, 0};
            for (size_t r = 0; r < rows; r++)
                to[r] = sums[r] + at;
            dot_rows(f, call, w, i, rows, to);
        }
        for (size_t r = 0; r < rows; r++)
            finish_row(call, i + r, j, count, sums[r]);
    }
}

#ifdef FEW_APART
/* Four times `quarter` rows of W, a row of each at a time: four streams of memory, each in pages of its own. */
CPU_INLINE void matmul_apart(const struct layout f, const struct cpu_matmul *call, size_t i, size_t rows, size_t begin,
                             size_t quarter)
{
    for (size_t j = begin; j < begin + quarter; j += FINISH_COLUMNS) {
        float sums[FEW8][4][FINISH_COLUMNS], four[FEW8][4], *to[FEW8];
        const size_t count = least(FINISH_COLUMNS, begin + quarter - j);
        for (size_t r = 0; r < rows; r++)
            to[r] = four[r];
        for (size_t at = 0; at < count; at++) {
            const struct four w = {digits_of(f, &call->w, j + at), scales_of(f, &call->w, j + at),
                                   quarter * call->w.stride[0], quarter * call->w.stride[f.planar], 1};
            dot_rows(f, call, w, i, rows, to);
            for (size_t t = 0; t < 4 * rows; t++)
                sums[t / 4][t % 4][at] = four[t / 4][t % 4];
        }
        for (size_t t = 0; t < 4 * rows; t++)
            finish_row(call, i + t / 4, j + t % 4 * quarter, count, sums[t / 4][t % 4]);
    }
}
#endif

/* Up to FEW8 rows of x. */
CPU_INLINE void matmul_pass(const struct layout f, const struct cpu_matmul *call, size_t i, size_t rows, size_t begin,
                            size_t end)
{
#ifdef FEW_APART
    const size_t quarter = (end - begin) / 4;
    if (quarter * call->w.stride[0] >= FEW_APART) {
        matmul_apart(f, call, i, rows, begin, quarter);
        begin += 4 * quarter;
    }
#endif
    matmul_few(f, call, i, rows, begin, end);
}

CPU_INLINE void matmul8(const struct layout f, uint32_t type, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const size_t few = f.bits == 4 ? FEW4 : FEW8;
    if (f.planar && CPU_NAME(gemv8)(type, call, begin, end))
        return;
    if (begin >= end || (call->m > few && call->x8.tiles != NULL && CPU_NAME(gemm8)(call, type, begin, end)))
        return;
    for (size_t i = 0; i < call->m; i += FEW8)
        matmul_pass(f, call, i, least(FEW8, call->m - i), begin, end);
}

#define MATMUL8(name, type)                                                                                            \
    void CPU_NAME(matmul8_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                             \
    {                                                                                                                  \
        matmul8(layout_##name, type, call, begin, end);                                                                \
    }

MATMUL8(q8_0, ACCEL_Q8_0)
MATMUL8(q4_0, ACCEL_Q4_0)
MATMUL8(q4_1, ACCEL_Q4_1)
MATMUL8(q8_g32, ACCEL_Q8_G32)
MATMUL8(q8_g128, ACCEL_Q8_G128)
MATMUL8(q4_g32, ACCEL_Q4_G32)
MATMUL8(q4_g128, ACCEL_Q4_G128)

#endif
