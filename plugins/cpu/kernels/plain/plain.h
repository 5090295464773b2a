/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to plain/: operators in plain C, which the compiler turns into the vector instructions of the ISA that it
 * compiles for. Loops over neighbouring elements have no other dependence; sums are taken in lanes (sum_of).
 */
#ifndef CPU_PLAIN_H
#define CPU_PLAIN_H

#include "plugins/cpu/kernels/declare.h"

#include <accel/driver/kernel.h>
#include <math.h>
#include <string.h>

#if !defined(CPU_BUILD_SCALAR) && !defined(SIMD_EMULATE) && !defined(__clang__)
#pragma GCC optimize "O3"
#endif

/* Before loops whose output may lie over an input, element on element. */
#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH _Pragma("GCC ivdep")
#endif

/* Elements that loops over neighbours take together. */
#define LANES 64u

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
