/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of codes of 4 and 8 bits with act_q8, aarch64: each pass reads 4 rows of W in place, block by block, and
 * multiplies them with PAIR rows of x. The integer sums of a block of the 4 rows are reduced to one vector, which one
 * multiply-add scales. Bound: bytes of W. Not measured: tested on an emulator only.
 */
#include "plugins/cpu/kernels/vector/row4.h"

#define ROWS 4u
#define APART_BYTES SIZE_MAX

struct row4_sums {
    float32x4_t acc[PAIR];
    float32x4_t offset[PAIR]; /* minimum (or scale) times sum of x */
};

CPU_INLINE struct row4_sums zero_sums(void)
{
    return (struct row4_sums){{{0}}, {{0}}};
}

CPU_INLINE size_t step_blocks(const struct block32 f)
{
    (void)f;
    return 1;
}

CPU_INLINE void add_step(const struct block32 f, const struct row4 w, const struct act_rows *x, const size_t rows,
                         const size_t count, size_t b, struct row4_sums *sums)
{
    (void)count;
    const uint8_t *p = w.codes + b * f.block_bytes;
    const float32x4_t d = load_halves4(w.scales + scale_at(f, b), w.scales_stride);
    /* 4-bit codes: the minimum of q4_1; else the scale, which store_sums multiplies with the zero point. */
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
        const int32x4_t four = vpaddq_s32(vpaddq_s32(dot[0], dot[1]), vpaddq_s32(dot[2], dot[3]));
        sums->acc[r] = vfmaq_f32(sums->acc[r], vcvtq_f32_s32(four), d * x->scale[r * x->blocks + b]);
        if (is_unsigned(f))
            sums->offset[r] = vfmaq_f32(sums->offset[r], minimum, vdupq_n_f32(x->sum[r * x->blocks + b]));
    }
}

CPU_INLINE void store_sums(const struct block32 f, const size_t rows, const struct row4_sums *sums, float *const *out)
{
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        vst1q_f32(out[r], vfmaq_f32(sums->acc[r], sums->offset[r], vdupq_n_f32(offset_factor(f))));
}

#include "plugins/cpu/kernels/vector/gemv_row4.h"
