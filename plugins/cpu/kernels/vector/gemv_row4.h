/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8-bit matmuls of the types of struct block32. The ISA that includes this file defines
 *
 * ROW4_MAX_4BIT, ROW4_MAX_8BIT: rows of x up to which this GEMV is faster than GEMM, by bits of W.
 *
 * dot_row4(f, call, w, rows, i, sums): multiplies four rows of W with rows i .. i + rows of x (`rows` is a constant) to
 * sums[r][0 .. 3], r = 0 .. rows - 1.
 *
 * QUARTER_BYTES, optional: bytes of W from which on each quarter of its rows is read as a stream of its own.
 */
#ifndef CPU_VECTOR_GEMV_ROW4_H
#define CPU_VECTOR_GEMV_ROW4_H

#include "finish.h"
#include "gemm.h"
#include "row4.h"

/* Multiplies four rows of W with `rows` rows of x, up to ROW4_MAX_8BIT, PAIR at a time: the rows of W stay in the L1
 * cache. */
CPU_INLINE void dot_rows(const struct block32 f, const struct cpu_matmul *call, const struct row4 w, size_t i,
                         size_t rows, float *const *sums)
{
    size_t r = 0;
    for (; r + PAIR <= rows; r += PAIR)
        dot_row4(f, call, w, PAIR, i + r, sums + r);
    for (; PAIR > 2 && r + 2 <= rows; r += 2)
        dot_row4(f, call, w, 2, i + r, sums + r);
    if (r < rows)
        dot_row4(f, call, w, 1, i + r, sums + r);
}

/* Multiplies up to ROW4_MAX_8BIT rows of x. */
CPU_INLINE void gemv_row4(const struct block32 f, const struct cpu_matmul *call, size_t i, size_t rows, size_t begin,
                          size_t end)
{
    for (size_t j = begin; j < end; j += FINISH_COLUMNS) {
        float sums[ROW4_MAX_8BIT][FINISH_COLUMNS + 4], *to[ROW4_MAX_8BIT];
        const size_t count = least(FINISH_COLUMNS, end - j);
        for (size_t at = 0; at < count; at += count - at < 4 ? 1 : 4) {
            const int whole = count - at >= 4;
            const struct row4 w = {codes_of(f, &call->w, j + at), scales_of(f, &call->w, j + at),
                                   whole ? call->w.stride[0] : 0, whole ? call->w.stride[f.planar] : 0, 0};
            for (size_t r = 0; r < rows; r++)
                to[r] = sums[r] + at;
            dot_rows(f, call, w, i, rows, to);
        }
        for (size_t r = 0; r < rows; r++)
            finish_row(call, i + r, j, count, sums[r]);
    }
}

#ifdef QUARTER_BYTES
/* Multiplies four times `quarter` rows of W, a row of each quarter at a time: four memory streams, each in its own
 * pages. */
CPU_INLINE void gemv_quarters(const struct block32 f, const struct cpu_matmul *call, size_t i, size_t rows,
                              size_t begin, size_t quarter)
{
    for (size_t j = begin; j < begin + quarter; j += FINISH_COLUMNS) {
        float sums[ROW4_MAX_8BIT][4][FINISH_COLUMNS], quad[ROW4_MAX_8BIT][4], *to[ROW4_MAX_8BIT];
        const size_t count = least(FINISH_COLUMNS, begin + quarter - j);
        for (size_t r = 0; r < rows; r++)
            to[r] = quad[r];
        for (size_t at = 0; at < count; at++) {
            const struct row4 w = {codes_of(f, &call->w, j + at), scales_of(f, &call->w, j + at),
                                   quarter * call->w.stride[0], quarter * call->w.stride[f.planar], 1};
            dot_rows(f, call, w, i, rows, to);
            for (size_t t = 0; t < 4 * rows; t++)
                sums[t / 4][t % 4][at] = quad[t / 4][t % 4];
        }
        for (size_t t = 0; t < 4 * rows; t++)
            finish_row(call, i + t / 4, j + t % 4 * quarter, count, sums[t / 4][t % 4]);
    }
}
#endif

/* Multiplies up to ROW4_MAX_8BIT rows of x. */
CPU_INLINE void gemv_rows(const struct block32 f, const struct cpu_matmul *call, size_t i, size_t rows, size_t begin,
                          size_t end)
{
#ifdef QUARTER_BYTES
    const size_t quarter = (end - begin) / 4;
    if (quarter * call->w.stride[0] >= QUARTER_BYTES) {
        gemv_quarters(f, call, i, rows, begin, quarter);
        begin += 4 * quarter;
    }
#endif
    gemv_row4(f, call, i, rows, begin, end);
}

CPU_INLINE void matmul8(const struct block32 f, uint32_t type, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const size_t most = f.bits == 4 ? ROW4_MAX_4BIT : ROW4_MAX_8BIT;
    if (f.planar && call->m <= 2 && CPU_NAME(gemv8)(type, call, begin, end))
        return;
    if (begin >= end || (call->m > most && call->act_q8.tiles != NULL && CPU_NAME(gemm8)(call, type, begin, end)))
        return;
    for (size_t i = 0; i < call->m; i += ROW4_MAX_8BIT)
        gemv_rows(f, call, i, least(ROW4_MAX_8BIT, call->m - i), begin, end);
}

#define MATMUL8(name, type)                                                                                            \
    void CPU_NAME(matmul8_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                             \
    {                                                                                                                  \
        matmul8(block32_##name, type, call, begin, end);                                                               \
    }

MATMUL8(q8_0, ACCEL_Q8_0)
MATMUL8(q4_0, ACCEL_Q4_0)
MATMUL8(q4_1, ACCEL_Q4_1)
MATMUL8(q8_g32, ACCEL_Q8_G32)
MATMUL8(q8_g128, ACCEL_Q8_G128)
MATMUL8(q4_g32, ACCEL_Q4_G32)
MATMUL8(q4_g128, ACCEL_Q4_G128)

#endif
