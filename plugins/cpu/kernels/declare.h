/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the kernels: the declaration of every function that kernels.def lists. */
#ifndef CPU_KERNELS_DECLARE_H
#define CPU_KERNELS_DECLARE_H

#include "kernels.h"

#define CPU_KERNEL(type, place, name)                                                                                  \
    cpu_##type##_fn cpu_##name##_scalar, cpu_##name##_avx2, cpu_##name##_avxvnni, cpu_##name##_avx512,                 \
        cpu_##name##_neon, cpu_##name##_dotprod, cpu_##name##_i8mm;
#include "kernels.def"

#endif
