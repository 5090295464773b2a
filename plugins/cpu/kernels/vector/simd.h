/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of the x86 ISAs: the processor's own, or, under SIMD_EMULATE, replacements of the tests, so that the
 * kernels can be tested on other machines.
 */
#ifndef CPU_VECTOR_SIMD_H
#define CPU_VECTOR_SIMD_H

#ifdef SIMD_EMULATE
#include "simd_emulated.h"
#else
#include <immintrin.h>
/* The instruction of AVX-VNNI in the encoding of AVX-512, for tests on processors that have this one alone. */
#ifdef EMULATE_AVXVNNI
#undef _mm256_dpbusd_avx_epi32
#define _mm256_dpbusd_avx_epi32(sums, a, b) _mm256_dpbusd_epi32(sums, a, b)
#endif
#endif

#endif
