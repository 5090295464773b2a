/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the kernels: the declaration of every function that kernels.def lists. */
#ifndef CPU_KERNELS_DECLARE_H
#define CPU_KERNELS_DECLARE_H

#include "kernels.h"

#define CPU_KERNEL_SCALAR(type, place, name, tile) cpu_##type##_fn cpu_##name##_scalar;
#define CPU_KERNEL_AVX2(type, place, name, tile) cpu_##type##_fn cpu_##name##_avx2;
#define CPU_KERNEL_AVX512(type, place, name, tile) cpu_##type##_fn cpu_##name##_avx512;
#include "kernels.def"

#endif
