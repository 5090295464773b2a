/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of quantized weights with activations rounded to 8 bits, AVX2.
 *
 * Few rows of x (up to FEW4 or FEW8): 4 rows of W are read where they lie, one or two blocks at a time, with two rows
 * of x; the sums of a block are exact integers, scaled in float. Bound: bytes of W. Many rows: vector/gemm.c.
 *
 * Measured on one core of a shared Zen 3 server, 2048 x 2048: one row of x 18.9 GB/s of Q4_0 and 31 GB/s of Q8_0 from
 * the second cache, above what a core reads from memory (11 to 17 GB/s). From memory, beside a plain read in the same
 * run on one core that others disturbed: Q4_0 100 %, Q8_0 99 %; 79 % where each row asked for its own lines far ahead
 * instead of for those of the next four rows in their order.
 */
#include "plugins/cpu/kernels/vector/four.h"

#define FEW4 2u /* measured */
#define FEW8 6u

/* Products of 32 digits with 32 of x, added up to 8 integers. */
CPU_INLINE __m256i dot32(const struct layout f, __m256i digits, __m256i x)
{
    return f.bits == 4 ? dot32u(digits, x) : dot32s(digits, x);
}

/* Element r of each half of v, everywhere. */
CPU_INLINE __m256 spread(__m256 v, size_t r)
{
    switch (r) {
    case 0:
        return _mm256_permute_ps(v, 0x00);
    case 1:
        return _mm256_permute_ps(v, 0x55);
    case 2:
        return _mm256_permute_ps(v, 0xaa);
    default:
        return _mm256_permute_ps(v, 0xff);
    }
}

/* Sums of 8 lanes of each of 4 vectors. */
CPU_INLINE __m128 sum4(const __m256 v[4])
{
    __m256 a = _mm256_hadd_ps(v[0], v[1]), b = _mm256_hadd_ps(v[2], v[3]), c = _mm256_hadd_ps(a, b);
    return _mm_add_ps(_mm256_castps256_ps128(c), _mm256_extractf128_ps(c, 1));
}

/* What is summed up over the blocks: 4 rows of W with up to PAIR rows of x. */
struct few {
    const int8_t *q;
    const float *scale;
    const float *sum;
    size_t k;
    size_t blocks;
    __m256 acc[PAIR][4];
    __m256 offset[PAIR]; /* rows of W in both halves */
};

/* One block. */
CPU_INLINE void one_block(const struct layout f, const struct four w, struct few *x, const size_t few, size_t b)
{
    const uint8_t *digits = w.digits + b * f.block_bytes;
    const __m128 d = four_halves(w.scales + scale_at(f, b), w.scales_stride);
    const __m128 from = f.minimum ? four_halves(w.scales + b * f.block_bytes + 2, w.scales_stride) : d;
    __m256i q[PAIR];
    __m256 scale[PAIR];
    CPU_UNROLL
    for (size_t r = 0; r < few; r++) {
        __m128 s = _mm_mul_ps(d, _mm_broadcast_ss(x->scale + r * x->blocks + b));
        scale[r] = _mm256_set_m128(s, s);
        q[r] = _mm256_loadu_si256((const __m256i *)(x->q + r * x->k + b * CPU_BLOCK));
        if (f.bits == 4) {
            __m128 offset = _mm_mul_ps(from, _mm_broadcast_ss(x->sum + r * x->blocks + b));
            x->offset[r] = _mm256_add_ps(x->offset[r], _mm256_set_m128(_mm_setzero_ps(), offset));
        }
    }
    CPU_UNROLL
    for (size_t j = 0; j < 4; j++) {
        __m256i row = load_digits(f, digits + j * w.digits_stride);
        CPU_UNROLL
        for (size_t r = 0; r < few; r++) {
            __m256 dot = _mm256_cvtepi32_ps(dot32(f, row, q[r]));
            x->acc[r][j] = _mm256_fmadd_ps(dot, spread(scale[r], j), x->acc[r][j]);
        }
    }
}

