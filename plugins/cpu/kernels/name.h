/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the kernels: CPU_NAME appends the ISA for which a file is compiled to a function's name. */
#ifndef CPU_KERNELS_NAME_H
#define CPU_KERNELS_NAME_H

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
