/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of blocks of 32 codes of 4, 5 and 8 bits with act_q8, AVX2: 4 rows of W are read in place, one or two blocks at
 * a time, with two rows of x; the sums of a block are exact integers, scaled in float. AVX-512 uses it for the types
 * that are unpacked. Bound: bytes of W. Measured: doc/benchmark.md, rows in place.
 */
#include "plugins/cpu/kernels/vector/row4.h"

#define ROWS 6u
#define APART_BYTES 3072u
#if defined(CPU_BUILD_AVX512)
#define ROW4_UNPACKED_ALONE /* the others: avx512/matmul8.c */
#endif

/* Broadcasts element r of each half of v within the half. */
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

/* Sums 8 lanes of each of 4 vectors. */
CPU_INLINE __m128 sum4(const __m256 v[4])
{
    __m256 a = _mm256_hadd_ps(v[0], v[1]), b = _mm256_hadd_ps(v[2], v[3]), c = _mm256_hadd_ps(a, b);
    return _mm_add_ps(_mm256_castps256_ps128(c), _mm256_extractf128_ps(c, 1));
}

struct row4_sums {
    __m256 acc[PAIR][4];
    __m256 offset[PAIR]; /* rows of W, in both halves */
};

CPU_INLINE struct row4_sums zero_sums(void)
{
    return (struct row4_sums){{{{0}}}, {{0}}};
}

/* Adds one block. */
CPU_INLINE void one_block(const struct block32 f, const struct row4 w, const struct act_rows *x, const size_t rows,
                          size_t b, struct row4_sums *sums)
{
    const uint8_t *codes = w.codes + b * f.block_bytes;
    const __m128 d = load_halves4(w.scales + scale_at(f, b), w.scales_stride);
    const __m128 from = f.minimum ? load_halves4(w.scales + b * f.block_bytes + 2, w.scales_stride) : d;
    __m256i q[PAIR];
    __m256 scale[PAIR];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        __m128 s = _mm_mul_ps(d, _mm_broadcast_ss(x->scale + r * x->blocks + b));
        scale[r] = _mm256_set_m128(s, s);
        q[r] = _mm256_loadu_si256((const __m256i *)(x->q + r * x->k + b * CPU_BLOCK));
        if (is_unsigned(f)) {
            sums->offset[r] = _mm256_fmadd_ps(_mm256_set_m128(_mm_setzero_ps(), from),
                                              _mm256_broadcast_ss(x->sum + r * x->blocks + b), sums->offset[r]);
        }
    }
    CPU_UNROLL
    for (size_t j = 0; j < 4; j++) {
        __m256i row = load_codes(f, codes + j * w.codes_stride);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            __m256 dot = _mm256_cvtepi32_ps(is_unsigned(f) ? dot32u(row, q[r]) : dot32s(row, q[r]));
            sums->acc[r][j] = _mm256_fmadd_ps(dot, spread(scale[r], j), sums->acc[r][j]);
        }
    }
}

/*
 * Adds two blocks of 4-bit codes, one in each half of a vector, so that they share the operations after the products:
 * the low nibbles of both are multiplied with the first 16 of x of both, the high nibbles with the other 16; four
 * products fit 16 bits.
 */
CPU_INLINE void two_blocks4(const struct block32 f, const struct row4 w, const struct act_rows *x, const size_t rows,
                            size_t b, struct row4_sums *sums)
{
    const __m256i low = _mm256_set1_epi8(15);
    const size_t at = scale_at(f, b), next = scale_at(f, b + 1);
    const __m256 d =
        _mm256_set_m128(load_halves4(w.scales + next, w.scales_stride), load_halves4(w.scales + at, w.scales_stride));
    __m256 from = d;
    if (f.minimum)
        from = _mm256_set_m128(load_halves4(w.scales + next + 2, w.scales_stride),
                               load_halves4(w.scales + at + 2, w.scales_stride));
    __m256i first[PAIR], second[PAIR];
    __m256 scale[PAIR];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const int8_t *q = x->q + r * x->k + b * CPU_BLOCK;
        first[r] = load_pair16(q, q + CPU_BLOCK);
        second[r] = load_pair16(q + 16, q + CPU_BLOCK + 16);
        scale[r] = _mm256_mul_ps(d, two_floats(x->scale + r * x->blocks + b));
        sums->offset[r] = _mm256_fmadd_ps(from, two_floats(x->sum + r * x->blocks + b), sums->offset[r]);
    }
    CPU_UNROLL
    for (size_t j = 0; j < 4; j++) {
        const uint8_t *p = w.codes + j * w.codes_stride + b * f.block_bytes;
        __m256i both = load_pair16(p, p + f.block_bytes);
        __m256i lows = _mm256_and_si256(both, low), highs = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            __m256 dot = _mm256_cvtepi32_ps(dot64u(lows, first[r], highs, second[r]));
            sums->acc[r][j] = _mm256_fmadd_ps(dot, spread(scale[r], j), sums->acc[r][j]);
        }
    }
}

CPU_INLINE size_t step_blocks(const struct block32 f)
{
    return f.bits == 4 && is_unsigned(f) ? 2 : 1;
}

CPU_INLINE void add_step(const struct block32 f, const struct row4 w, const struct act_rows *x, const size_t rows,
                         const size_t count, size_t b, struct row4_sums *sums)
{
    if (count == 2)
        two_blocks4(f, w, x, rows, b, sums);
    else
        one_block(f, w, x, rows, b, sums);
}

CPU_INLINE void store_sums(const struct block32 f, const size_t rows, const struct row4_sums *sums, float *const *out)
{
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m128 factor = _mm_set1_ps(offset_factor(f)), low = _mm256_castps256_ps128(sums->offset[r]);
        const __m128 offset = _mm_add_ps(low, _mm256_extractf128_ps(sums->offset[r], 1));
        _mm_storeu_ps(out[r], _mm_fmadd_ps(factor, offset, sum4(sums->acc[r])));
    }
}

#include "plugins/cpu/kernels/vector/gemv_row4.h"
