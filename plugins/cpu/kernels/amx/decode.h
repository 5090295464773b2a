/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the AMX matmul: decodes weights of each type to BF16. A row of W fills one row of as many tiles as it has
 * steps of 32 values. A weight times its scale is rounded once, at a cost of at most 2^-9 of it; F16, which has three
 * more bits, becomes the sum of two BF16.
 */
#ifndef CPU_AMX_DECODE_H
#define CPU_AMX_DECODE_H

#include "plugins/cpu/kernels/vector/planar.h"
#include "plugins/cpu/kernels/vector/simd_bf16.h"
#include "tiles.h"

#define STEP 32u /* values of a tile row */

/* A tile: STEP values of each of 16 rows of W. */
typedef uint16_t weight_tile[TILE_ROWS][STEP];

/* Decodes values at .. at + count of row j of W, a multiple of STEP except for BF16 and F16, to row r of the tiles. */
typedef void decode16_fn(const struct cpu_matrix *w, size_t j, size_t at, size_t count, weight_tile *out, size_t r);

CPU_INLINE __m512 widen(__m128i codes)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes));
}

/* Stores 32 signed codes, the first 16 times d[0] plus m[0], the others times d[1] plus m[1]. */
CPU_INLINE void put_codes(__m256i codes, const int minimum, const float *d, const float *m, uint16_t *out)
{
    const __m512 first = widen(_mm256_castsi256_si128(codes)), last = widen(_mm256_extracti128_si256(codes, 1));
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
 * Returns the values of 4-bit codes, code * d + m: rounded once per scale and then looked up, a third of the work. The
 * 16 values are repeated, so that bits above the four of an index do not matter.
 */
CPU_INLINE __m512i code_values(float d, float m)
{
    const __m512 codes = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 values = _mm512_fmadd_ps(codes, _mm512_set1_ps(d), _mm512_set1_ps(m));
    return simd_cvtne2ps(values, values);
}

/* Unpacks 16 bytes to 32 indices: lower nibbles, then upper ones. */
CPU_INLINE __m512i nibble_indices(const uint8_t *codes)
{
    const __m256i bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)codes));
    return _mm512_inserti64x4(_mm512_castsi256_si512(bytes), _mm256_srli_epi16(bytes, 4), 1);
}

CPU_INLINE void look_up(__m512i table, __m512i indices, uint16_t *out)
{
    _mm512_storeu_si512(out, _mm512_permutexvar_epi16(indices, table));
}

/* Decodes types of struct block32. */
CPU_INLINE void decode_block32(const struct block32 f, const struct cpu_matrix *w, size_t j, size_t at, size_t count,
                               weight_tile *out, size_t r)
{
    const uint8_t *codes = codes_of(f, w, j), *scales = scales_of(f, w, j);
    for (size_t b = at / CPU_BLOCK; b < (at + count) / CPU_BLOCK; b++, out++) {
        const uint8_t *p = codes + b * f.block_bytes;
        const float d = half_to_float(scales + scale_at(f, b));
        if (f.bits == 4) {
            const float m = f.minimum ? half_to_float(scales + scale_at(f, b) + 2) : -8 * d;
            look_up(code_values(d, m), nibble_indices(p), (*out)[r]);
        } else {
            const __m256i flip = _mm256_set1_epi8(f.planar ? (char)0x80 : 0);
            put_codes(_mm256_xor_si256(load32(p), flip), 0, (const float[]){d, d}, NULL, (*out)[r]);
        }
    }
}

