/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the 8-bit GEMM: products of matrices of bytes (i8mm). A register is two rows of eight codes, two rows of W
 * by two of x; zip_panel prepares the panel, tiles are zipped as they are read.
 */
#ifndef CPU_VECTOR_NEON_I8MM_H
#define CPU_VECTOR_NEON_I8MM_H

#include "gemm_core.h"
#include "lanes.h"

CPU_INLINE int8x16_t load_bytes(const void *p)
{
    return vld1q_s8((const int8_t *)p);
}

CPU_INLINE int8x16_t zip(const int8x16_t a, const int8x16_t b, const int second)
{
    const int32x4_t v = vreinterpretq_s32_s8(a), w = vreinterpretq_s32_s8(b);
    return vreinterpretq_s8_s32(second ? vzip2q_s32(v, w) : vzip1q_s32(v, w));
}

void CPU_NAME(zip_panel)(struct gemm_panel *panel, size_t words)
{
    for (size_t c = 0; c < words; c += 2) {
        uint8_t *at = panel->codes + c * WORD_BYTES;
        int8x16_t pair[2 * VECTORS];
        for (size_t v = 0; v < VECTORS; v++) {
            const int8x16_t first = load_bytes(at + 16 * v), second = load_bytes(at + WORD_BYTES + 16 * v);
            pair[2 * v] = zip(first, second, 0);
            pair[2 * v + 1] = zip(first, second, 1);
        }
        for (size_t p = 0; p < 2 * VECTORS; p++)
            vst1q_s8((int8_t *)at + 16 * p, pair[p]);
    }
}

/* Sums products of `steps` words from `from` on. */
CPU_INLINE void products(const int center, const uint8_t *codes, const struct cpu_tile *x, const size_t part,
                         const size_t from, const size_t steps, vi acc[CPU_TILE_ROWS][VECTORS])
{
    const int64x2_t begin = vreinterpretq_s64_s32(vpaddlq_s16(vld1q_s16(x->minus[part][0].minus)) * center);
    int32x4_t square[2 * VECTORS][2];
    CPU_UNROLL
    for (size_t p = 0; p < 2 * VECTORS; p++) {
        square[p][0] = vreinterpretq_s32_s64(vdupq_laneq_s64(begin, 0));
        square[p][1] = vreinterpretq_s32_s64(vdupq_laneq_s64(begin, 1));
    }
    CPU_UNROLL
    for (size_t c = from; c < from + steps; c += 2) {
        const int8x16_t one = load_bytes(x->q[c]), two = load_bytes(x->q[c + 1]);
        const int8x16_t low = zip(one, two, 0), high = zip(one, two, 1);
        CPU_UNROLL
        for (size_t p = 0; p < 2 * VECTORS; p++) {
            const int8x16_t w = load_bytes(codes + c * WORD_BYTES + 16 * p);
            square[p][0] = vmmlaq_s32(square[p][0], w, low);
            square[p][1] = vmmlaq_s32(square[p][1], w, high);
        }
        CPU_UNROLL
        for (size_t p = 0; p < 2 * VECTORS; p += 2)
            fix_order((vi *)square + 2 * p);
    }
    CPU_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        CPU_UNROLL
        for (size_t h = 0; h < 2; h++) {
            acc[2 * h][v] = vuzp1q_s32(square[2 * v][h], square[2 * v + 1][h]);
            acc[2 * h + 1][v] = vuzp2q_s32(square[2 * v][h], square[2 * v + 1][h]);
        }
    }
}

#endif
