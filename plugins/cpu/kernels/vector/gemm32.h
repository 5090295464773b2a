/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the vector kernels: GEMM of F32 activations. */
#ifndef CPU_VECTOR_GEMM32_H
#define CPU_VECTOR_GEMM32_H

#include "vec.h"

/* Decodes values at .. at + count of a row of W; `at` and `count` are multiples of 32 for quantized types. */
typedef void decode_fn(const struct cpu_matrix *w, size_t row, size_t at, size_t count, float *out);

void CPU_NAME(gemm32)(decode_fn *decode, const struct cpu_matmul *call, size_t begin, size_t end);

#endif
