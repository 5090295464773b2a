/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to attention: multiplies the codes of 4-bit caches. Keys: q is rounded to 8 bits with a scale per row, and 32
 * products are one instruction. Values: the weights of a tile are rounded to 14 bits of their largest, as two 7-bit
 * halves, so that pairs of keys are summed in 16 bits, 16 keys at a time. Both satisfy the `rounding` of
 * ACCEL_OP_ATTENTION: the error of q is at most 1/254 of its largest element, that of a weight 1/32512 of the tile's.
 */
#ifndef CPU_VECTOR_ATTENTION_Q4_H
#define CPU_VECTOR_ATTENTION_Q4_H

#include <stdbool.h>

#include "attention_scratch.h"
#include "unpack.h"

#define WEIGHT 16256 /* 127 * 128: the largest weight of a tile in units of the last place */
#define PAIRS 8u     /* pairs of keys that 16-bit sums hold */

/* Returns whether a cache has 4 bits and groups that fit 16-bit sums. */
static bool is_q4_cache(const struct cpu_cache *cache)
{
    return ACCEL_IS_PLANAR(cache->type) && ACCEL_PLANAR_BITS(cache->type) == 4 &&
           ACCEL_PLANAR_LOG2_GROUP(cache->type) <= 7;
}

static size_t group_of(const struct cpu_cache *cache)
{
    return (size_t)1 << ACCEL_PLANAR_LOG2_GROUP(cache->type);
}

/* Returns the largest magnitude of a row, of whole vectors. */
CPU_INLINE float largest_of(const float *q, size_t size)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 most = _mm256_setzero_ps();
    for (size_t i = 0; i < size; i += 8)
        most = _mm256_max_ps(most, _mm256_andnot_ps(sign, _mm256_loadu_ps(q + i)));
    return max8(most);
}

/* Rounds eight elements of a row, and returns the sum of their codes. */
CPU_INLINE int32_t round_eight(const float *q, float inverse, int8_t *out)
{
    const __m256 x = _mm256_mul_ps(_mm256_loadu_ps(q), _mm256_set1_ps(inverse));
    const __m256 half = _mm256_or_ps(_mm256_and_ps(x, _mm256_set1_ps(-0.0f)), _mm256_set1_ps(0.5f));
    const __m256i codes = _mm256_cvttps_epi32(_mm256_add_ps(x, half));
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
    const __m128i pairs = _mm_madd_epi16(words, _mm_set1_epi16(1));
    const __m128i fours = _mm_add_epi32(pairs, _mm_srli_si128(pairs, 8));
    _mm_storel_epi64((__m128i *)out, _mm_packs_epi16(words, words));
    return _mm_cvtsi128_si32(fours) + _mm_cvtsi128_si32(_mm_srli_si128(fours, 4));
}

/* Rounds the queries of a block, whose groups are whole vectors. */
static void round_rows(struct scratch *s, size_t rows, size_t size, size_t padded, const struct cpu_cache *cache)
{
    const size_t group = group_of(cache);
    for (size_t r = 0; r < rows; r++) {
        const float *q = s->q + r * padded;
        const float most = largest_of(q, size), inverse = most > 0 ? 127.0f / most : 0;
        s->q_scale[r] = most / 127.0f;
        memset(s->sum[r], 0, sizeof(s->sum[r]));
        for (size_t i = 0; i < size; i += 8)
            s->sum[r][i / group] += round_eight(q + i, inverse, s->q8 + r * size + i);
    }
}

/* Loads the scales of the groups of `count` slots; zeros for the rest of a tile. */
static void load_scales(const struct cpu_cache *cache, struct scratch *s, size_t count, size_t at, size_t size)
{
    const size_t groups = size / group_of(cache);
    for (size_t j = 0; j < count; j++) {
        const uint8_t *scales = cpu_cache_scales(cache, s->slot[j], at);
        for (size_t g = 0; g < groups; g++)
            s->scale[g][j] = half_to_float(scales + 2 * g);
    }
    for (size_t g = 0; g < groups; g++)
        memset(s->scale[g] + count, 0, (KEYS - count) * sizeof(float));
}

/* ---- keys ---- */

typedef float four_floats __attribute__((vector_size(16)));
typedef int32_t four_whole __attribute__((vector_size(16)));

