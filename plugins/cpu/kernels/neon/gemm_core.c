/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8-bit GEMM cores, aarch64: 16 rows of W (four vectors of 4 codes of 4 rows) with 4 rows of x, 16 sums in registers. A
 * vector of the tile holds 4 codes of each of its rows, so that a load of x serves 16 products by lane. With matrix
 * products (i8mm) a register is two rows of eight codes, two rows of W by two of x; zip_panel prepares the panel, tiles
 * are zipped as they are read. Codes are signed bytes with zero point `center`. Bound: operations. No speed is stated:
 * tested on an emulator only.
 */
#include "plugins/cpu/kernels/vector/gemm_core.h"

#define ROWS CPU_TILE_ROWS
#define VECTORS 4u /* vectors of rows of W */

/* Returns -`center` times the sums of four rows of x. */
CPU_INLINE int32x4_t begin_of(const int center, const struct cpu_tile *x, size_t part)
{
    return center ? vpaddlq_s16(vld1q_s16(x->minus[part][0].minus)) * center : vdupq_n_s32(0);
}

CPU_INLINE int8x16_t load_codes(const void *p)
{
    return vld1q_s8((const int8_t *)p);
}

/* Forbids reordering of the sums: the compiler would load all codes first, and spill them. */
CPU_INLINE void fix_order(int32x4_t *acc)
{
    __asm__ volatile("" : "+w"(acc[0]), "+w"(acc[1]), "+w"(acc[2]), "+w"(acc[3]));
}

#ifdef __ARM_FEATURE_MATMUL_INT8

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
            const int8x16_t first = load_codes(at + 16 * v), second = load_codes(at + WORD_BYTES + 16 * v);
            pair[2 * v] = zip(first, second, 0);
            pair[2 * v + 1] = zip(first, second, 1);
        }
        for (size_t p = 0; p < 2 * VECTORS; p++)
            vst1q_s8((int8_t *)at + 16 * p, pair[p]);
    }
}

/* Sums products of `steps` words from `from` on. */
CPU_INLINE void products(const int center, const uint8_t *codes, const struct cpu_tile *x, const size_t part,
                         const size_t from, const size_t steps, int32x4_t acc[ROWS][VECTORS])
{
    const int64x2_t begin = vreinterpretq_s64_s32(begin_of(center, x, part));
    int32x4_t square[2 * VECTORS][2];
    CPU_UNROLL
    for (size_t p = 0; p < 2 * VECTORS; p++) {
        square[p][0] = vreinterpretq_s32_s64(vdupq_laneq_s64(begin, 0));
        square[p][1] = vreinterpretq_s32_s64(vdupq_laneq_s64(begin, 1));
    }
    CPU_UNROLL
    for (size_t c = from; c < from + steps; c += 2) {
        const int8x16_t one = load_codes(x->q[c]), two = load_codes(x->q[c + 1]);
        const int8x16_t low = zip(one, two, 0), high = zip(one, two, 1);
        CPU_UNROLL
        for (size_t p = 0; p < 2 * VECTORS; p++) {
            const int8x16_t w = load_codes(codes + c * WORD_BYTES + 16 * p);
            square[p][0] = vmmlaq_s32(square[p][0], w, low);
            square[p][1] = vmmlaq_s32(square[p][1], w, high);
        }
        CPU_UNROLL
        for (size_t p = 0; p < 2 * VECTORS; p += 2)
            fix_order((int32x4_t *)square + 2 * p);
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

#else

CPU_INLINE void products(const int center, const uint8_t *codes, const struct cpu_tile *x, const size_t part,
                         const size_t from, const size_t steps, int32x4_t acc[ROWS][VECTORS])
{
    const int32x4_t begin = begin_of(center, x, part);
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++) {
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            acc[r][v] = vdupq_n_s32(begin[r]);
    }
    CPU_UNROLL
    for (size_t c = from; c < from + steps; c++) {
        const int8x16_t four = load_codes(x->q[c]);
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const int8x16_t w = load_codes(codes + c * WORD_BYTES + 16 * v);
            CPU_UNROLL
            for (size_t r = 0; r < ROWS; r++)
                acc[r][v] = dot_lane(acc[r][v], w, four, r);
        }
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++)
            fix_order(acc[r]);
    }
}

#endif

/* Adds integer sums * scales of x * scales `d` of the 16 rows. */
CPU_INLINE void add_scaled(int32x4_t acc[ROWS][VECTORS], const float *scale, const float *d, float (*sums)[PANEL_ROWS])
{
    const float32x4_t scales = vld1q_f32(scale);
    CPU_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        const float32x4_t factor = vld1q_f32(d + 4 * v);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            float *sum = sums[r] + 4 * v;
            vst1q_f32(sum, vfmaq_f32(vld1q_f32(sum), vcvtq_f32_s32(acc[r][v]) * factor, vdupq_n_f32(scales[r])));
        }
    }
}

/* A scale per 32 codes. */
CPU_INLINE void core_narrow(const int center, const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                            float (*sums)[PANEL_ROWS])
{
    for (size_t b = 0; b < count; b++) {
        int32x4_t acc[ROWS][VECTORS];
        products(center, panel->codes + b * BLOCK_BYTES, x + b, 0, 0, 8, acc);
        add_scaled(acc, x[b].scale, panel->d[b], sums);
    }
}

/* An integer scale per 32 codes, or two, and a scale per 256. */
CPU_INLINE void core_super(const int center, const int fine, const struct gemm_panel *panel, const struct cpu_tile *x,
                           size_t count, float (*sums)[PANEL_ROWS])
{
    for (size_t at = 0; at < count; at += 8) {
        float part[ROWS][PANEL_ROWS] = {{0}};
        for (size_t b = at; b < at + 8; b++) {
            const uint8_t *codes = panel->codes + b * BLOCK_BYTES;
            int32x4_t acc[ROWS][VECTORS];
            products(center, codes, x + b, fine ? 1 : 0, 0, fine ? 4 : 8, acc);
            add_scaled(acc, x[b].scale, panel->factor[b][0], part);
            if (!fine)
                continue;
            products(center, codes, x + b, 2, 4, 4, acc);
            add_scaled(acc, x[b].scale, panel->factor[b][1], part);
        }
        for (size_t r = 0; r < ROWS; r++) {
            CPU_UNROLL
            for (size_t i = 0; i < PANEL_ROWS; i += 4) {
                const float32x4_t d = vld1q_f32(panel->d[at / 8] + i), more = vld1q_f32(part[r] + i);
                vst1q_f32(sums[r] + i, vfmaq_f32(vld1q_f32(sums[r] + i), more, d));
            }
        }
    }
}

#include "plugins/cpu/kernels/vector/core_list.h"

CORE(core_wide, core_narrow(0, panel, x, count, sums))
