/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of codes of 4 and 8 bits with act_q8, aarch64: each pass reads 4 rows of W in place, block by block, and
 * multiplies them with PAIR rows of x. The integer sums of a block of the 4 rows are reduced to one vector, which one
 * multiply-add scales. Bound: bytes of W. Not measured: tested on an emulator only.
 */
#include "plugins/cpu/kernels/vector/row4.h"

#define ROWS 4u

/* Rows of act_q8, and their products with the 4 rows of W so far. `offset` sums minimum (or scale) times sum of x. */
struct act_rows {
    const int8_t *q;
    const float *scale;
    const float *sum;
    size_t k;
    size_t blocks;
    float32x4_t acc[PAIR];
    float32x4_t offset[PAIR];
};

CPU_INLINE void add_block(const struct block32 f, const struct row4 w, struct act_rows *x, const size_t rows, size_t b)
{
    const uint8_t *p = w.codes + b * f.block_bytes;
    const float32x4_t d = load_halves4(w.scales + scale_at(f, b), w.scales_stride);
    /* 4-bit codes: the minimum of q4_1; else the scale, which dot_row4 multiplies with the zero point. */
    const float32x4_t minimum = f.minimum ? load_halves4(w.scales + b * f.block_bytes + 2, w.scales_stride) : d;
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
        if (is_unsigned(f))
            x->offset[r] = vfmaq_f32(x->offset[r], minimum, vdupq_n_f32(x->sum[r * x->blocks + b]));
    }
}

/* Multiplies four rows of W with rows i .. i + rows of x (`rows` is a constant) to sums[r][0 .. 3]. */
CPU_INLINE void dot_row4(const struct block32 f, const struct cpu_matmul *call, const struct row4 w, const size_t rows,
                         size_t i, float *const *sums)
{
    const size_t blocks = call->k / CPU_BLOCK;
    struct act_rows x = {.q = call->act_q8.q + i * call->k,
                         .scale = call->act_q8.scale + i * blocks,
                         .sum = call->act_q8.sum + i * blocks,
                         .k = call->k,
                         .blocks = blocks};
    /* The next four rows of W follow these; each block prefetches as many bytes as it reads. */
    const uint8_t *ahead = w.codes + 4 * w.codes_stride;
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        x.acc[r] = x.offset[r] = vdupq_n_f32(0);
    for (size_t b = 0; b < blocks; b++) {
        prefetch_lines(ahead + 4 * b * f.block_bytes, 4 * f.block_bytes);
        add_block(f, w, &x, rows, b);
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        vst1q_f32(sums[r], vfmaq_f32(x.acc[r], x.offset[r], vdupq_n_f32(offset_factor(f))));
    }
}

#include "plugins/cpu/kernels/vector/gemv_row4.h"
