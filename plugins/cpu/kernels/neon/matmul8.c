/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of quantized weights with activations rounded to 8 bits, aarch64.
 *
 * Few rows of x (up to FEW): 4 rows of W are read where they lie, a block at a time, with two rows of x; the sums of
 * the four rows end in one vector, which one multiply-add scales. Bound: bytes of W. Many rows: vector/gemm.c. No speed
 * is stated: run on an emulator only.
 */
#include "plugins/cpu/kernels/vector/finish.h"
#include "plugins/cpu/kernels/vector/gemm.h"
#include "plugins/cpu/kernels/vector/gemv.h"

#define FEW 4u
#define PAIR 2u
#define COLUMNS 16u /* of y whose sums are kept until they are finished together */

/* 32 digits in two registers: 4 bits as 0 .. 15, 8 bits with their sign. */
CPU_INLINE __m256i load_digits(const struct layout f, const uint8_t *p)
{
    const uint8x16_t first = vld1q_u8(p);
    if (f.bits == 4)
        return (__m256i){vreinterpretq_s8_u8(first & 15), vreinterpretq_s8_u8(first >> 4)};
    const uint8x16_t second = vld1q_u8(p + 16);
    const uint8_t flip = f.planar ? 0x80 : 0;
    return (__m256i){vreinterpretq_s8_u8(first ^ flip), vreinterpretq_s8_u8(second ^ flip)};
}

/* The halves `stride` bytes apart. */
CPU_INLINE float32x4_t four_halves(const uint8_t *p, size_t stride)
{
    uint16x4_t h = vld1_dup_u16((const uint16_t *)(const void *)p);
    h = vld1_lane_u16((const uint16_t *)(const void *)(p + stride), h, 1);
    h = vld1_lane_u16((const uint16_t *)(const void *)(p + 2 * stride), h, 2);
    h = vld1_lane_u16((const uint16_t *)(const void *)(p + 3 * stride), h, 3);
    return vcvt_f32_f16(vreinterpret_f16_u16(h));
}

/* Four rows of W: the first, and bytes from one to the next (0: the same row four times). */
struct four {
    const uint8_t *digits;
    const uint8_t *scales;
    size_t digits_stride;
    size_t scales_stride;
};

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

/* Up to FEW rows of x, two at a time: the four rows of W come from the first cache for the second pair. */
CPU_INLINE void matmul_few(const struct layout f, const struct cpu_matmul *call, size_t i, size_t rows, size_t begin,
                           size_t end)
{
    for (size_t j = begin; j < end; j += COLUMNS) {
        float sums[FEW][COLUMNS + 4];
        const size_t count = least(COLUMNS, end - j);
        for (size_t at = 0; at < count; at += count - at < 4 ? 1 : 4) {
            const int whole = count - at >= 4;
            const struct four w = {digits_of(f, &call->w, j + at), scales_of(f, &call->w, j + at),
                                   whole ? call->w.stride[0] : 0, whole ? call->w.stride[f.planar] : 0};
            size_t r = 0;
            for (; r + PAIR <= rows; r += PAIR)
                dot_few(f, call, w, PAIR, i + r, (float *[]){sums[r] + at, sums[r + 1] + at});
            if (r < rows)
                dot_few(f, call, w, 1, i + r, (float *[]){sums[r] + at});
        }
        for (size_t r = 0; r < rows; r++)
            finish_row(call, i + r, j, count, sums[r]);
    }
}

CPU_INLINE void matmul8(const struct layout f, uint32_t type, const struct cpu_matmul *call, size_t begin, size_t end)
{
    if (begin >= end || (call->m > FEW && call->x8.tiles != NULL && CPU_NAME(gemm8)(call, type, begin, end)))
        return;
    for (size_t i = 0; i < call->m; i += FEW)
        matmul_few(f, call, i, least(FEW, call->m - i), begin, end);
}

#define MATMUL8(name, type)                                                                                            \
    void CPU_NAME(matmul8_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                             \
    {                                                                                                                  \
        matmul8(layout_##name, type, call, begin, end);                                                                \
    }

MATMUL8(q8_0, ACCEL_Q8_0)
MATMUL8(q4_0, ACCEL_Q4_0)
MATMUL8(q4_1, ACCEL_Q4_1)
MATMUL8(q8_g32, ACCEL_Q8_G32)
MATMUL8(q8_g128, ACCEL_Q8_G128)
MATMUL8(q4_g32, ACCEL_Q4_G32)
MATMUL8(q4_g128, ACCEL_Q4_G128)
