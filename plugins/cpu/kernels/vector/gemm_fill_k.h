/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the 8-bit GEMM: fills panels from blocks of 256 weights. The bytes of eight rows are transposed as stored
 * and unpacked afterwards, four codes or scales of each of the eight rows at a time: a third of the time of unpacking
 * row by row (doc/benchmark.md, filling panels).
 */
#ifndef CPU_VECTOR_GEMM_FILL_K_H
#define CPU_VECTOR_GEMM_FILL_K_H

#include "gemm.h"
#include "unpack.h"

/* Blocks of eight rows: in place, or words of a packed panel, with `half` the 2 bytes that are no word. */
struct eight {
    const uint8_t *const *rows; /* NULL: packed */
    size_t offset;              /* offset of the block in a row */
    const uint8_t *words;
    const uint8_t *half;
};

/* Loads four words of each row from byte `at` of the block on, a multiple of 4 in packed weights. */
CPU_INLINE void load_words(const struct eight *from, size_t at, __m256i v[4])
{
    if (from->rows != NULL) {
        load_transposed(from->rows, from->offset + at, v);
        return;
    }
    CPU_UNROLL
    for (size_t c = 0; c < 4; c++)
        v[c] = load32(from->words + (at / 4 + c) * PANEL_WORD);
}

/* Loads the half at byte `at` of the block; in packed weights the one beside the words. */
CPU_INLINE __m256 load_half(const struct eight *from, size_t at)
{
    return _mm256_cvtph_ps(from->rows != NULL ? eight_halves(from->rows, from->offset + at)
                                              : _mm_loadu_si128((const __m128i *)(const void *)from->half));
}

/* Shifts the bits of every byte left (right if negative) and masks them. */
CPU_INLINE __m256i moved(__m256i bytes, const int left, const int mask)
{
    __m256i at = left > 0 ? _mm256_slli_epi16(bytes, left) : left < 0 ? _mm256_srli_epi16(bytes, -left) : bytes;
    return _mm256_and_si256(at, _mm256_set1_epi8((char)mask));
}

/* Returns the unsigned codes of group g (a constant) from bytes with their low bits and bytes with their high bits. */
CPU_INLINE __m256i k_group(const struct traits traits, const int g, __m256i low, __m256i high)
{
    switch (traits.type) {
    case ACCEL_Q2_K:
        return moved(low, -2 * (g % 4), 3);
    case ACCEL_Q3_K:
        return _mm256_or_si256(moved(low, -2 * (g % 4), 3), moved(high, 2 - g, 4));
    case ACCEL_Q4_K:
        return moved(low, g % 2 ? -4 : 0, 15);
    case ACCEL_Q5_K:
        return _mm256_or_si256(moved(low, g % 2 ? -4 : 0, 15), moved(high, 4 - g, 16));
    default:
        return _mm256_or_si256(moved(low, g % 4 / 2 ? -4 : 0, 15), moved(high, 4 - 2 * (g % 4), 48));
    }
}

/* Offset of the low code bits of a block, and of the high ones. */
CPU_INLINE size_t k_low_at(const struct traits traits)
{
    return traits.type == ACCEL_Q5_K ? 48 : traits.type == ACCEL_Q3_K ? 32 : traits.type == ACCEL_Q6_K ? 0 : 16;
}

CPU_INLINE size_t k_high_at(const struct traits traits)
{
    return traits.type == ACCEL_Q6_K ? 128 : traits.type == ACCEL_Q5_K ? 16 : 0;
}

/* Returns group i of those with low part `part`. */
CPU_INLINE size_t k_group_at(const struct traits traits, size_t part, size_t i)
{
    if (traits.type == ACCEL_Q6_K)
        return part / 2 * 4 + part % 2 + 2 * i;
    return traits.type == ACCEL_Q2_K || traits.type == ACCEL_Q3_K ? 4 * part + i : 2 * part + i;
}

/* Stores codes 16 * `half` .. 16 * `half` + 15 of each group of 8 rows; `out` is the position of these rows in the
 * first word. */
