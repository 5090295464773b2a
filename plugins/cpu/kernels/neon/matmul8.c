/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of quantized weights with act_q8, aarch64.
 *
 * GEMV (up to ROW4_MOST4 or ROW4_MOST8 rows of x): 4 rows of W are read in place, a block at a time, with two rows of
 * x; the sums of the four rows end in one vector, which one multiply-add scales. Bound: bytes of W. GEMM:
 * vector/gemm.c. No speed is stated: tested on an emulator only.
 */
#include "plugins/cpu/kernels/vector/row4.h"

#define ROW4_MOST4 4u
#define ROW4_MOST8 4u

/* Rows of act_q8 and their sums so far. */
struct act_rows {
    const int8_t *q;
    const float *scale;
    const float *sum;
    size_t k;
    size_t blocks;
    float32x4_t acc[PAIR];
    float32x4_t offset[PAIR];
};

CPU_INLINE void one_block(const struct block32 f, const struct row4 w, struct act_rows *x, const size_t rows, size_t b)
{
    const uint8_t *p = w.codes + b * f.block_bytes;
    const float32x4_t d = load_halves4(w.scales + scale_at(f, b), w.scales_stride);
    const float32x4_t from = f.minimum ? load_halves4(w.scales + b * f.block_bytes + 2, w.scales_stride) : d;
    __m256i row[4];
    CPU_UNROLL
    for (size_t j = 0; j < 4; j++)
        row[j] = load_codes(f, p + j * w.codes_stride);
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m256i q = load32(x->q + r * x->k + b * CPU_BLOCK);
        int32x4_t dot[4];
        CPU_UNROLL
        for (size_t j = 0; j < 4; j++)
            dot[j] = dot16(dot16(vdupq_n_s32(0), row[j].a, q.a), row[j].b, q.b);
        const int32x4_t sums = vpaddq_s32(vpaddq_s32(dot[0], dot[1]), vpaddq_s32(dot[2], dot[3]));
        x->acc[r] = vfmaq_f32(x->acc[r], vcvtq_f32_s32(sums), d * x->scale[r * x->blocks + b]);
        if (f.bits == 4)
            x->offset[r] = vfmaq_f32(x->offset[r], from, vdupq_n_f32(x->sum[r * x->blocks + b]));
    }
}

/* Multiplies four rows of W with `rows` (a constant) rows of x from row i on; sums of row r of x go to sums[r][0 .. 3].
 */
CPU_INLINE void dot_row4(const struct block32 f, const struct cpu_matmul *call, const struct row4 w, const size_t rows,
                         size_t i, float *const *sums)
{
    const size_t blocks = call->k / CPU_BLOCK;
    struct act_rows x = {.q = call->act_q8.q + i * call->k,
                         .scale = call->act_q8.scale + i * blocks,
                         .sum = call->act_q8.sum + i * blocks,
                         .k = call->k,
                         .blocks = blocks};
    /* Prefetches the next four rows of W, which follow these, in proportion. */
    const uint8_t *ahead = w.codes + 4 * w.codes_stride;
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        x.acc[r] = x.offset[r] = vdupq_n_f32(0);
    for (size_t b = 0; b < blocks; b++) {
        prefetch_lines(ahead + 4 * b * f.block_bytes, 4 * f.block_bytes);
        one_block(f, w, &x, rows, b);
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const float factor = f.minimum ? 1.0f : f.bits == 4 ? -8.0f : 0.0f;
        vst1q_f32(sums[r], vfmaq_f32(x.acc[r], x.offset[r], vdupq_n_f32(factor)));
    }
}

#include "plugins/cpu/kernels/vector/gemv_row4.h"
