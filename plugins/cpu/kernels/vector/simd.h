/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of the x86 ISAs: the processor's own, or, under SIMD_EMULATE, replacements, so that the kernels can be
 * tested on other machines.
 */
#ifndef CPU_VECTOR_SIMD_H
#define CPU_VECTOR_SIMD_H

#ifdef SIMD_EMULATE
#include "simd_emulated.h"
#else
#include <immintrin.h>
#endif

#endif
