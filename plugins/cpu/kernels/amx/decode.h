/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the AMX matmul: how weights of each type become BF16. A row of W fills one row of as many tiles as it has
 * steps of 32 values. A weight times its scale is rounded once, which costs at most 2^-9 of it; F16, whose numbers have
 * three bits more, becomes the sum of two.
 */
#ifndef CPU_AMX_DECODE_H
#define CPU_AMX_DECODE_H

#include "plugins/cpu/kernels/vector/planar.h"
#include "plugins/cpu/kernels/vector/simd_bf16.h"

#define TILE_ROWS 16u
#define STEP 32u /* values of a row of a tile */

/* Tiles of 16 rows of W: of each a row of STEP values. */
typedef uint16_t weight_tile[TILE_ROWS][STEP];

/* Values at .. at + count of row j of W, a multiple of STEP but for BF16 and F16, to row r of the tiles. */
typedef void decode16_fn(const struct cpu_matrix *w, size_t j, size_t at, size_t count, weight_tile *out, size_t r);

CPU_INLINE __m512 widen(__m128i digits)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(digits));
}

/* 32 signed digits, the first 16 times d[0] and plus m[0], the others by d[1] and m[1]. */
CPU_INLINE void put_digits(__m256i digits, const int minimum, const float *d, const float *m, uint16_t *out)
{
    const __m512 first = widen(_mm256_castsi256_si128(digits)), last = widen(_mm256_extracti128_si256(digits, 1));
    const __m512 d0 = _mm512_set1_ps(d[0]), d1 = _mm512_set1_ps(d[1]);
    __m512 low, high;
    if (minimum) {
        low = _mm512_fmadd_ps(first, d0, _mm512_set1_ps(m[0]));
        high = _mm512_fmadd_ps(last, d1, _mm512_set1_ps(m[1]));
    } else {
        low = _mm512_mul_ps(first, d0);
        high = _mm512_mul_ps(last, d1);
    }
    _mm512_storeu_si512(out, simd_cvtne2ps(high, low));
}

/*
 * What digits of 4 bits stand for, digit * d + m: rounded once for all that share a scale and then looked up, a third
 * of the work. Twice the same 16: what lies above the four bits of a place does not matter then.
 */
CPU_INLINE __m512i table_of(float d, float m)
{
    const __m512 digits = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 values = _mm512_fmadd_ps(digits, _mm512_set1_ps(d), _mm512_set1_ps(m));
    return simd_cvtne2ps(values, values);
}

/* 32 digits of 16 bytes: the lower ones, then the upper ones. */
CPU_INLINE __m512i places_of(const uint8_t *digits)
{
    const __m256i bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)digits));
    return _mm512_inserti64x4(_mm512_castsi256_si512(bytes), _mm256_srli_epi16(bytes, 4), 1);
}

CPU_INLINE void look_up(__m512i table, __m512i places, uint16_t *out)
{
    _mm512_storeu_si512(out, _mm512_permutexvar_epi16(places, table));
}

/* Types of struct layout. */
CPU_INLINE void decode_layout(const struct layout f, const struct cpu_matrix *w, size_t j, size_t at, size_t count,
                              weight_tile *out, size_t r)
{
    const uint8_t *digits = digits_of(f, w, j), *scales = scales_of(f, w, j);
    for (size_t b = at / CPU_BLOCK; b < (at + count) / CPU_BLOCK; b++, out++) {
        const uint8_t *p = digits + b * f.block_bytes;
        const float d = half_to_float(scales + scale_at(f, b));
        if (f.bits == 4) {
            const float m = f.minimum ? half_to_float(scales + scale_at(f, b) + 2) : -8 * d;
            look_up(table_of(d, m), places_of(p), (*out)[r]);
        } else {
            const __m256i flip = _mm256_set1_epi8(f.planar ? (char)0x80 : 0);
            put_digits(_mm256_xor_si256(load32(p), flip), 0, (const float[]){d, d}, NULL, (*out)[r]);
        }
    }
}

