/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of the types of struct block32. The ISA that includes this file defines
 *
 * ROWS: rows of x whose sums are in memory at a time.
 *
 * ROW4_PLAIN_ALONE, ROW4_UNPACKED_ALONE, optional: only these of the types.
 *
 * struct row4_sums: sums of four rows of W with up to PAIR rows of x; zero_sums() returns them empty.
 *
 * step_blocks(f): blocks of a step, 1, 2 or 4.
 *
 * add_step(f, w, x, rows, count, b, sums): adds the products of blocks b .. b + count, a step or half of one, of four
 * rows of W with `rows` rows of x; both are constants.
 *
 * store_sums(f, rows, sums, out): stores the sums with row r of x to out[r][0 .. 3].
 *
 * APART_BYTES: bytes of a row of W from which on each quarter of the rows is read as a stream of its own.
 */
#ifndef CPU_VECTOR_GEMV_ROW4_H
#define CPU_VECTOR_GEMV_ROW4_H

#include "finish.h"
#include "row4.h"

#define APART_AHEAD 1024u
#define QUARTER_BYTES 32768u /* least bytes of a quarter of the rows */

/* Prefetches for the step at block b: the next four rows of W, which follow these, in proportion, or each row on. */
CPU_INLINE void prefetch_step(const struct block32 f, const struct row4 w, size_t b)
{
    const size_t bytes = step_blocks(f) * f.block_bytes, at = b * f.block_bytes;
    if (!w.apart) {
        prefetch_lines(w.codes + 4 * (w.codes_stride + at), 4 * bytes);
        return;
    }
    CPU_UNROLL
    for (size_t r = 0; r < 4; r++)
        prefetch_lines(w.codes + APART_AHEAD + r * w.codes_stride + at, bytes);
}

/* Multiplies four rows of W with `rows` (a constant) rows of x from row i on; sums of row r of x go to out[r][0 .. 3].
 */
CPU_INLINE void dot_row4(const struct block32 f, const struct cpu_matmul *call, const struct row4 w, const size_t rows,
                         size_t i, float *const *out)
{
    const size_t blocks = call->k / CPU_BLOCK, step = step_blocks(f);
    const struct act_rows x = {call->act_q8.q + i * call->k, call->act_q8.scale + i * blocks,
                               call->act_q8.sum + i * blocks, call->k, blocks};
    struct row4_sums sums = zero_sums();
    size_t b = 0;
    for (; b + step <= blocks; b += step) {
        prefetch_step(f, w, b);
        add_step(f, w, &x, rows, step, b, &sums);
    }
    if (step == 4 && b + 2 <= blocks) {
        add_step(f, w, &x, rows, 2, b, &sums);
        b += 2;
    }
    if (step > 1 && b < blocks)
        add_step(f, w, &x, rows, 1, b, &sums);
    store_sums(f, rows, &sums, out);
}

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

/* ROWS rows of x at a time. */
CPU_INLINE void gemv(const struct block32 f, dot_rows_fn *dot, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const size_t stride = call->w.stride[0], quarter = (end - begin) / 4;
    const size_t apart = stride >= APART_BYTES && quarter * stride >= QUARTER_BYTES ? quarter : 0;
    for (size_t i = 0; i < call->m; i += ROWS) {
        const size_t rows = least(ROWS, call->m - i);
        gemv_quarters(f, dot, call, i, rows, begin, apart);
        gemv_row4(f, dot, call, i, rows, begin + 4 * apart, end);
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