/* Multiplies one row of q with four keys that are `apart` bytes from each other, `size` elements. */
CPU_INLINE void dot_bytes(const int8_t *q, const uint8_t *keys, size_t apart, size_t size, int32_t out[4])
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
    for (size_t i = 0; i < size; i += 32) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(q + i));
        CPU_UNROLL
        for (size_t l = 0; l < 4; l++) {
            const __m256i key = _mm256_loadu_si256((const __m256i *)(keys + l * apart + i));
            sums[l] = _mm256_add_epi16(sums[l], _mm256_maddubs_epi16(key, x));
        }
    }
    CPU_UNROLL
    for (size_t l = 0; l < 4; l++)
        sums[l] = _mm256_madd_epi16(sums[l], ones);
    const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
    _mm_storeu_si128((__m128i *)out, _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
}

/* Computes the scores of a tile of `keys` keys, a multiple of 4, with elements at .. at + size of each slot. */
static void score_codes(const struct cpu_cache *cache, struct scratch *s, size_t rows, size_t keys, size_t at,
                        size_t size)
{
    const size_t group = group_of(cache), groups = size / group;
    load_scales(cache, s, keys, at, size);
    for (size_t j = 0; j < keys; j++) {
        const uint8_t *codes = cpu_cache_codes(cache, s->slot[j], at);
        prefetch_slot(cache, s->slot[j], at, size);
        for (size_t i = 0; i < size; i += 32)
            store32((int8_t *)s->bytes + j * size + i, nibbles(codes + i / 2));
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < keys; j += 4) {
            four_floats score = {0};
            for (size_t g = 0; g < groups; g++) {
                four_floats scale;
                four_whole dots;
                int32_t four_sums[4];
                dot_bytes(s->q8 + r * size + g * group, s->bytes + j * size + g * group, size, group, four_sums);
                memcpy(&dots, four_sums, sizeof(dots));
                memcpy(&scale, s->scale[g] + j, sizeof(scale));
                score += scale * __builtin_convertvector(dots - 8 * s->sum[r][g], four_floats);
            }
            score *= s->q_scale[r];
            memcpy(s->score[r] + j, &score, sizeof(score));
        }
    }
}

/* ---- values ---- */

/* The weights of one row over the keys of a tile for one group, as two 7-bit halves. */
struct halves {
    int8_t high[KEYS];
    int8_t low[KEYS];
    int32_t sum; /* sum of the rounded weights */
    float unit;  /* value of one unit */
};

typedef int8_t narrow_codes __attribute__((vector_size(VN)));

/* Splits weights into halves. `score` and `scale` are zeros after the last key. The lower half is unsigned. */
static void halve(const float *score, const float *scale, struct halves *out)
{
    vf weight[KEYS / VN], most = v_set(0);
    CPU_UNROLL
    for (size_t j = 0; j < KEYS / VN; j++) {
        weight[j] = v_load(score + j * VN) * v_load(scale + j * VN);
        most = v_max(v_abs(weight[j]), most);
    }
    const float largest = v_most(most), inverse = largest > 0 ? WEIGHT / largest : 0;
    const vf factor = v_set(isfinite(inverse) ? inverse : 0);
    vi sums = {0};
    CPU_UNROLL
    for (size_t j = 0; j < KEYS / VN; j++) {
        const vi whole = __builtin_convertvector(v_round(weight[j] * factor), vi);
        const narrow_codes high = __builtin_convertvector(whole >> 7, narrow_codes);
        const narrow_codes low = __builtin_convertvector(whole & 127, narrow_codes);
        memcpy(out->high + j * VN, &high, sizeof(high));
        memcpy(out->low + j * VN, &low, sizeof(low));
        sums += whole;
    }
    out->sum = 0;
    for (size_t i = 0; i < VN; i++)
        out->sum += sums[i];
    out->unit = largest / WEIGHT;
}

CPU_INLINE void interleave_nibbles32(const uint8_t *one, const uint8_t *other, uint8_t *out)
{
    const __m128i mask = _mm_set1_epi8(15);
    __m128i a = _mm_loadu_si128((const __m128i *)one), b = _mm_loadu_si128((const __m128i *)other);
    CPU_UNROLL
    for (size_t half = 0; half < 2; half++) {
        const __m128i x = _mm_and_si128(a, mask), y = _mm_and_si128(b, mask);
        _mm_storeu_si128((__m128i *)(out + 32 * half), _mm_unpacklo_epi8(x, y));
        _mm_storeu_si128((__m128i *)(out + 32 * half + 16), _mm_unpackhi_epi8(x, y));
        a = _mm_srli_epi16(a, 4);
        b = _mm_srli_epi16(b, 4);
    }
}