CPU_INLINE void k_codes(const struct traits traits, const struct eight *from, const size_t half, uint8_t *out)
{
    const size_t shared = traits.type == ACCEL_Q2_K || traits.type == ACCEL_Q3_K ? 4 : 2;
    const int has_high = traits.type != ACCEL_Q2_K && traits.type != ACCEL_Q4_K;
    __m256i low[4], high[4];
    CPU_UNROLL
    for (size_t part = 0; part < 8 / shared; part++) {
        if (has_high && (part == 0 || (traits.type == ACCEL_Q6_K && part == 2)))
            load_words(from, k_high_at(traits) + part / 2 * 32 + 16 * half, high);
        load_words(from, k_low_at(traits) + part * 32 + 16 * half, low);
        CPU_UNROLL
        for (size_t i = 0; i < shared; i++) {
            const size_t g = k_group_at(traits, part, i);
            CPU_UNROLL
            for (size_t c = 0; c < 4; c++) {
                uint8_t *at = out + g * BLOCK_BYTES + (4 * half + c) * WORD_BYTES;
                _mm256_storeu_si256((__m256i *)at, k_group(traits, (int)g, low[c], has_high ? high[c] : low[c]));
            }
        }
    }
}

/* Block header of 8 rows: 16 scales and 16 minima of a byte (8 of each if 32 weights share them), four per word. */
struct k_head {
    __m256i scales[4];
    __m256i minima[4];
    __m256 d;
    __m256 dmin;
};

/* Widens two halves per word: the lower and the upper one. */
CPU_INLINE void two_halves(__m256i words, __m256 *out_low, __m256 *out_high)
{
    const __m256i apart =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    const __m256i both = _mm256_shuffle_epi8(words, apart);
    const __m128i first = _mm256_castsi256_si128(both), last = _mm256_extracti128_si256(both, 1);
    *out_low = _mm256_cvtph_ps(_mm_unpacklo_epi64(first, last));
    *out_high = _mm256_cvtph_ps(_mm_unpackhi_epi64(first, last));
}

CPU_INLINE __m256i and_words(__m256i v, int mask)
{
    return _mm256_and_si256(v, _mm256_set1_epi32(mask));
}

/* Combines four bits of `low` with two of `high`, both shifted right. */
CPU_INLINE __m256i four_and_two(__m256i low, const int low_right, __m256i high, const int high_right)
{
    const __m256i four = and_words(low_right ? _mm256_srli_epi32(low, low_right) : low, 0x0f0f0f0f);
    const __m256i two = and_words(high_right ? _mm256_srli_epi32(high, high_right) : high, 0x03030303);
    return _mm256_or_si256(four, _mm256_slli_epi32(two, 4));
}

/* See words6 of unpack.h. */
CPU_INLINE void head_6(const struct eight *from, struct k_head *out)
{
    __m256i words[4];
    load_words(from, 0, words);
    two_halves(words[0], &out->d, &out->dmin);
    out->scales[0] = and_words(words[1], 0x3f3f3f3f);
    out->scales[1] = four_and_two(words[3], 0, words[1], 6);
    out->minima[0] = and_words(words[2], 0x3f3f3f3f);
    out->minima[1] = four_and_two(words[3], 4, words[2], 6);
}

CPU_INLINE void head_q2(const struct eight *from, struct k_head *out)
{
    __m256i words[4];
    load_words(from, 0, words);
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++) {
        out->scales[i] = and_words(words[i], 0x0f0f0f0f);
        out->minima[i] = and_words(_mm256_srli_epi32(words[i], 4), 0x0f0f0f0f);
    }
    /* The load starts within the codes and ends with the block. */
    load_words(from, 68, words);
    two_halves(words[3], &out->d, &out->dmin);
}

/* See scales_q3_k of unpack.h. In rows the load starts two bytes before the scales and ends with the block; in packed
 * weights it starts a word before them. */
CPU_INLINE void head_q3(const struct eight *from, struct k_head *out)
{
    const __m256i up = _mm256_set1_epi8(32);
    __m256i words[4], abc[3];
    if (from->rows != NULL) {
        load_words(from, 94, words);
        two_halves(words[3], &out->dmin, &out->d);
        CPU_UNROLL
        for (size_t i = 0; i < 3; i++)
            abc[i] = _mm256_or_si256(_mm256_srli_epi32(words[i], 16), _mm256_slli_epi32(words[i + 1], 16));
    } else {
        load_words(from, 92, words);
        out->d = load_half(from, 108);
        CPU_UNROLL
        for (size_t i = 0; i < 3; i++)
            abc[i] = words[i + 1];
    }
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++)
        out->scales[i] = _mm256_sub_epi8(four_and_two(abc[i % 2], i < 2 ? 0 : 4, abc[2], 2 * (int)i), up);
}

