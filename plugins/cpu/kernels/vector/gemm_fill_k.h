/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the 8-bit matmuls: blocks of 256 weights on their way into a panel. The bytes of eight rows are transposed
 * as they lie, and what they mean is taken apart afterwards, four digits or scales of each of the eight rows at a time.
 * Measured with AVX2 on one core of a shared Zen 3 server, weights in the cache: about a third of the time for q4_k
 * that taking every row apart alone needed; 8 rows of x go from 25 to 40 % of the peak of maddubs, 16 rows from 34 to
 * 46 %.
 */
#ifndef CPU_VECTOR_GEMM_FILL_K_H
#define CPU_VECTOR_GEMM_FILL_K_H

#include "gemm.h"
#include "unpack.h"

/* Blocks of eight rows: where they lie, or words of a panel, of which `half` is what its rows have beside words. */
struct eight {
    const uint8_t *const *rows; /* NULL: in a panel */
    size_t offset;              /* of the block in a row */
    const uint8_t *words;
    const uint8_t *half;
};

/* Four words of each row from byte `at` of the block on, a multiple of 4 where it lies in a panel. */
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

/* The half at byte `at` of the block, which is the one beside words in a panel. */
CPU_INLINE __m256 load_half(const struct eight *from, size_t at)
{
    return _mm256_cvtph_ps(from->rows != NULL ? eight_halves(from->rows, from->offset + at)
                                              : _mm_loadu_si128((const __m128i *)(const void *)from->half));
}

/* Bits of every byte, moved left (right where negative) and masked. */
CPU_INLINE __m256i moved(__m256i bytes, const int left, const int mask)
{
    __m256i at = left > 0 ? _mm256_slli_epi16(bytes, left) : left < 0 ? _mm256_srli_epi16(bytes, -left) : bytes;
    return _mm256_and_si256(at, _mm256_set1_epi8((char)mask));
}