CPU_INLINE __m256i broadcast_pair(const int8_t *p)
{
    int16_t pair;
    memcpy(&pair, p, sizeof(pair));
    return _mm256_set1_epi16(pair);
}

/* Adds the values of 32 elements of all pairs, `apart` bytes from each other, to o * rescale. */
CPU_INLINE void add_values32(const struct halves *w, const uint8_t *pairs, size_t apart, size_t pair_count,
                             float rescale, float *o)
{
    const __m256i both = _mm256_set1_epi32(1 << 16 | 128);
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
    for (size_t begin = 0; begin < pair_count; begin += PAIRS) {
        const size_t end = least(begin + PAIRS, pair_count);
        __m256i high[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        __m256i low[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (size_t t = begin; t < end; t++) {
            const __m256i wh = broadcast_pair(w->high + 2 * t), wl = broadcast_pair(w->low + 2 * t);
            CPU_UNROLL
            for (size_t u = 0; u < 2; u++) {
                const __m256i v = _mm256_loadu_si256((const __m256i *)(pairs + t * apart + 32 * u));
                high[u] = _mm256_add_epi16(high[u], _mm256_maddubs_epi16(v, wh));
                low[u] = _mm256_add_epi16(low[u], _mm256_maddubs_epi16(v, wl));
            }
        }
        CPU_UNROLL
        for (size_t u = 0; u < 2; u++) {
            const __m256i a = _mm256_madd_epi16(_mm256_unpacklo_epi16(high[u], low[u]), both);
            const __m256i b = _mm256_madd_epi16(_mm256_unpackhi_epi16(high[u], low[u]), both);
            sums[2 * u] = _mm256_add_epi32(sums[2 * u], _mm256_permute2x128_si256(a, b, 0x20));
            sums[2 * u + 1] = _mm256_add_epi32(sums[2 * u + 1], _mm256_permute2x128_si256(a, b, 0x31));
        }
    }
    const __m256i less = _mm256_set1_epi32(8 * w->sum);
    const __m256 unit = _mm256_set1_ps(w->unit), rescales = _mm256_set1_ps(rescale);
    CPU_UNROLL
    for (size_t u = 0; u < 4; u++) {
        const __m256 sum = _mm256_cvtepi32_ps(_mm256_sub_epi32(sums[u], less));
        _mm256_storeu_ps(o + 8 * u, _mm256_fmadd_ps(sum, unit, _mm256_mul_ps(_mm256_loadu_ps(o + 8 * u), rescales)));
    }
}

/* Adds the values of a tile of `count` keys to the sums of all rows. */
static void add_codes(const struct cpu_cache *cache, struct scratch *s, size_t rows, size_t count, size_t at,
                      size_t size, size_t padded, const float rescale[ROWS])
{
    const size_t group = group_of(cache), pairs = (count + 1) / 2;
    load_scales(cache, s, count, at, size);
    for (size_t t = 0; t < pairs; t++) {
        const uint8_t *one = cpu_cache_codes(cache, s->slot[2 * t], at);
        const uint8_t *other = cpu_cache_codes(cache, s->slot[2 * t + (2 * t + 1 < count)], at);
        prefetch_slot(cache, s->slot[2 * t], at, size);
        prefetch_slot(cache, s->slot[2 * t] + 1, at, size);
        for (size_t i = 0; i < size; i += 32)
            interleave_nibbles32(one + i / 2, other + i / 2, s->bytes + (t * size + i) * 2);
    }
    for (size_t g = 0; g < size / group; g++) {
        for (size_t r = 0; r < rows; r++) {
            struct halves halves;
            halve(s->score[r], s->scale[g], &halves);
            for (size_t i = g * group; i < (g + 1) * group; i += 32)
                add_values32(&halves, s->bytes + 2 * i, 2 * size, pairs, rescale[r], s->o + r * padded + i);
        }
    }
}

#endif
