/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the vector kernels: the epilogue of a matmul (bias, function and residual) for part of a row of y. */
#ifndef CPU_VECTOR_FINISH_H
#define CPU_VECTOR_FINISH_H

#include "functions.h"

#define FINISH_COLUMNS 16u /* columns of y that are finished together */

CPU_INLINE vf finish_vector(const struct cpu_matmul *call, vf sums, vf bias, vf residual)
{
    return v_function(call->function, sums + bias) + residual;
}

/* Prefetches the operands of finish_row for row i, column j: rows are far apart, so that no hardware prefetcher follows
 * them. */
CPU_INLINE void finish_ahead(const struct cpu_matmul *call, size_t i, size_t j)
{
    __builtin_prefetch(call->y + i * call->y_stride + j, 1, 3);
    if (call->residual)
        __builtin_prefetch(call->residual + i * call->residual_stride + j, 0, 3);
}

/* Stores columns j .. j + count of row i from `sums`. Not inline: every tile of every type ends here. */
static __attribute__((noinline)) void finish_row(const struct cpu_matmul *call, size_t i, size_t j, size_t count,
                                                 const float *sums)
{
    const float *bias = call->bias ? call->bias + j : NULL;
    const float *residual = call->residual ? call->residual + i * call->residual_stride + j : NULL;
    float *y = call->y + i * call->y_stride + j;
    size_t at = 0;
    for (; at + VN <= count; at += VN) {
        vf b = bias ? v_load(bias + at) : v_set(0), r = residual ? v_load(residual + at) : v_set(0);
        v_store(y + at, finish_vector(call, v_load(sums + at), b, r));
    }
    if (at < count) {
        size_t n = count - at;
        vf b = bias ? v_load_part(bias + at, n) : v_set(0), r = residual ? v_load_part(residual + at, n) : v_set(0);
        v_store_part(y + at, finish_vector(call, v_load_part(sums + at, n), b, r), n);
    }
}

#endif
