/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the GEMV of act_q8: four rows of W, read in place. Each ISA builds its dot products on this and then
 * includes gemv_row4.h.
 */
#ifndef CPU_VECTOR_ROW4_H
#define CPU_VECTOR_ROW4_H

#include "gemv.h"

#ifndef PAIR
#define PAIR 2u /* rows of x per pass over four rows of W */
#endif

/* Four rows of W: the first row, and strides in bytes (0: the same row four times). */
struct row4 {
    const uint8_t *codes;
    const uint8_t *scales;
    size_t codes_stride;
    size_t scales_stride;
    int apart; /* 1: the next row follows each of the four; 0: the next four rows follow the last */
};

/* Returns whether codes are unsigned, with a minimum or a zero point in the middle. */
CPU_INLINE bool is_unsigned(const struct block32 f)
{
    return f.bits < 8 && f.type != ACCEL_IQ4_NL;
}

/* Returns the factor of the sum of scales (or minima) times sums of x: of a minimum 1, else minus the zero point. */
CPU_INLINE float offset_factor(const struct block32 f)
{
    return f.minimum ? 1.0f : is_unsigned(f) ? -(float)(1 << (f.bits - 1)) : 0.0f;
}

/* Unpacks 32 codes of 4 bits from 16 bytes with one load. */
CPU_INLINE __m256i nibbles32(const uint8_t *p)
{
    const __m256i shifts = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4);
    __m256i twice = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return _mm256_and_si256(_mm256_srlv_epi32(twice, shifts), _mm256_set1_epi8(15));
}

/* Loads 32 codes: up to 5 bits as unsigned bytes, 8 bits and values of a codebook as signed bytes. */
CPU_INLINE __m256i load_codes(const struct block32 f, const uint8_t *p)
{
    if (f.type == ACCEL_IQ4_NL)
        return lookup_iq4(nibbles32(p));
    if (f.bits == 5)
        return _mm256_or_si256(nibbles32(p), fifth_bits(word_at(p - 4)));
    if (f.bits == 4)
        return nibbles(p);
    return f.planar ? _mm256_xor_si256(load32(p), _mm256_set1_epi8((char)0x80)) : load32(p);
}

/* Loads four halves `stride` bytes apart. */
#if defined(CPU_BUILD_NEON)
CPU_INLINE float32x4_t load_halves4(const uint8_t *p, size_t stride)
{
    uint16x4_t h = vld1_dup_u16((const uint16_t *)(const void *)p);
    h = vld1_lane_u16((const uint16_t *)(const void *)(p + stride), h, 1);
    h = vld1_lane_u16((const uint16_t *)(const void *)(p + 2 * stride), h, 2);
    h = vld1_lane_u16((const uint16_t *)(const void *)(p + 3 * stride), h, 3);
    return vcvt_f32_f16(vreinterpret_f16_u16(h));
}
#else
CPU_INLINE __m128 load_halves4(const uint8_t *p, size_t stride)
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
