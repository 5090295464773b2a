/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the vector kernels: planar weights of any width, group and scheme in the form of unpack.h, and the one way
 * into both. What is not a constant (width and group) is looked at once for a run of 256 weights.
 */
#ifndef CPU_VECTOR_PLANAR_H
#define CPU_VECTOR_PLANAR_H

#include "unpack.h"

#include <accel/quant/format.h>

static const struct kind kind_planar = {ACCEL_PLANAR(0u, 0u, ACCEL_SCHEME_SYMMETRIC), 32, 0, 0, 0};
static const struct kind kind_planar_a = {ACCEL_PLANAR(0u, 0u, ACCEL_SCHEME_ASYMMETRIC), 32, 0, 1, 0};

static const struct kind kind_levels = {ACCEL_PLANAR(4u, 0u, ACCEL_SCHEME_NF4), 32, 0, 0, 0};

CPU_INLINE int has_levels(const struct kind kind)
{
    return kind.type == ACCEL_PLANAR(4u, 0u, ACCEL_SCHEME_NF4);
}

CPU_INLINE int is_planar(const struct kind kind)
{
    return kind.block_bytes == 0;
}

/* Digits of 32 weights as they are stored, without sign. `bits` is a constant. */
CPU_INLINE __m256i planar_digits(const uint32_t bits, const uint8_t *p)
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

/* The number that digits are taken from so that they fit into 8 bits with a sign: the zero point wherever it fits. */
CPU_INLINE int digit_offset(const uint32_t bits, const struct kind kind, int zero)
{
    const int most = 112;
    if (bits == 8 || !kind.minimum)
        return 1 << (bits - 1);
    return zero < most ? zero : most;
}

/* A group of the matrix is 1 << this many blocks of 32; where it is the whole row all blocks are of group 0. */
CPU_INLINE uint32_t group_shift(const struct cpu_matrix *w)
{
    const uint32_t log2_group = ACCEL_PLANAR_LOG2_GROUP(w->type);
    return log2_group ? log2_group - 5 : 31;
}

CPU_INLINE void planar_blocks(const uint32_t bits, const struct kind kind, const struct cpu_matrix *w, size_t row,
                              size_t block, size_t count, struct run *out)
{
    const uint8_t *digits = (const uint8_t *)w->plane[0] + row * w->stride[0] + block * 4 * bits;
    const uint8_t *scales = (const uint8_t *)w->plane[1] + row * w->stride[1];
    const uint8_t *zeros = kind.minimum ? (const uint8_t *)w->plane[2] + row * w->stride[2] : NULL;
    const uint32_t shift = group_shift(w);
    for (size_t g = 0; g < count; g++, digits += 4 * bits) {
        const size_t group = (block + g) >> shift;
        const float d = half_to_float(scales + 2 * group);
        const int zero = kind.minimum ? zeros[group] : 0, offset = digit_offset(bits, kind, zero);
        __m256i signless = planar_digits(bits, digits);
        set_two(out->d + 2 * g, d);
        if (kind.minimum)
            set_two(out->m + 2 * g, d * (float)(offset - zero));
        store32(out->digits + 32 * g, _mm256_sub_epi8(signless, _mm256_set1_epi8((char)offset)));
    }
}

CPU_INLINE void unpack_planar(const struct kind kind, const struct cpu_matrix *w, size_t row, size_t at, size_t count,
                              struct run *out)
{
    switch (ACCEL_PLANAR_BITS(w->type)) {
    case 2:
        planar_blocks(2, kind, w, row, at / 32, count / 32, out);
        break;
    case 3:
        planar_blocks(3, kind, w, row, at / 32, count / 32, out);
        break;
    case 4:
        planar_blocks(4, kind, w, row, at / 32, count / 32, out);
        break;
    default:
        planar_blocks(8, kind, w, row, at / 32, count / 32, out);
        break;
    }
}

/* The 16 levels that digits of a row stand for: those of all, or the row's own. */
CPU_INLINE void levels_of(const struct cpu_matrix *w, size_t row, __m256 out_levels[2])
{
    if (ACCEL_PLANAR_SCHEME(w->type) == ACCEL_SCHEME_CODEBOOK) {
        const __m128i *halves = (const __m128i *)(const void *)((const char *)w->plane[2] + row * w->stride[2]);
        out_levels[0] = _mm256_cvtph_ps(_mm_loadu_si128(halves));
        out_levels[1] = _mm256_cvtph_ps(_mm_loadu_si128(halves + 1));
    } else {
        out_levels[0] = _mm256_loadu_ps(accel_format_nf4);
        out_levels[1] = _mm256_loadu_ps(accel_format_nf4 + 8);
    }
}

/* The low bytes of 4 + 4 + 4 + 4 integers with a sign. */
CPU_INLINE __m128i bytes_of(__m256i a, __m256i b)
{
    __m128i first = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    __m128i second = _mm_packs_epi32(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1));
    return _mm_packs_epi16(first, second);
}

/*
 * Levels as whole numbers of 16 bits, the largest magnitude 32512 = 127 * 256, in two tables of bytes: 256 * high +
 * low. Answers what a whole number stands for. A level is off by at most half of that, 1.6e-5 of the largest.
 */