/* Digits of group g (a constant), without sign, from the bytes with their low bits and those with their high ones. */
CPU_INLINE __m256i k_group(const struct kind kind, const int g, __m256i low, __m256i high)
{
    switch (kind.type) {
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

/* Where 32 low parts begin that several groups have in common, and how many of those there are. */
CPU_INLINE size_t k_low_at(const struct kind kind)
{
    return kind.type == ACCEL_Q5_K ? 48 : kind.type == ACCEL_Q3_K ? 32 : kind.type == ACCEL_Q6_K ? 0 : 16;
}

CPU_INLINE size_t k_high_at(const struct kind kind)
{
    return kind.type == ACCEL_Q6_K ? 128 : kind.type == ACCEL_Q5_K ? 16 : 0;
}

/* Group i of those with low part `part`. */
CPU_INLINE size_t k_group_at(const struct kind kind, size_t part, size_t i)
{
    if (kind.type == ACCEL_Q6_K)
        return part / 2 * 4 + part % 2 + 2 * i;
    return kind.type == ACCEL_Q2_K || kind.type == ACCEL_Q3_K ? 4 * part + i : 2 * part + i;
}

/* Digits `half` * 16 and the 15 after it of each group, of 8 rows; `out` is where the first run has these rows. */
CPU_INLINE void k_digits(const struct kind kind, const struct eight *from, const size_t half, uint8_t *out)
{
    const size_t shared = kind.type == ACCEL_Q2_K || kind.type == ACCEL_Q3_K ? 4 : 2;
    const int has_high = kind.type != ACCEL_Q2_K && kind.type != ACCEL_Q4_K;
    __m256i low[4], high[4];
    CPU_UNROLL
    for (size_t part = 0; part < 8 / shared; part++) {
        if (has_high && (part == 0 || (kind.type == ACCEL_Q6_K && part == 2)))
            load_words(from, k_high_at(kind) + part / 2 * 32 + 16 * half, high);
        load_words(from, k_low_at(kind) + part * 32 + 16 * half, low);
        CPU_UNROLL
        for (size_t i = 0; i < shared; i++) {
            const size_t g = k_group_at(kind, part, i);
            CPU_UNROLL
            for (size_t c = 0; c < 4; c++) {
                uint8_t *at = out + g * BLOCK_BYTES + (4 * half + c) * RUN_BYTES;
                _mm256_storeu_si256((__m256i *)at, k_group(kind, (int)g, low[c], has_high ? high[c] : low[c]));
            }
        }
    }
}

/* What the header of a block says, of 8 rows: 16 scales and 16 minima of a byte (8 of each where 32 weights share
 * them), four a word. */
struct k_head {
    __m256i scales[4];
    __m256i minima[4];
    __m256 d;
    __m256 dmin;
};

/* Numbers of which each word has one in its lower half and another in its upper one. */
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

/* Four bits of `low` under two of `high`, both moved right. */
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
    /* The load begins with digits and ends with the block. */
    load_words(from, 68, words);
    two_halves(words[3], &out->d, &out->dmin);
}

/* See scales_q3_k of unpack.h. In rows the load begins two bytes before the scales and ends with the block; in a panel
 * it begins a word before them. */
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

/* Byte i (a constant) of every word, with its sign. */
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

/* Factors and minima of eight blocks of 8 rows, `lane` the first of them; see gemm.h for `center`. */
CPU_INLINE void k_scales(const struct kind kind, const int center, const struct k_head *head, size_t at, size_t lane,
                         struct gemm_panel *out)
{
    const __m256 back = _mm256_mul_ps(head->d, _mm256_set1_ps((float)center));
    const size_t scales = kind.fine ? 16 : 8;
    CPU_UNROLL
    for (size_t i = 0; i < scales; i++) {
        const size_t block = at + (kind.fine ? i / 2 : i), half = kind.fine ? i % 2 : 0;
        const __m256i scale = byte_of(head->scales[i / 4], i % 4);
        put_factors(scale, out->factor[block][half] + lane);
        if (!kind.minimum)
            continue;
        const __m256 minimum = _mm256_cvtepi32_ps(byte_of(head->minima[i / 4], i % 4));
        __m256 m = _mm256_sub_ps(_mm256_setzero_ps(), _mm256_mul_ps(minimum, head->dmin));
        if (center)
            m = _mm256_fmadd_ps(_mm256_cvtepi32_ps(scale), back, m);
        _mm256_storeu_ps(out->m[block][half] + lane, m);
    }
    _mm256_storeu_ps(out->d[at / 8] + lane, head->d);
}

/* Eight rows of a panel from `lane` on, eight blocks of 32 from block `at` of the panel on; see gemm.h for `center`. */
CPU_INLINE void fill_eight(const struct kind kind, const int center, const struct eight *from, size_t at, size_t lane,
                           struct gemm_panel *out)
{
    struct k_head head;
    for (size_t half = 0; half < 2; half++)
        k_digits(kind, from, half, out->digits + at * BLOCK_BYTES + 4 * lane);
    if (kind.type == ACCEL_Q2_K)
        head_q2(from, &head);
    else if (kind.type == ACCEL_Q3_K)
        head_q3(from, &head);
    else if (kind.type == ACCEL_Q6_K)
        head_q6(from, &head);
    else
        head_6(from, &head);
    k_scales(kind, kind.minimum ? center : 0, &head, at, lane, out);
}

/* Blocks of 256 with whole numbers for scales of 16 or 32; digits that are `center` above their true value and have a
 * minimum of their own have that in it. */
CPU_INLINE void fill_super(const struct kind kind, const int center, const struct gemm_rows *w, size_t first,
                           size_t count, struct gemm_panel *out)
{
    const uint8_t *from[PANEL_ROWS];
    if (w->panel == NULL)
        panel_rows(w->w, 0, w->rows, from);
    for (size_t at = 0; at < count; at += 8) {
        const size_t offset = (first + at) / 8 * kind.block_bytes;
        for (size_t lane = 0; lane < PANEL_ROWS; lane += 8) {
            struct eight eight = {from + lane, offset, NULL, NULL};
            if (w->panel != NULL) {
                const uint8_t *block = w->panel + offset * PANEL_ROWS;
                eight.rows = NULL;
                eight.half = block + 2 * lane;
                eight.words = block + (kind.block_bytes % 4 ? PANEL_HALF : 0) + 4 * lane;
            }
            fill_eight(kind, center, &eight, at, lane, out);
        }
    }
}

#endif