/* Decodes q4_k: the lower nibbles of 32 bytes are a block, the upper ones the next. */
CPU_INLINE void decode_q4_k(const struct cpu_matrix *w, size_t j, size_t at, size_t count, weight_tile *out, size_t r)
{
    const uint8_t *block =
        (const uint8_t *)w->plane[0] + j * w->stride[0] + at / UNPACKED_VALUES * traits_q4_k.block_bytes;
    for (size_t end = at + count; at < end; at += UNPACKED_VALUES, block += traits_q4_k.block_bytes) {
        struct unpacked unpacked;
        unpack_scales6(block, &unpacked);
        CPU_UNROLL
        for (size_t i = 0; i < 4; i++, out += 2) {
            const __m512i bytes = _mm512_cvtepu8_epi16(load32(block + 16 + 32 * i));
            look_up(code_values(unpacked.d[4 * i], unpacked.m[4 * i]), bytes, out[0][r]);
            look_up(code_values(unpacked.d[4 * i + 2], unpacked.m[4 * i + 2]), _mm512_srli_epi16(bytes, 4), out[1][r]);
        }
    }
}

CPU_INLINE void decode_traits(const struct traits traits, const struct cpu_matrix *w, size_t j, size_t at, size_t count,
                              weight_tile *out, size_t r)
{
    if (traits.type == ACCEL_Q4_K) {
        decode_q4_k(w, j, at, count, out, r);
        return;
    }
    for (size_t end = at + count; at < end; at += UNPACKED_VALUES) {
        struct unpacked unpacked;
        const size_t values = least(UNPACKED_VALUES, end - at);
        unpack_span(traits, w, j, at, values, &unpacked);
        for (size_t g = 0; g < values / 32; g++, out++)
            put_codes(load32(unpacked.codes + 32 * g), traits.minimum, unpacked.d + 2 * g, unpacked.m + 2 * g,
                      (*out)[r]);
    }
}

/* Decodes codebook types. */
CPU_INLINE void decode_codebook16(const struct cpu_matrix *w, size_t j, size_t at, size_t count, weight_tile *out,
                                  size_t r)
{
    for (size_t end = at + count; at < end; at += UNPACKED_VALUES) {
        float values[UNPACKED_VALUES];
        const size_t here = least(UNPACKED_VALUES, end - at);
        decode_codebook(w, j, at, here, values);
        for (size_t l = 0; l < here; l += STEP, out++)
            _mm512_storeu_si512((*out)[r],
                                simd_cvtne2ps(_mm512_loadu_ps(values + l + 16), _mm512_loadu_ps(values + l)));
    }
}

/* Loads STEP values of 16 bits, `left` of them and zeros. */
CPU_INLINE __m512i load_step(const uint16_t *from, size_t left)
{
    uint16_t part[STEP] = {0};
    if (left >= STEP)
        return _mm512_loadu_si512(from);
    memcpy(part, from, left * sizeof(*from));
    return _mm512_loadu_si512(part);
}

/* Copies BF16; zeros after the last value of a row. */
CPU_INLINE void decode_bf16(const struct cpu_matrix *w, size_t j, size_t at, size_t count, weight_tile *out, size_t r)
{
    const uint16_t *from = (const uint16_t *)((const char *)w->plane[0] + j * w->stride[0]) + at;
    for (size_t l = 0; l < count; l += STEP, out++)
        _mm512_storeu_si512((*out)[r], load_step(from + l, count - l));
}

/* Splits F16 into the upper 16 bits of its float and the rest, which has three bits. */
CPU_INLINE void put_halves(__m256i halves, uint16_t *out_upper, uint16_t *out_lower)
{
    const __m512 value = _mm512_cvtph_ps(halves);
    const __m512i upper = _mm512_srli_epi32(_mm512_castps_si512(value), 16);
    const __m512 rest = _mm512_sub_ps(value, _mm512_castsi512_ps(_mm512_slli_epi32(upper, 16)));
    const __m512i lower = _mm512_srli_epi32(_mm512_castps_si512(rest), 16);
    store32((int8_t *)out_upper, _mm512_cvtepi32_epi16(upper));
    store32((int8_t *)out_lower, _mm512_cvtepi32_epi16(lower));
}

/* Decodes F16: a tile of upper parts is followed by one of the rest. */
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
