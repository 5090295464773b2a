/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the kernels: the declaration of every function that kernels.def lists. */
#ifndef CPU_KERNELS_DECLARE_H
#define CPU_KERNELS_DECLARE_H

#include "kernels.h"

#define CPU_KERNEL(type, place, name)                                                                                  \
    cpu_##type##_fn cpu_##name##_scalar, cpu_##name##_avx2, cpu_##name##_avxvnni, cpu_##name##_avx512,                 \
        cpu_##name##_neon, cpu_##name##_dotprod, cpu_##name##_i8mm;
#include "kernels.def"

/* The levels that add to AVX-512. */
#define CPU_KERNEL(type, place, name)
#define CPU_KERNEL16(type, place, name) cpu_##type##_fn cpu_##name##_amx;
#include "kernels.def"
cpu_matmul_fn cpu_panels8_avx2, cpu_panels8_avxvnni, cpu_panels8_avx512;
cpu_round16_fn cpu_round16_scalar;
cpu_round16_fn cpu_round16_avx512bf16;
cpu_matmul_fn cpu_matmul16_bf16_scalar;
cpu_matmul_fn cpu_matmul16_bf16_avx512bf16;
cpu_matmul_fn cpu_matmul16_f16_scalar;

#endif
