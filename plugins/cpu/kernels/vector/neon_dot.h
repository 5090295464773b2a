/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the aarch64 kernels: dot products of bytes with the instructions of each ISA. */
#ifndef CPU_NEON_DOT_H
#define CPU_NEON_DOT_H

#include "plugins/cpu/kernels/vector/traits.h"

#include <arm_neon.h>

/* Adds four products of signed bytes to each of four integers. */
CPU_INLINE int32x4_t dot16(int32x4_t sums, int8x16_t a, int8x16_t b)
{
#ifdef __ARM_FEATURE_DOTPROD
    return vdotq_s32(sums, a, b);
#else
    /* Two products of up to 128 * 127 fit 16 bits. */
    const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b)), high = vmull_high_s8(a, b);
    return vpadalq_s16(sums, vpaddq_s16(low, high));
#endif
}

/* Adds products of each word of w with word `lane` (a constant) of x. */
CPU_INLINE int32x4_t dot_lane(int32x4_t sums, int8x16_t w, int8x16_t x, const size_t lane)
{
#ifdef __ARM_FEATURE_DOTPROD
    switch (lane) {
    case 0:
        return vdotq_laneq_s32(sums, w, x, 0);
    case 1:
        return vdotq_laneq_s32(sums, w, x, 1);
    case 2:
        return vdotq_laneq_s32(sums, w, x, 2);
    default:
        return vdotq_laneq_s32(sums, w, x, 3);
    }
#else
    const int32x4_t words = vreinterpretq_s32_s8(x);
    return dot16(sums, w, vreinterpretq_s8_s32(vdupq_n_s32(words[lane])));
#endif
}

#endif
