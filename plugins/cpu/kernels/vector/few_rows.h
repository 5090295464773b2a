/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 8-bit matmuls of the types of struct layout, of what a level wrote before it includes this:
 *     FEW4, FEW8: rows of x up to which four rows of W are the faster way, by bits of W
 *     dot_few(f, call, w, few, i, sums): four rows of W with `few` (a constant) rows of x from row i on; their sums for
 *         row r of x to sums[r][0 .. 3]
 */
#ifndef CPU_VECTOR_FEW_ROWS_H
#define CPU_VECTOR_FEW_ROWS_H

#include "finish.h"
#include "four.h"
#include "gemm.h"

#define COLUMNS 16u /* of y whose sums are kept until they are finished together */

/* Up to FEW8 rows of x, two at a time: the four rows of W come from the first cache for the second pair. */
CPU_INLINE void matmul_few(const struct layout f, const struct cpu_matmul *call, size_t i, size_t rows, size_t begin,
                           size_t end)
{
    for (size_t j = begin; j < end; j += COLUMNS) {
        float sums[FEW8][COLUMNS + 4];
        const size_t count = least(COLUMNS, end - j);
        for (size_t at = 0; at < count; at += count - at < 4 ? 1 : 4) {
            const int whole = count - at >= 4;
            const struct four w = {digits_of(f, &call->w, j + at), scales_of(f, &call->w, j + at),
                                   whole ? call->w.stride[0] : 0, whole ? call->w.stride[f.planar] : 0};
            size_t r = 0;
            for (; r + PAIR <= rows; r += PAIR)
                dot_few(f, call, w, PAIR, i + r, (float *[]){sums[r] + at, sums[r + 1] + at});
            if (r < rows)
                dot_few(f, call, w, 1, i + r, (float *[]){sums[r] + at});
        }
        for (size_t r = 0; r < rows; r++)
            finish_row(call, i + r, j, count, sums[r]);
    }
}

CPU_INLINE void matmul8(const struct layout f, uint32_t type, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const size_t few = f.bits == 4 ? FEW4 : FEW8;
    if (f.planar && CPU_NAME(gemv8)(type, call, begin, end))
        return;
    if (begin >= end || (call->m > few && call->x8.tiles != NULL && CPU_NAME(gemm8)(call, type, begin, end)))
        return;
    for (size_t i = 0; i < call->m; i += FEW8)
        matmul_few(f, call, i, least(FEW8, call->m - i), begin, end);
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
