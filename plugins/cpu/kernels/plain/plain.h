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

/* Returns a * b + c, with one rounding where the ISA has such an instruction. For sums of two products, of which the
 * compiler would choose the one that is rounded. */
static inline float add_product(float a, float b, float c)
{
#if defined(__FP_FAST_FMAF)
    return fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
