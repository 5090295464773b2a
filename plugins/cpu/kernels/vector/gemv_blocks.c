/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of blocks of 32 weights that begin with their scale (q5_0, q5_1, iq4_nl).
 * Layout: weights in place. Tile: four rows of W, whose scales are converted to float together, times one row of x; a
 * second row of x reads the four rows of W from the L1 cache. Codes are unsigned except for iq4_nl; the zero point is
 * corrected with the sums of x.
 * Bound: bytes of W. Measured: doc/benchmark.md, GEMV from the L2 cache.
 */
#include "finish.h"
#include "gemv.h"

/* Accumulators of four rows of W times a row of x. */
struct sums4 {
    __m256 a, b, c, d; /* one per row */
    __m128 offset;     /* minimum, or scale, times sum of x */
};

/* Loads four halves `stride` bytes apart. */
CPU_INLINE __m128 load_halves4(const uint8_t *p, size_t stride)
{
    uint16_t h[4];
    memcpy(&h[0], p, 2);
    memcpy(&h[1], p + stride, 2);
    memcpy(&h[2], p + 2 * stride, 2);
    memcpy(&h[3], p + 3 * stride, 2);
    __m128i v = _mm_insert_epi16(_mm_cvtsi32_si128(h[0]), h[1], 1);
    return _mm_cvtph_ps(_mm_insert_epi16(_mm_insert_epi16(v, h[2], 2), h[3], 3));
}

/* Unpacks 32 codes of 4 bits from 16 bytes with one load. */
CPU_INLINE __m256i nibbles32(const uint8_t *p)
{
    const __m256i shifts = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4);
    __m256i twice = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return _mm256_and_si256(_mm256_srlv_epi32(twice, shifts), _mm256_set1_epi8(15));
}

CPU_INLINE __m256i unpack_block(const struct traits traits, const uint8_t *block)
{
    switch (traits.type) {
    case ACCEL_Q5_0:
        return _mm256_or_si256(nibbles32(block + 6), fifth_bits(word_at(block + 2)));
    case ACCEL_Q5_1:
        return _mm256_or_si256(nibbles32(block + 8), fifth_bits(word_at(block + 4)));
    default:
        return lookup_iq4(nibbles32(block + 2));
    }
}

CPU_INLINE __m256 add_block(const struct traits traits, const uint8_t *block, __m256i q, __m256 scale, __m256 sum)
{
    __m256i codes = unpack_block(traits, block);
    __m256i dot = traits.type == ACCEL_IQ4_NL ? dot32s(codes, q) : dot32u(codes, q);
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), scale, sum);
}

/* Adds block b of four rows of W, which are `stride` bytes apart (0: the same row four times), the first at `p`. */
CPU_INLINE struct sums4 add_block4(const struct traits traits, const uint8_t *p, size_t stride, const struct gemv_x *x,
                                   size_t b, struct sums4 s)
{
    const __m256i q = load32(x->q + 32 * b);
    __m128 d = load_halves4(p, stride), both = _mm_mul_ps(d, _mm_broadcast_ss(x->scale + b));
    const __m256 scale = _mm256_set_m128(both, both);
    if (traits.type != ACCEL_IQ4_NL)
        s.offset =
            _mm_fmadd_ps(traits.minimum ? load_halves4(p + 2, stride) : d, _mm_broadcast_ss(x->sum + b), s.offset);
    s.a = add_block(traits, p, q, _mm256_permute_ps(scale, 0x00), s.a);
    s.b = add_block(traits, p + stride, q, _mm256_permute_ps(scale, 0x55), s.b);
    s.c = add_block(traits, p + 2 * stride, q, _mm256_permute_ps(scale, 0xaa), s.c);
    s.d = add_block(traits, p + 3 * stride, q, _mm256_permute_ps(scale, 0xff), s.d);
    return s;
}

/* Returns the factor of sums4.offset: 1 for a minimum, minus the zero point for a scale. */
CPU_INLINE float offset_factor(const struct traits traits)
{
    return traits.minimum ? 1.0f : traits.type == ACCEL_Q5_0 ? -16.0f : 0.0f;
}

CPU_INLINE __m128 dot4(const struct traits traits, const uint8_t *first, size_t stride, const struct gemv_x *x,
                       size_t blocks)
{
    const __m256 zero = _mm256_setzero_ps();
    struct sums4 s = {zero, zero, zero, zero, _mm_setzero_ps()};
    for (size_t b = 0; b < blocks; b++) {
        /* The next four rows follow these four. */
        prefetch_lines(first + 4 * (stride + b * traits.block_bytes), 4 * traits.block_bytes);
        s = add_block4(traits, first + b * traits.block_bytes, stride, x, b, s);
    }
    __m256 sums = _mm256_hadd_ps(_mm256_hadd_ps(s.a, s.b), _mm256_hadd_ps(s.c, s.d));
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
    return _mm_fmadd_ps(s.offset, _mm_set1_ps(offset_factor(traits)), sum);
}

CPU_INLINE void gemv(const struct traits traits, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const size_t blocks = call->k / CPU_BLOCK;
    for (size_t j = begin; j < end; j += FINISH_COLUMNS) {
        float sums[GEMV_ROWS][FINISH_COLUMNS + 4];
        const size_t count = least(FINISH_COLUMNS, end - j);
        for (size_t at = 0; at < count; at += count - at < 4 ? 1 : 4) {
            const uint8_t *first = (const uint8_t *)call->w.plane[0] + (j + at) * call->w.stride[0];
            const size_t stride = count - at >= 4 ? call->w.stride[0] : 0;
            for (size_t r = 0; r < call->m; r++) {
                const struct gemv_x x = {call->act_q8.q + r * call->k, call->act_q8.scale + r * blocks,
                                         call->act_q8.sum + r * blocks, NULL};
                _mm_storeu_ps(sums[r] + at, dot4(traits, first, stride, &x, blocks));
            }
        }
        for (size_t r = 0; r < call->m; r++)
            finish_row(call, r, j, count, sums[r]);
    }
}

#define KERNEL(ID, name)                                                                                               \
    void CPU_NAME(gemv_blocks_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                         \
    {                                                                                                                  \
        gemv(traits_##name, call, begin, end);                                                                         \
    }
CPU_GEMV_BLOCKS_TYPES(KERNEL)