/* p[0] in the low half, p[1] in the high. */
CPU_INLINE __m256 halves_of(const float *p)
{
    double both;
    memcpy(&both, p, sizeof(both));
    __m256 v = _mm256_castpd_ps(_mm256_set1_pd(both));
    return _mm256_permutevar_ps(v, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
}

CPU_INLINE __m256i two_runs(const void *low, const void *high)
{
    __m256i v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low));
    return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)high), 1);
}

/*
 * Two blocks of 4-bit digits, one in each half of a vector, so that the steps after the products are shared: the low
 * digits of both meet the first 16 of x of both, the high digits the other 16; four products fit 16 bits.
 */
CPU_INLINE void two_blocks4(const struct layout f, const struct four w, struct few *x, const size_t few, size_t b)
{
    const __m256i low = _mm256_set1_epi8(15);
    const size_t at = scale_at(f, b), next = scale_at(f, b + 1);
    const __m256 d =
        _mm256_set_m128(four_halves(w.scales + next, w.scales_stride), four_halves(w.scales + at, w.scales_stride));
    __m256 from = d;
    if (f.minimum)
        from = _mm256_set_m128(four_halves(w.scales + next + 2, w.scales_stride),
                               four_halves(w.scales + at + 2, w.scales_stride));
    __m256i first[PAIR], second[PAIR];
    __m256 scale[PAIR];
    CPU_UNROLL
    for (size_t r = 0; r < few; r++) {
        const int8_t *q = x->q + r * x->k + b * CPU_BLOCK;
        first[r] = two_runs(q, q + CPU_BLOCK);
        second[r] = two_runs(q + 16, q + CPU_BLOCK + 16);
        scale[r] = _mm256_mul_ps(d, halves_of(x->scale + r * x->blocks + b));
        x->offset[r] = _mm256_fmadd_ps(from, halves_of(x->sum + r * x->blocks + b), x->offset[r]);
    }
    CPU_UNROLL
    for (size_t j = 0; j < 4; j++) {
        const uint8_t *p = w.digits + j * w.digits_stride + b * f.block_bytes;
        __m256i both = two_runs(p, p + f.block_bytes);
        __m256i lows = _mm256_and_si256(both, low), highs = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
        CPU_UNROLL
        for (size_t r = 0; r < few; r++) {
            __m256 dot = _mm256_cvtepi32_ps(dot64u(lows, first[r], highs, second[r]));
            x->acc[r][j] = _mm256_fmadd_ps(dot, spread(scale[r], j), x->acc[r][j]);
        }
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
    size_t b = 0;
    CPU_UNROLL
    for (size_t r = 0; r < few; r++)
        x.offset[r] = x.acc[r][0] = x.acc[r][1] = x.acc[r][2] = x.acc[r][3] = _mm256_setzero_ps();
    for (; f.bits == 4 && b + 2 <= blocks; b += 2) {
        ask_lines(ahead + 4 * b * f.block_bytes, 8 * f.block_bytes);
        two_blocks4(f, w, &x, few, b);
    }
    for (; b < blocks; b++) {
        ask_lines(ahead + 4 * b * f.block_bytes, 4 * f.block_bytes);
        one_block(f, w, &x, few, b);
    }
    CPU_UNROLL
    for (size_t r = 0; r < few; r++) {
        __m128 factor = _mm_set1_ps(f.minimum ? 1.0f : f.bits == 4 ? -8.0f : 0.0f);
        __m128 offset = _mm_add_ps(_mm256_castps256_ps128(x.offset[r]), _mm256_extractf128_ps(x.offset[r], 1));
        _mm_storeu_ps(sums[r], _mm_fmadd_ps(factor, offset, sum4(x.acc[r])));
    }
}

#include "plugins/cpu/kernels/vector/few_rows.h"
