/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of the types of struct block32. The ISA that includes this file defines
 *
 * ROWS: rows of x whose sums are in memory at a time.
 *
 * ROW4_PLAIN_ALONE, ROW4_UNPACKED_ALONE, optional: only these of the types.
 *
 * dot_row4(f, call, w, rows, i, sums): multiplies four rows of W with rows i .. i + rows of x (`rows` is a constant) to
 * sums[r][0 .. 3], r = 0 .. rows - 1.
 *
 * QUARTER_BYTES, optional: bytes of W from which on each quarter of its rows is read as a stream of its own.
 */
#ifndef CPU_VECTOR_GEMV_ROW4_H
#define CPU_VECTOR_GEMV_ROW4_H

#include "finish.h"
#include "row4.h"

/* Multiplies four rows of W with `rows` rows of x, up to ROWS, PAIR at a time: the rows of W stay in the L1
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

/* dot_rows of a type: one copy, whatever the order of the rows of W. */
typedef void dot_rows_fn(const struct cpu_matmul *call, struct row4 w, size_t i, size_t rows, float *const *sums);

/* Multiplies up to ROWS rows of x. */
CPU_INLINE void gemv_row4(const struct block32 f, dot_rows_fn *dot, const struct cpu_matmul *call, size_t i,
                          size_t rows, size_t begin, size_t end)
{
    for (size_t j = begin; j < end; j += FINISH_COLUMNS) {
        float sums[ROWS][FINISH_COLUMNS + 4], *to[ROWS];
        const size_t count = least(FINISH_COLUMNS, end - j);
        for (size_t at = 0; at < count; at += count - at < 4 ? 1 : 4) {
            const int whole = count - at >= 4;
            const struct row4 w = {codes_of(f, &call->w, j + at), scales_of(f, &call->w, j + at),
                                   whole ? call->w.stride[0] : 0, whole ? call->w.stride[f.planar] : 0, 0};
            for (size_t r = 0; r < rows; r++)
                to[r] = sums[r] + at;
            dot(call, w, i, rows, to);
        }
        for (size_t r = 0; r < rows; r++)
            finish_row(call, i + r, j, count, sums[r]);
    }
}

#ifdef QUARTER_BYTES
/* Multiplies four times `quarter` rows of W, a row of each quarter at a time: four memory streams, each in its own
 * pages. */
CPU_INLINE void gemv_quarters(const struct block32 f, dot_rows_fn *dot, const struct cpu_matmul *call, size_t i,
                              size_t rows, size_t begin, size_t quarter)
{
    for (size_t j = begin; j < begin + quarter; j += FINISH_COLUMNS) {
        float sums[ROWS][4][FINISH_COLUMNS], quad[ROWS][4], *to[ROWS];
        const size_t count = least(FINISH_COLUMNS, begin + quarter - j);
        for (size_t r = 0; r < rows; r++)
            to[r] = quad[r];
        for (size_t at = 0; at < count; at++) {
            const struct row4 w = {codes_of(f, &call->w, j + at), scales_of(f, &call->w, j + at),
                                   quarter * call->w.stride[0], quarter * call->w.stride[f.planar], 1};
            dot(call, w, i, rows, to);
            for (size_t t = 0; t < 4 * rows; t++)
                sums[t / 4][t % 4][at] = quad[t / 4][t % 4];
        }
        for (size_t t = 0; t < 4 * rows; t++)
            finish_row(call, i + t / 4, j + t % 4 * quarter, count, sums[t / 4][t % 4]);
    }
}
#endif

/* ROWS rows of x at a time. */
CPU_INLINE void gemv(const struct block32 f, dot_rows_fn *dot, const struct cpu_matmul *call, size_t begin, size_t end)
{
#ifdef QUARTER_BYTES
    const size_t quarter = (end - begin) / 4;
#endif
    for (size_t i = 0; i < call->m; i += ROWS) {
        const size_t rows = least(ROWS, call->m - i);
        size_t from = begin;
#ifdef QUARTER_BYTES
        if (quarter * call->w.stride[0] >= QUARTER_BYTES) {
            gemv_quarters(f, dot, call, i, rows, begin, quarter);
            from += 4 * quarter;
        }
#endif
        gemv_row4(f, dot, call, i, rows, from, end);
    }
}

#define KERNEL(ID, name, ...)                                                                                          \
    static void dot_rows_##name(const struct cpu_matmul *call, struct row4 w, size_t i, size_t rows,                   \
                                float *const *sums)                                                                    \
    {                                                                                                                  \
        dot_rows(block32_##name, call, w, i, rows, sums);                                                              \
    }                                                                                                                  \
    void CPU_NAME(gemv_row4_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                           \
    {                                                                                                                  \
        gemv(block32_##name, dot_rows_##name, call, begin, end);                                                       \
    }
#ifndef ROW4_UNPACKED_ALONE
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    CPU_CODE_##code(CPU_NOTHING, CPU_NOTHING, CPU_NOTHING, KERNEL, CPU_NOTHING, ID, name)
#include <accel/quant/formats.def>
CPU_PLANAR_OWN(KERNEL)
#endif
#ifndef ROW4_PLAIN_ALONE
CPU_ROW4_UNPACKED(KERNEL)
#endif

#endif