CPU_INLINE float whole_levels(const __m256 levels[2], __m256i *out_high, __m256i *out_low)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 both = _mm256_max_ps(_mm256_andnot_ps(sign, levels[0]), _mm256_andnot_ps(sign, levels[1]));
    __m128 most = _mm_max_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1));
    most = _mm_max_ps(most, _mm_movehl_ps(most, most));
    const float largest = _mm_cvtss_f32(_mm_max_ss(most, _mm_movehdup_ps(most)));
    const __m256 factor = _mm256_set1_ps(largest > 0 ? 32512.0f / largest : 0);
    __m256i whole[2], high[2];
    CPU_UNROLL
    for (size_t i = 0; i < 2; i++) {
        whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(levels[i], factor));
        high[i] = _mm256_srai_epi32(_mm256_add_epi32(whole[i], _mm256_set1_epi32(128)), 8);
        whole[i] = _mm256_sub_epi32(whole[i], _mm256_slli_epi32(high[i], 8));
    }
    *out_high = _mm256_broadcastsi128_si256(bytes_of(high[0], high[1]));
    *out_low = _mm256_broadcastsi128_si256(bytes_of(whole[0], whole[1]));
    return largest / 32512.0f;
}

CPU_INLINE void unpack_levels(const struct cpu_matrix *w, size_t row, size_t at, size_t count, struct run *out)
{
    const uint8_t *digits = (const uint8_t *)w->plane[0] + row * w->stride[0] + at / 2;
    const uint8_t *scales = (const uint8_t *)w->plane[1] + row * w->stride[1];
    const uint32_t shift = group_shift(w);
    __m256 levels_here[2];
    __m256i high, low;
    levels_of(w, row, levels_here);
    const float unit = whole_levels(levels_here, &high, &low);
    for (size_t g = 0; g < count / 32; g++) {
        const __m256i places = nibbles(digits + 16 * g);
        store32(out->digits + 32 * g, _mm256_shuffle_epi8(high, places));
        store32(out->low + 32 * g, _mm256_shuffle_epi8(low, places));
        set_two(out->d + 2 * g, unit * half_to_float(scales + 2 * ((at / 32 + g) >> shift)));
    }
}

/* Weights at .. at + count of a row as they are, without the rounding of whole levels. */
CPU_INLINE void decode_levels(const struct cpu_matrix *w, size_t row, size_t at, size_t count, float *out)
{
    const uint8_t *digits = (const uint8_t *)w->plane[0] + row * w->stride[0] + at / 2;
    const uint8_t *scales = (const uint8_t *)w->plane[1] + row * w->stride[1];
    const uint32_t shift = group_shift(w);
    __m256 levels_here[2];
    levels_of(w, row, levels_here);
    for (size_t g = 0; g < count / 32; g++) {
        const __m256 d = _mm256_set1_ps(half_to_float(scales + 2 * ((at / 32 + g) >> shift)));
        uint8_t places[32];
        store32((int8_t *)places, nibbles(digits + 16 * g));
        CPU_UNROLL
        for (size_t i = 0; i < 32; i += 8) {
            const __m256i place = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(places + i)));
            const __m256 first = _mm256_permutevar8x32_ps(levels_here[0], place);
            const __m256 last = _mm256_permutevar8x32_ps(levels_here[1], place);
            /* Bit 3 says which half of the levels, as the sign that a blend looks at. */
            const __m256 level = _mm256_blendv_ps(first, last, _mm256_castsi256_ps(_mm256_slli_epi32(place, 28)));
            _mm256_storeu_ps(out + 32 * g + i, _mm256_mul_ps(level, d));
        }
    }
}

/* Takes apart `count` weights of a row, a multiple of 32 and of the kind's block, from weight `at` on, which is a
 * multiple of RUN_VALUES. */
CPU_INLINE void take_apart(const struct kind kind, const struct cpu_matrix *w, size_t row, size_t at, size_t count,
                           struct run *out)
{
    if (has_levels(kind))
        unpack_levels(w, row, at, count, out);
    else if (is_planar(kind))
        unpack_planar(kind, w, row, at, count, out);
    else
        unpack(kind, (const uint8_t *)w->plane[0] + row * w->stride[0], at, count, out);
}

/* Bytes of plane 0 before weight `at` of a row. */
CPU_INLINE size_t bytes_before(const struct kind kind, const struct cpu_matrix *w, size_t at)
{
    return is_planar(kind) ? at / 8 * ACCEL_PLANAR_BITS(w->type) : at / kind.block_values * kind.block_bytes;
}

/* Digits are places in a table. */
CPU_INLINE int is_of_levels(const struct cpu_matrix *w)
{
    return ACCEL_PLANAR_SCHEME(w->type) >= ACCEL_SCHEME_NF4;
}

CPU_INLINE int is_asymmetric(const struct cpu_matrix *w)
{
    return ACCEL_PLANAR_SCHEME(w->type) == ACCEL_SCHEME_ASYMMETRIC;
}

#endif
