/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the kernels: declares the functions that kernels.def lists, of the ISA for which a file is compiled.
 * CPU_NAME appends its name to a function's. */
#ifndef CPU_KERNELS_DECLARE_H
#define CPU_KERNELS_DECLARE_H

#include "kernels.h"

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

#define CPU_KERNEL(type, slot, name) cpu_##type##_fn CPU_NAME(name);
#include "kernels.def"
cpu_fill_fn CPU_NAME(fill);

/* ISAs on top of AVX-512. */
#define CPU_KERNEL(type, slot, name)
#define CPU_KERNEL16(type, slot, name) cpu_##type##_fn cpu_##name##_amx;
#include "kernels.def"
cpu_round16_fn cpu_round16_avx512bf16;
cpu_matmul_fn cpu_gemm16_bf16_avx512bf16;
cpu_fill_fn cpu_fill_avx512bf16, cpu_fill_amx;

/* Plain C: one kernel for all types. */
cpu_matmul_fn cpu_matmul_scalar, cpu_matmul8_scalar;
cpu_embed_fn cpu_embed_scalar;

#endif
