/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the vector kernels: unpacks planar weights of any width, group and scheme to struct unpacked, and
 * dispatches to unpack.h. Width and group, which are no constants, are tested once per 256 weights.
 */
#ifndef CPU_VECTOR_PLANAR_H
#define CPU_VECTOR_PLANAR_H

#include <stdbool.h>

#include "unpack.h"

#include <accel/quant/format.h>

static const struct traits traits_planar = {ACCEL_PLANAR(0u, 0u, ACCEL_SCHEME_SYMMETRIC), 32, 0, 0, 0};
static const struct traits traits_planar_a = {ACCEL_PLANAR(0u, 0u, ACCEL_SCHEME_ASYMMETRIC), 32, 0, 1, 0};

static const struct traits traits_codebook = {ACCEL_PLANAR(4u, 0u, ACCEL_SCHEME_NF4), 32, 0, 0, 0};

CPU_INLINE bool traits_have_codebook(const struct traits traits)
{
    return traits.type == ACCEL_PLANAR(4u, 0u, ACCEL_SCHEME_NF4);
}

CPU_INLINE bool is_planar(const struct traits traits)
{
    return traits.block_bytes == 0;
}

/* Returns the stored, unsigned codes of 32 weights. `bits` is a constant. */
CPU_INLINE __m256i planar_codes(const uint32_t bits, const uint8_t *p)
{
    if (bits == 8)
        return load32(p);
    if (bits == 4)
        return nibbles(p);
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    __m256i pairs = _mm256_srlv_epi64(_mm256_set1_epi64x((long long)word), _mm256_setr_epi64x(0, 2, 4, 6));
    pairs = _mm256_and_si256(pairs, _mm256_set1_epi8(3));
    return bits == 2 ? pairs : _mm256_or_si256(pairs, _mm256_srli_epi16(fifth_bits(word_at(p + 8)), 2));
}

/* Returns the offset that makes codes fit signed 8 bits: the zero point if possible. */
CPU_INLINE int code_offset(const uint32_t bits, const struct traits traits, int zero)
{
    const int most = 112;
    if (bits == 8 || !traits.minimum)
        return 1 << (bits - 1);
    return zero < most ? zero : most;
}

/* Returns log2 of the 32-weight blocks in a group; 31 if the group is the whole row. */
CPU_INLINE uint32_t group_shift(const struct cpu_matrix *w)
{
    const uint32_t log2_group = ACCEL_PLANAR_LOG2_GROUP(w->type);
    return log2_group ? log2_group - 5 : 31;
}

CPU_INLINE void planar_blocks(const uint32_t bits, const struct traits traits, const struct cpu_matrix *w, size_t row,
                              size_t block, size_t count, struct unpacked *out)
{
    const uint8_t *codes = (const uint8_t *)w->plane[0] + row * w->stride[0] + block * 4 * bits;
    const uint8_t *scales = (const uint8_t *)w->plane[1] + row * w->stride[1];
    const uint8_t *zeros = traits.minimum ? (const uint8_t *)w->plane[2] + row * w->stride[2] : NULL;
    const uint32_t shift = group_shift(w);
    for (size_t g = 0; g < count; g++, codes += 4 * bits) {
        const size_t group = (block + g) >> shift;
        const float d = half_to_float(scales + 2 * group);
        const int zero = traits.minimum ? zeros[group] : 0, offset = code_offset(bits, traits, zero);
        __m256i signless = planar_codes(bits, codes);
        set_two(out->d + 2 * g, d);
        if (traits.minimum)
            set_two(out->m + 2 * g, d * (float)(offset - zero));
        store32(out->codes + 32 * g, _mm256_sub_epi8(signless, _mm256_set1_epi8((char)offset)));
    }
}

CPU_INLINE void unpack_planar(const struct traits traits, const struct cpu_matrix *w, size_t row, size_t at,
                              size_t count, struct unpacked *out)
{
    switch (ACCEL_PLANAR_BITS(w->type)) {
    case 2:
        planar_blocks(2, traits, w, row, at / 32, count / 32, out);
        break;
    case 3:
        planar_blocks(3, traits, w, row, at / 32, count / 32, out);
        break;
    case 4:
        planar_blocks(4, traits, w, row, at / 32, count / 32, out);
        break;
    default:
        planar_blocks(8, traits, w, row, at / 32, count / 32, out);
        break;
    }
}

/* Loads the 16 entries of the codebook: NF4, or the row's own. */
CPU_INLINE void load_codebook(const struct cpu_matrix *w, size_t row, __m256 out_codebook[2])
{
    if (ACCEL_PLANAR_SCHEME(w->type) == ACCEL_SCHEME_CODEBOOK) {
        const __m128i *halves = (const __m128i *)(const void *)((const char *)w->plane[2] + row * w->stride[2]);
        out_codebook[0] = _mm256_cvtph_ps(_mm_loadu_si128(halves));
        out_codebook[1] = _mm256_cvtph_ps(_mm_loadu_si128(halves + 1));
    } else {
        out_codebook[0] = _mm256_loadu_ps(accel_format_nf4);
        out_codebook[1] = _mm256_loadu_ps(accel_format_nf4 + 8);
    }
}

