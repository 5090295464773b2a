/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the kernels: declares every function that kernels.def lists. CPU_NAME appends the ISA for which a file is
 * compiled to a function's name. */
#ifndef CPU_KERNELS_DECLARE_H
#define CPU_KERNELS_DECLARE_H

#include "kernels.h"

#define CPU_KERNEL(type, slot, name)                                                                                   \
    cpu_##type##_fn cpu_##name##_scalar, cpu_##name##_avx2, cpu_##name##_avxvnni, cpu_##name##_avx512,                 \
        cpu_##name##_neon, cpu_##name##_dotprod, cpu_##name##_i8mm;
#include "kernels.def"

/* ISAs on top of AVX-512. */
#define CPU_KERNEL(type, slot, name)
#define CPU_KERNEL16(type, slot, name) cpu_##type##_fn cpu_##name##_amx;
#include "kernels.def"
cpu_round16_fn cpu_round16_scalar, cpu_round16_avx512bf16;
cpu_matmul_fn cpu_gemm16_bf16_avx512bf16;

/* Plain C: one kernel for all types. */
cpu_matmul_fn cpu_matmul_scalar, cpu_matmul8_scalar, cpu_matmul16_scalar;
cpu_embed_fn cpu_embed_scalar;

#if defined(CPU_BUILD_SCALAR)
#define CPU_NAME(name) cpu_##name##_scalar
#elif defined(CPU_BUILD_NEON) && defined(__ARM_FEATURE_MATMUL_INT8)
#define CPU_NAME(name) cpu_##name##_i8mm
#elif defined(CPU_BUILD_NEON) && defined(__ARM_FEATURE_DOTPROD)
#define CPU_NAME(name) cpu_##name##_dotprod
#elif defined(CPU_BUILD_NEON)
#define CPU_NAME(name) cpu_##name##_neon
#elif defined(CPU_BUILD_AVX512)
#define CPU_NAME(name) cpu_##name##_avx512
#elif defined(CPU_BUILD_AVXVNNI)
#define CPU_NAME(name) cpu_##name##_avxvnni
#else
#define CPU_NAME(name) cpu_##name##_avx2
#endif

#endif
