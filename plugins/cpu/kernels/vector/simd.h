/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of the x86 levels: the processor's own, or, under SIMD_EMULATE, stand-ins, so that the same kernels
 * are tested on machines without them.
 */
#ifndef CPU_VECTOR_SIMD_H
#define CPU_VECTOR_SIMD_H

#ifdef SIMD_EMULATE
#include "simd_emulated.h"
#else
#include <immintrin.h>
#endif

#endif
