/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of quantized weights with activations rounded to 8 bits, aarch64.
 *
 * Few rows of x (up to FEW4 or FEW8): 4 rows of W are read where they lie, a block at a time, with two rows of x; the
 * sums of the four rows end in one vector, which one multiply-add scales. Bound: bytes of W. Many rows: vector/gemm.c.
 * No speed is stated: run on an emulator only.
 */
#include "plugins/cpu/kernels/vector/four.h"

#define FEW4 4u
#define FEW8 4u

/* The rows of x that go with them, and their sums so far. */
struct few {
    const int8_t *q;
    const float *scale;
    const float *sum;
    size_t k;
    size_t blocks;
    float32x4_t acc[PAIR];
    float32x4_t offset[PAIR];
};

CPU_INLINE void one_block(const struct layout f, const struct four w, struct few *x, const size_t few, size_t b)
{
    const uint8_t *p = w.digits + b * f.block_bytes;
    const float32x4_t d = four_halves(w.scales + scale_at(f, b), w.scales_stride);
    const float32x4_t from = f.minimum ? four_halves(w.scales + b * f.block_bytes + 2, w.scales_stride) : d;
    __m256i row[4];
    CPU_UNROLL
    for (size_t j = 0; j < 4; j++)
        row[j] = load_digits(f, p + j * w.digits_stride);
    CPU_UNROLL
    for (size_t r = 0; r < few; r++) {
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

/* Four rows of W with `few` (a constant) rows of x from row i on; their sums for row r of x to sums[r][0 .. 3]. */
CPU_INLINE void dot_few(const struct layout f, const struct cpu_matmul *call, const struct four w, const size_t few,
                        size_t i, float *const *sums)
{
    const size_t blocks = call->k / CPU_BLOCK;
    struct few x = {.q = call->x8.q + i * call->k,
                    .scale = call->x8.scale + i * blocks,
                    .sum = call->x8.sum + i * blocks,
                    .k = call->k,
                    .blocks = blocks};
    /* The next four rows of W lie behind these: for each part of these as much of them. */
    const uint8_t *ahead = w.digits + 4 * w.digits_stride;
    CPU_UNROLL
    for (size_t r = 0; r < few; r++)
        x.acc[r] = x.offset[r] = vdupq_n_f32(0);
    for (size_t b = 0; b < blocks; b++) {
        ask_lines(ahead + 4 * b * f.block_bytes, 4 * f.block_bytes);
        one_block(f, w, &x, few, b);
    }
    CPU_UNROLL
    for (size_t r = 0; r < few; r++) {
        const float factor = f.minimum ? 1.0f : f.bits == 4 ? -8.0f : 0.0f;
        vst1q_f32(sums[r], vfmaq_f32(x.acc[r], x.offset[r], vdupq_n_f32(factor)));
    }
}

#include "plugins/cpu/kernels/vector/few_rows.h"
