/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the 8-bit matmuls of few rows of x: four rows of W, which are read where they lie. A level writes over this
 * how they meet rows of x, and includes few_rows.h.
 */
#ifndef CPU_VECTOR_FOUR_H
#define CPU_VECTOR_FOUR_H

#include "gemv.h"

#ifndef PAIR
#define PAIR 2u /* rows of x that meet them at a time */
#endif

/* Four rows of W: the first, and bytes from one to the next (0: the same row four times). */
struct four {
    const uint8_t *digits;
    const uint8_t *scales;
    size_t digits_stride;
    size_t scales_stride;
    int apart; /* the row after each is what comes next, else the four rows after the last */
};

/* 32 digits: 4 bits as unsigned bytes 0 .. 15, 8 bits as signed bytes. */
CPU_INLINE __m256i load_digits(const struct layout f, const uint8_t *p)
{
    if (f.bits == 4)
        return nibbles(p);
    return f.planar ? _mm256_xor_si256(load32(p), _mm256_set1_epi8((char)0x80)) : load32(p);
}

/* The halves `stride` bytes apart. */
#if defined(CPU_BUILD_NEON)
CPU_INLINE float32x4_t four_halves(const uint8_t *p, size_t stride)
{
    uint16x4_t h = vld1_dup_u16((const uint16_t *)(const void *)p);
    h = vld1_lane_u16((const uint16_t *)(const void *)(p + stride), h, 1);
    h = vld1_lane_u16((const uint16_t *)(const void *)(p + 2 * stride), h, 2);
    h = vld1_lane_u16((const uint16_t *)(const void *)(p + 3 * stride), h, 3);
    return vcvt_f32_f16(vreinterpret_f16_u16(h));
}
#else
CPU_INLINE __m128 four_halves(const uint8_t *p, size_t stride)
{
    uint16_t h[4];
    CPU_UNROLL
    for (size_t r = 0; r < 4; r++)
        memcpy(&h[r], p + r * stride, 2);
    __m128i v = _mm_cvtsi32_si128(h[0]);
    v = _mm_insert_epi16(v, h[1], 1);
    v = _mm_insert_epi16(v, h[2], 2);
    v = _mm_insert_epi16(v, h[3], 3);
    return _mm_cvtph_ps(v);
}
#endif

#endif