/* Packs the low bytes of 4 + 4 + 4 + 4 signed integers. */
CPU_INLINE __m128i bytes_of(__m256i a, __m256i b)
{
    __m128i first = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    __m128i second = _mm_packs_epi32(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1));
    return _mm_packs_epi16(first, second);
}

/*
 * Rounds a codebook to 16-bit integers, the largest magnitude 32512 = 127 * 256, in two byte tables: 256 * high + low.
 * Returns the value of one unit. The error of an entry is at most half a unit, 1.6e-5 of the largest.
 */
CPU_INLINE float round_codebook(const __m256 codebook[2], __m256i *out_high, __m256i *out_low)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const float largest = max8(_mm256_max_ps(_mm256_andnot_ps(sign, codebook[0]), _mm256_andnot_ps(sign, codebook[1])));
    const __m256 factor = _mm256_set1_ps(largest > 0 ? 32512.0f / largest : 0);
    __m256i whole[2], high[2];
    CPU_UNROLL
    for (size_t i = 0; i < 2; i++) {
        whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(codebook[i], factor));
        high[i] = _mm256_srai_epi32(_mm256_add_epi32(whole[i], _mm256_set1_epi32(128)), 8);
        whole[i] = _mm256_sub_epi32(whole[i], _mm256_slli_epi32(high[i], 8));
    }
    *out_high = _mm256_broadcastsi128_si256(bytes_of(high[0], high[1]));
    *out_low = _mm256_broadcastsi128_si256(bytes_of(whole[0], whole[1]));
    return largest / 32512.0f;
}

CPU_INLINE void unpack_codebook(const struct cpu_matrix *w, size_t row, size_t at, size_t count, struct unpacked *out)
{
    const uint8_t *codes = (const uint8_t *)w->plane[0] + row * w->stride[0] + at / 2;
    const uint8_t *scales = (const uint8_t *)w->plane[1] + row * w->stride[1];
    const uint32_t shift = group_shift(w);
    __m256 codebook[2];
    __m256i high, low;
    load_codebook(w, row, codebook);
    const float unit = round_codebook(codebook, &high, &low);
    for (size_t g = 0; g < count / 32; g++) {
        const __m256i indices = nibbles(codes + 16 * g);
        store32(out->codes + 32 * g, _mm256_shuffle_epi8(high, indices));
        store32(out->low + 32 * g, _mm256_shuffle_epi8(low, indices));
        set_two(out->d + 2 * g, unit * half_to_float(scales + 2 * ((at / 32 + g) >> shift)));
    }
}

/* Decodes weights at .. at + count of a row exactly, without round_codebook. */
CPU_INLINE void decode_codebook(const struct cpu_matrix *w, size_t row, size_t at, size_t count, float *out)
{
    const uint8_t *codes = (const uint8_t *)w->plane[0] + row * w->stride[0] + at / 2;
    const uint8_t *scales = (const uint8_t *)w->plane[1] + row * w->stride[1];
    const uint32_t shift = group_shift(w);
    __m256 codebook[2];
    load_codebook(w, row, codebook);
    for (size_t g = 0; g < count / 32; g++) {
        const __m256 d = _mm256_set1_ps(half_to_float(scales + 2 * ((at / 32 + g) >> shift)));
        uint8_t indices[32];
        store32((int8_t *)indices, nibbles(codes + 16 * g));
        CPU_UNROLL
        for (size_t i = 0; i < 32; i += 8) {
            const __m256i index = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(indices + i)));
            const __m256 first = _mm256_permutevar8x32_ps(codebook[0], index);
            const __m256 last = _mm256_permutevar8x32_ps(codebook[1], index);
            /* Bit 3 of the code selects the half of the codebook; the blend reads it as a sign. */
            const __m256 value = _mm256_blendv_ps(first, last, _mm256_castsi256_ps(_mm256_slli_epi32(index, 28)));
            _mm256_storeu_ps(out + 32 * g + i, _mm256_mul_ps(value, d));
        }
    }
}

/* Unpacks `count` weights of a row, a multiple of 32 and of the format's block, from weight `at` on, which is a
 * multiple of UNPACKED_VALUES. */
CPU_INLINE void unpack_span(const struct traits traits, const struct cpu_matrix *w, size_t row, size_t at, size_t count,
                            struct unpacked *out)
{
    if (traits_have_codebook(traits))
        unpack_codebook(w, row, at, count, out);
    else if (is_planar(traits))
        unpack_planar(traits, w, row, at, count, out);
    else
        unpack(traits, (const uint8_t *)w->plane[0] + row * w->stride[0], at, count, out);
}

/* Returns the bytes of plane 0 before weight `at` of a row. */
CPU_INLINE size_t bytes_before(const struct traits traits, const struct cpu_matrix *w, size_t at)
{
    return is_planar(traits) ? at / 8 * ACCEL_PLANAR_BITS(w->type) : at / traits.block_values * traits.block_bytes;
}

#endif
