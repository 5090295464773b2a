/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SIMD_FLUSH_H
#define KERNELS_SIMD_FLUSH_H

/* Subnormal numbers count as zeros for BF16 instructions. */
static inline __attribute__((unused)) float simd_flush(float x)
{
    return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x;
}

#endif
