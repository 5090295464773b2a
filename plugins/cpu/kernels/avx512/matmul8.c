/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of quantized weights with activations rounded to 8 bits, AVX-512 with VNNI.
 *
 * Few rows of x (up to FEW4 or FEW8): 4 rows of W are read where they lie, two blocks at a time, each with up to two
 * rows of x. Bound: bytes of W. Many rows: vector/gemm.c. No speed is stated: measured on emulators only.
 */
#include "plugins/cpu/kernels/vector/four.h"

#define FEW4 4u
#define FEW8 4u

CPU_INLINE __m512i join(__m256i low, __m256i high)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Products of 64 digits with 64 of x, added up to 16 integers, the first 8 of the first block. */
CPU_INLINE __m512i dot64(const struct layout f, __m512i digits, __m512i x)
{
    const __m512i zero = _mm512_setzero_si512();
    if (f.bits == 4)
        return _mm512_dpbusd_epi32(zero, digits, x);
    __m512i turned = _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(digits), zero, x);
    return _mm512_dpbusd_epi32(zero, _mm512_abs_epi8(digits), turned);
}

/* Element r of each quarter of v, everywhere in it. */
CPU_INLINE __m512 spread(__m512 v, size_t r)
{
    switch (r) {
    case 0:
        return _mm512_permute_ps(v, 0x00);
    case 1:
        return _mm512_permute_ps(v, 0x55);
    case 2:
        return _mm512_permute_ps(v, 0xaa);
    default:
        return _mm512_permute_ps(v, 0xff);
    }
}

/* The rows of x that go with them, and their sums so far. */
struct few {
    const int8_t *q;
    const float *scale;
    const float *sum;
    size_t k;
    size_t blocks;
    __m512 acc[PAIR][4];
    __m128 offset[PAIR];
};

/* Adds one block's share of the offset of the digits, and gives the four scales. */
CPU_INLINE __m128 block_scales(const struct layout f, const struct four w, struct few *x, const size_t few, size_t b)
{
    __m128 d = four_halves(w.scales + scale_at(f, b), w.scales_stride);
    __m128 from = f.minimum ? four_halves(w.scales + b * f.block_bytes + 2, w.scales_stride) : d;
    CPU_UNROLL
    for (size_t r = 0; r < few; r++) {
        if (f.bits == 4)
            x->offset[r] = _mm_fmadd_ps(from, _mm_broadcast_ss(x->sum + r * x->blocks + b), x->offset[r]);
    }
    return d;
}

/* Blocks b and, if `second` (a constant), b + 1. */
CPU_INLINE void two_blocks(const struct layout f, const struct four w, struct few *x, const size_t few,
                           const int second, size_t b)
{
    const __m128 none = _mm_setzero_ps();
    __m128 d0 = block_scales(f, w, x, few, b), d1 = second ? block_scales(f, w, x, few, b + 1) : none;
    __m512i q[PAIR];
    __m512 scale[PAIR];
    CPU_UNROLL
    for (size_t r = 0; r < few; r++) {
        const int8_t *from = x->q + r * x->k + b * CPU_BLOCK;
        const float *scales = x->scale + r * x->blocks + b;
        __m256i low = _mm256_loadu_si256((const __m256i *)from);
        q[r] = join(low, second ? _mm256_loadu_si256((const __m256i *)(from + CPU_BLOCK)) : _mm256_setzero_si256());
        __m128 s0 = _mm_mul_ps(d0, _mm_broadcast_ss(scales)),
               s1 = second ? _mm_mul_ps(d1, _mm_broadcast_ss(scales + 1)) : none;
        scale[r] = _mm512_castsi512_ps(
            join(_mm256_castps_si256(_mm256_set_m128(s0, s0)), _mm256_castps_si256(_mm256_set_m128(s1, s1))));
    }
    CPU_UNROLL
    for (size_t j = 0; j < 4; j++) {
        const uint8_t *p = w.digits + j * w.digits_stride + b * f.block_bytes;
        __m512i digits = join(load_digits(f, p), second ? load_digits(f, p + f.block_bytes) : _mm256_setzero_si256());
        CPU_UNROLL
        for (size_t r = 0; r < few; r++) {
            __m512 dot = _mm512_cvtepi32_ps(dot64(f, digits, q[r]));
            x->acc[r][j] = _mm512_fmadd_ps(dot, spread(scale[r], j), x->acc[r][j]);
        }
    }
}

/* Four rows of W with `few` (a constant) rows of x from row i on; their sums for row r of x to sums[r][0 .. 3]. */
CPU_INLINE void dot_few(const struct layout f, const struct cpu_matmul *call, const struct four w, const size_t few,
                        size_t i, float *const *sums)
{
    const size_t blocks = call->k / CPU_BLOCK;
    struct few x = {call->x8.q + i * call->k, call->x8.scale + i * blocks, call->x8.sum + i * blocks, call->k, blocks,
                    {{_mm512_setzero_ps()}},  {_mm_setzero_ps()}};
    CPU_UNROLL
    for (size_t r = 0; r < few; r++) {
        x.offset[r] = _mm_setzero_ps();
        x.acc[r][0] = x.acc[r][1] = x.acc[r][2] = x.acc[r][3] = _mm512_setzero_ps();
    }
    /* The next four rows of W lie behind these: for each part of these as much of them. */
    const uint8_t *ahead = w.digits + 4 * w.digits_stride;
    size_t b = 0;
    for (; b + 2 <= blocks; b += 2) {
        ask_lines(ahead + 4 * b * f.block_bytes, 8 * f.block_bytes);
        two_blocks(f, w, &x, few, 1, b);
    }
    if (b < blocks)
        two_blocks(f, w, &x, few, 0, b);
    CPU_UNROLL
    for (size_t r = 0; r < few; r++) {
        float offset[4];
        _mm_storeu_ps(offset, x.offset[r]);
        CPU_UNROLL
        for (size_t j = 0; j < 4; j++)
            sums[r][j] = _mm512_reduce_add_ps(x.acc[r][j]) + offset[j] * (f.minimum     ? 1.0f
                                                                          : f.bits == 4 ? -8.0f
                                                                                        : 0.0f);
    }
}

#include "plugins/cpu/kernels/vector/few_rows.h"