CPU_INLINE void head_q6(const struct eight *from, struct k_head *out)
{
    load_words(from, 192, out->scales);
    out->d = load_half(from, 208);
}

/* Returns byte i (a constant) of every word, sign-extended. */
CPU_INLINE __m256i byte_of(__m256i words, const size_t i)
{
    return _mm256_srai_epi32(i == 3 ? words : _mm256_slli_epi32(words, 24 - 8 * (int)i), 24);
}

CPU_INLINE void put_factors(__m256i numbers, gemm_factor *out)
{
#ifdef CPU_DOT32
    _mm256_storeu_ps(out, _mm256_cvtepi32_ps(numbers));
#else
    const __m256i twice =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13));
    _mm256_storeu_si256((__m256i *)(void *)out, _mm256_shuffle_epi8(numbers, twice));
#endif
}

/* Stores integer scales and minima of eight blocks of 8 rows, `lane` the first of them; see gemm.h for `center`. */
CPU_INLINE void k_scales(const struct traits traits, const int center, const struct k_head *head, size_t at,
                         size_t lane, struct gemm_panel *out)
{
    const __m256 back = _mm256_mul_ps(head->d, _mm256_set1_ps((float)center));
    const size_t scales = traits.fine ? 16 : 8;
    CPU_UNROLL
    for (size_t i = 0; i < scales; i++) {
        const size_t block = at + (traits.fine ? i / 2 : i), half = traits.fine ? i % 2 : 0;
        const __m256i scale = byte_of(head->scales[i / 4], i % 4);
        put_factors(scale, out->factor[block][half] + lane);
        if (!traits.minimum)
            continue;
        const __m256 minimum = _mm256_cvtepi32_ps(byte_of(head->minima[i / 4], i % 4));
        __m256 m = _mm256_sub_ps(_mm256_setzero_ps(), _mm256_mul_ps(minimum, head->dmin));
        if (center)
            m = _mm256_fmadd_ps(_mm256_cvtepi32_ps(scale), back, m);
        _mm256_storeu_ps(out->m[block][half] + lane, m);
    }
    _mm256_storeu_ps(out->d[at / 8] + lane, head->d);
}

/* Fills eight rows of a panel from `lane` on, eight blocks of 32 from block `at` on; see gemm.h for `center`. */
CPU_INLINE void fill_eight(const struct traits traits, const int center, const struct eight *from, size_t at,
                           size_t lane, struct gemm_panel *out)
{
    struct k_head head;
    for (size_t half = 0; half < 2; half++)
        k_codes(traits, from, half, out->codes + at * BLOCK_BYTES + 4 * lane);
    if (traits.type == ACCEL_Q2_K)
        head_q2(from, &head);
    else if (traits.type == ACCEL_Q3_K)
        head_q3(from, &head);
    else if (traits.type == ACCEL_Q6_K)
        head_q6(from, &head);
    else
        head_6(from, &head);
    k_scales(traits, traits.minimum ? center : 0, &head, at, lane, out);
}

/* Fills a panel from blocks of 256 with integer scales per 16 or 32; formats with minima fold the zero point `center`
 * into them. */
CPU_INLINE void fill_super(const struct traits traits, const int center, const struct gemm_rows *w, size_t first,
                           size_t count, struct gemm_panel *out)
{
    const uint8_t *from[PANEL_ROWS];
    if (w->panel == NULL)
        panel_rows(w->w, 0, w->rows, from);
    for (size_t at = 0; at < count; at += 8) {
        const size_t offset = (first + at) / 8 * traits.block_bytes;
        for (size_t lane = 0; lane < PANEL_ROWS; lane += 8) {
            struct eight eight = {from + lane, offset, NULL, NULL};
            if (w->panel != NULL) {
                const uint8_t *block = w->panel + offset * PANEL_ROWS;
                eight.rows = NULL;
                eight.half = block + 2 * lane;
                eight.words = block + (traits.block_bytes % 4 ? PANEL_HALF : 0) + 4 * lane;
            }
            fill_eight(traits, center, &eight, at, lane, out);
        }
    }
}

#endif