CPU_INLINE void decode_kind(const struct kind kind, const struct cpu_matrix *w, size_t j, size_t at, size_t count,
                            weight_tile *out, size_t r)
{
    for (size_t end = at + count; at < end; at += RUN_VALUES) {
        struct run run;
        const size_t values = least(RUN_VALUES, end - at);
        take_apart(kind, w, j, at, values, &run);
        for (size_t g = 0; g < values / 32; g++, out++)
            put_digits(load32(run.digits + 32 * g), kind.minimum, run.d + 2 * g, run.m + 2 * g, (*out)[r]);
    }
}

/* Of 32 bytes the lower digits are a block, and the upper ones the next. */
CPU_INLINE void decode_q4_k(const struct cpu_matrix *w, size_t j, size_t at, size_t count, weight_tile *out, size_t r)
{
    const uint8_t *block = (const uint8_t *)w->plane[0] + j * w->stride[0] + at / RUN_VALUES * kind_q4_k.block_bytes;
    for (size_t end = at + count; at < end; at += RUN_VALUES, block += kind_q4_k.block_bytes) {
        struct run run;
        unpack_scales6(block, &run);
        CPU_UNROLL
        for (size_t i = 0; i < 4; i++, out += 2) {
            const __m512i bytes = _mm512_cvtepu8_epi16(load32(block + 16 + 32 * i));
            look_up(table_of(run.d[4 * i], run.m[4 * i]), bytes, out[0][r]);
            look_up(table_of(run.d[4 * i + 2], run.m[4 * i + 2]), _mm512_srli_epi16(bytes, 4), out[1][r]);
        }
    }
}

/* Digits that are places in a table of floats. */
CPU_INLINE void decode_places(const struct cpu_matrix *w, size_t j, size_t at, size_t count, weight_tile *out, size_t r)
{
    for (size_t end = at + count; at < end; at += RUN_VALUES) {
        float values[RUN_VALUES];
        const size_t here = least(RUN_VALUES, end - at);
        decode_levels(w, j, at, here, values);
        for (size_t l = 0; l < here; l += STEP, out++)
            _mm512_storeu_si512((*out)[r],
                                simd_cvtne2ps(_mm512_loadu_ps(values + l + 16), _mm512_loadu_ps(values + l)));
    }
}

/* STEP values of 16 bits, `left` of them and zeros. */
CPU_INLINE __m512i load_step(const uint16_t *from, size_t left)
{
    uint16_t part[STEP] = {0};
    if (left >= STEP)
        return _mm512_loadu_si512(from);
    memcpy(part, from, left * sizeof(*from));
    return _mm512_loadu_si512(part);
}

/* BF16 as it is; zeros after the last value of a row. */
CPU_INLINE void decode_bf16(const struct cpu_matrix *w, size_t j, size_t at, size_t count, weight_tile *out, size_t r)
{
    const uint16_t *from = (const uint16_t *)((const char *)w->plane[0] + j * w->stride[0]) + at;
    for (size_t l = 0; l < count; l += STEP, out++)
        _mm512_storeu_si512((*out)[r], load_step(from + l, count - l));
}

/* The upper 16 bits of floats, and what is left of them, which has three bits. */
CPU_INLINE void put_halves(__m256i halves, uint16_t *out_upper, uint16_t *out_lower)
{
    const __m512 value = _mm512_cvtph_ps(halves);
    const __m512i upper = _mm512_srli_epi32(_mm512_castps_si512(value), 16);
    const __m512 rest = _mm512_sub_ps(value, _mm512_castsi512_ps(_mm512_slli_epi32(upper, 16)));
    const __m512i lower = _mm512_srli_epi32(_mm512_castps_si512(rest), 16);
    store32((int8_t *)out_upper, _mm512_cvtepi32_epi16(upper));
    store32((int8_t *)out_lower, _mm512_cvtepi32_epi16(lower));
}

/* F16: a tile of upper parts is followed by that of what is left. */
CPU_INLINE void decode_f16(const struct cpu_matrix *w, size_t j, size_t at, size_t count, weight_tile *out, size_t r)
{
    const uint16_t *from = (const uint16_t *)((const char *)w->plane[0] + j * w->stride[0]) + at;
    for (size_t l = 0; l < count; l += STEP, out += 2) {
        const __m512i step = load_step(from + l, count - l);
        put_halves(_mm512_castsi512_si256(step), out[0][r], out[1][r]);
        put_halves(_mm512_extracti64x4_epi64(step, 1), out[0][r] + 16, out[1][r] + 16);
    }
}

#endif
