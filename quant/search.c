/* SPDX-License-Identifier: Apache-2.0 */
/* Hot loops of quantization. Bound: operations, nine per value and candidate. The inner loops run over candidates, one
 * per lane, so that there is no horizontal sum. */
#include <string.h>

#include "blocks.h"
#include "blocks_write.h"
#include "fit.h"
#include "search.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_VECTORS 1
#include <immintrin.h>
#endif

#define CHUNK 512u

/* Eight partial results, of every eighth value of a group. */
struct lanes8 {
    float lane[8];
};

/* The loops of an instruction set. Sums are added to `out`; measure takes multiples of eight values. */
struct search_kernels {
    void (*symmetric)(const float *values, const float *weight, size_t count, float lowest, float highest,
                      const struct quant_candidates *candidates, struct quant_sums *out);
    void (*affine)(const float *values, const float *weight, size_t count, float highest,
                   const struct quant_candidates *candidates, struct quant_sums *out);
    void (*codebook)(const float *values, const float *weight, size_t count, const float codebook[16],
                     const float threshold[15], const struct quant_candidates *candidates, struct quant_sums *out);
    void (*measure)(const float *values, size_t count, struct lanes8 *low, struct lanes8 *high, struct lanes8 *x,
                    struct lanes8 *xx);
    void (*codes)(const float *values, size_t count, float inverse, const float codebook[16], const float threshold[15],
                  uint8_t *out);
    void (*widen)(const uint8_t *bytes, size_t count, float *out);
};

/* ---- plain ---- */

static void plain_symmetric(const float *values, const float *weight, size_t count, float lowest, float highest,
                            const struct quant_candidates *candidates, struct quant_sums *out)
{
    for (size_t i = 0; i < count; i++) {
        const float x = values[i], w = weight ? weight[i] : 1;
        for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
            float q = x * candidates->inverse[c];
            q = q < lowest ? lowest : q;
            q = q > highest ? highest : q;
            q = quant_round(q);
            float wq = w * q;
            out->qq[c] += wq * q;
            out->xq[c] += wq * x;
        }
    }
}

static void plain_affine(const float *values, const float *weight, size_t count, float highest,
                         const struct quant_candidates *candidates, struct quant_sums *out)
{
    for (size_t i = 0; i < count; i++) {
        const float x = values[i], w = weight ? weight[i] : 1;
        for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
            float q = (x - candidates->from[c]) * candidates->inverse[c];
            q = q < 0 ? 0 : q;
            q = q > highest ? highest : q;
            q = quant_round(q);
            float wq = w * q;
            out->q[c] += wq;
            out->qq[c] += wq * q;
            out->xq[c] += wq * x;
        }
    }
}

static void plain_codebook(const float *values, const float *weight, size_t count, const float codebook[16],
                           const float threshold[15], const struct quant_candidates *candidates, struct quant_sums *out)
{
    for (size_t i = 0; i < count; i++) {
        const float x = values[i], w = weight ? weight[i] : 1;
        for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
            const float scaled = x * candidates->inverse[c];
            uint32_t code = 0;
            for (uint32_t step = 8; step > 0; step /= 2)
                code += scaled > threshold[code + step - 1] ? step : 0;
            const float q = codebook[code];
            float wq = w * q;
            out->qq[c] += wq * q;
            out->xq[c] += wq * x;
        }
    }
}

static void plain_measure(const float *values, size_t count, struct lanes8 *low, struct lanes8 *high, struct lanes8 *x,
                          struct lanes8 *xx)
{
    for (size_t i = 0; i < count; i += 8) {
        for (size_t j = 0; j < 8; j++) {
            const float value = values[i + j];
            low->lane[j] = value < low->lane[j] ? value : low->lane[j];
            high->lane[j] = value > high->lane[j] ? value : high->lane[j];
            x->lane[j] += value;
            xx->lane[j] += value * value;
        }
    }
}

static void plain_codes(const float *values, size_t count, float inverse, const float codebook[16],
                        const float threshold[15], uint8_t *out)
{
    (void)codebook;
    for (size_t i = 0; i < count; i++) {
        const float scaled = values[i] * inverse;
        uint32_t code = 0;
        /* Thresholds rise, so that a binary search finds the last one below the value. */
        for (uint32_t step = 8; step > 0; step /= 2)
            code += scaled > threshold[code + step - 1] ? step : 0;
        out[i] = (uint8_t)code;
    }
}

static void plain_widen(const uint8_t *bytes, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = quant_read_half(bytes + 2 * i);
}

static const struct search_kernels plain_kernels = {plain_symmetric, plain_affine, plain_codebook,
                                                    plain_measure,   plain_codes,  plain_widen};

/* ---- with vectors ---- */

#ifdef HAVE_VECTORS

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Clang 14 cannot ask for F16C; processors with AVX2 and FMA have it. */
#if defined(__clang__)
#define HALVES "fma"
#else
#define HALVES "f16c"
#endif

#define AVX2 __attribute__((target("avx2,f16c")))
#define INLINE static inline __attribute__((always_inline))

/* Search tree of a codebook: the thresholds in the order of a binary search. */
struct tree {
    __m256 first;     /* 1 threshold, broadcast */
    __m256 second;    /* 2 thresholds */
    __m256 third;     /* 4 thresholds */
    __m256 fourth;    /* 8 thresholds */
    __m256 levels[2]; /* 16 entries */
};

AVX2 INLINE void plant(const float codebook[16], const float threshold[15], struct tree *out)
{
    out->first = _mm256_set1_ps(threshold[7]);
    out->second = _mm256_setr_ps(threshold[3], threshold[11], 0, 0, 0, 0, 0, 0);
    out->third = _mm256_setr_ps(threshold[1], threshold[5], threshold[9], threshold[13], 0, 0, 0, 0);
    out->fourth = _mm256_setr_ps(threshold[0], threshold[2], threshold[4], threshold[6], threshold[8], threshold[10],
                                 threshold[12], threshold[14]);
    out->levels[0] = _mm256_loadu_ps(codebook);
    out->levels[1] = _mm256_loadu_ps(codebook + 8);
}

/* Doubles the codes, plus one if the value is above the threshold. */
AVX2 INLINE __m256i descend(__m256i code, __m256 scaled, __m256 threshold)
{
    const __m256i above = _mm256_castps_si256(_mm256_cmp_ps(scaled, threshold, _CMP_GT_OQ));
    return _mm256_sub_epi32(_mm256_add_epi32(code, code), above);
}

AVX2 INLINE __m256i find_code(const struct tree *tree, __m256 scaled)
{
    __m256i code = descend(_mm256_setzero_si256(), scaled, tree->first);
    code = descend(code, scaled, _mm256_permutevar8x32_ps(tree->second, code));
    code = descend(code, scaled, _mm256_permutevar8x32_ps(tree->third, code));
    return descend(code, scaled, _mm256_permutevar8x32_ps(tree->fourth, code));
}

AVX2 static void avx2_codebook(const float *values, const float *weight, size_t count, const float codebook[16],
                               const float threshold[15], const struct quant_candidates *candidates,
                               struct quant_sums *out)
{
    const __m256 inverse[2] = {_mm256_loadu_ps(candidates->inverse), _mm256_loadu_ps(candidates->inverse + 8)};
    __m256 qq[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()}, xq[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    struct tree tree;
    plant(codebook, threshold, &tree);
    for (size_t i = 0; i < count; i++) {
        const __m256 x = _mm256_set1_ps(values[i]), w = _mm256_set1_ps(weight ? weight[i] : 1);
        UNROLL
        for (size_t v = 0; v < 2; v++) {
            const __m256i code = find_code(&tree, x * inverse[v]);
            const __m256 half = _mm256_castsi256_ps(_mm256_slli_epi32(code, 28));
            const __m256 q = _mm256_blendv_ps(_mm256_permutevar8x32_ps(tree.levels[0], code),
                                              _mm256_permutevar8x32_ps(tree.levels[1], code), half);
            const __m256 wq = w * q;
            qq[v] += wq * q;
            xq[v] += wq * x;
        }
    }
    UNROLL
    for (size_t v = 0; v < 2; v++) {
        _mm256_storeu_ps(out->qq + 8 * v, qq[v]);
        _mm256_storeu_ps(out->xq + 8 * v, xq[v]);
    }
}

AVX2 static void avx2_codes(const float *values, size_t count, float inverse, const float codebook[16],
                            const float threshold[15], uint8_t *out)
{
    struct tree tree;
    size_t i = 0;
    plant(codebook, threshold, &tree);
    for (; i + 8 <= count; i += 8) {
        const __m256i code = find_code(&tree, _mm256_loadu_ps(values + i) * _mm256_set1_ps(inverse));
        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
        _mm_storel_epi64((__m128i *)(void *)(out + i), _mm_packus_epi16(words, words));
    }
    plain_codes(values + i, count - i, inverse, codebook, threshold, out + i);
}

AVX2 static void avx2_measure(const float *values, size_t count, struct lanes8 *low, struct lanes8 *high,
                              struct lanes8 *x, struct lanes8 *xx)
{
    __m256 least = _mm256_loadu_ps(low->lane), most = _mm256_loadu_ps(high->lane), sum = _mm256_loadu_ps(x->lane),
           squares = _mm256_loadu_ps(xx->lane);
    for (size_t i = 0; i < count; i += 8) {
        const __m256 value = _mm256_loadu_ps(values + i);
        least = _mm256_min_ps(value, least);
        most = _mm256_max_ps(value, most);
        sum += value;
        squares += value * value;
    }
    _mm256_storeu_ps(low->lane, least);
    _mm256_storeu_ps(high->lane, most);
    _mm256_storeu_ps(x->lane, sum);
    _mm256_storeu_ps(xx->lane, squares);
}

AVX2 static void avx2_widen(const uint8_t *bytes, size_t count, float *out)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(bytes + 2 * i))));
    plain_widen(bytes + 2 * i, count - i, out + i);
}

#define NAME(f) avx2_##f
#define TARGET AVX2
#define lanes __m256
#define lanes_set(value) _mm256_set1_ps(value)
#define lanes_load(p) _mm256_loadu_ps(p)
#define lanes_store(p, value) _mm256_storeu_ps(p, value)
#define lanes_min(a, b) _mm256_min_ps(a, b)
#define lanes_max(a, b) _mm256_max_ps(a, b)
#include "search_lanes.h"
#undef NAME
#undef TARGET
#undef lanes
#undef lanes_set
#undef lanes_load
#undef lanes_store
#undef lanes_min
#undef lanes_max

#define NAME(f) avx512_##f
#define TARGET __attribute__((target("avx512f,avx2,f16c")))
#define lanes __m512
#define lanes_set(value) _mm512_set1_ps(value)
#define lanes_load(p) _mm512_loadu_ps(p)
#define lanes_store(p, value) _mm512_storeu_ps(p, value)
#define lanes_min(a, b) _mm512_min_ps(a, b)
#define lanes_max(a, b) _mm512_max_ps(a, b)
#include "search_lanes.h"

static const struct search_kernels *best_kernels(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports(HALVES))
        return &plain_kernels;
    return __builtin_cpu_supports("avx512f") ? &avx512_kernels : &avx2_kernels;
}

#else

static const struct search_kernels *best_kernels(void)
{
    return &plain_kernels;
}

#endif

/* ---- sums of any count ---- */

/* Returns the length of the chunk at `at`. */
static size_t chunk_at(size_t at, size_t count)
{
    return count - at < CHUNK ? count - at : CHUNK;
}

/* Sums of rows that are longer than a chunk. */
struct wide_sums {
    double q[QUANT_CANDIDATES];
    double qq[QUANT_CANDIDATES];
    double xq[QUANT_CANDIDATES];
};

static void add_chunk(const struct quant_sums *chunk, struct wide_sums *out)
{
    for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
        out->q[c] += (double)chunk->q[c];
        out->qq[c] += (double)chunk->qq[c];
        out->xq[c] += (double)chunk->xq[c];
    }
}

static void narrow(const struct wide_sums *wide, struct quant_sums *out)
{
    for (size_t c = 0; c < QUANT_CANDIDATES; c++) {
        out->q[c] = (float)wide->q[c];
        out->qq[c] = (float)wide->qq[c];
        out->xq[c] = (float)wide->xq[c];
    }
}

/* The grid of a sum: signed integer codes, codes above a minimum, or a codebook. */
struct sum_of {
    float lowest;
    float highest;
    const float *codebook;
    const float *threshold;
    int affine;
};

static void sum_chunk(const struct sum_of *of, const float *values, const float *weight, size_t count,
                      const struct quant_candidates *candidates, struct quant_sums *out)
{
    memset(out, 0, sizeof(*out));
    if (of->codebook)
        best_kernels()->codebook(values, weight, count, of->codebook, of->threshold, candidates, out);
    else if (of->affine)
        best_kernels()->affine(values, weight, count, of->highest, candidates, out);
    else
        best_kernels()->symmetric(values, weight, count, of->lowest, of->highest, candidates, out);
}

static void sum_all(const struct sum_of *of, const float *values, const float *weight, size_t count,
                    const struct quant_candidates *candidates, struct quant_sums *out)
{
    struct wide_sums wide;
    if (count <= CHUNK) {
        sum_chunk(of, values, weight, count, candidates, out);
        return;
    }
    memset(&wide, 0, sizeof(wide));
    for (size_t at = 0; at < count; at += CHUNK) {
        sum_chunk(of, values + at, quant_weight_at(weight, at), chunk_at(at, count), candidates, out);
        add_chunk(out, &wide);
    }
    narrow(&wide, out);
}

void quant_sums_symmetric(const float *values, const float *weight, size_t count, float lowest, float highest,
                          const struct quant_candidates *candidates, struct quant_sums *out)
{
    const struct sum_of of = {lowest, highest, NULL, NULL, 0};
    sum_all(&of, values, weight, count, candidates, out);
}

void quant_sums_affine(const float *values, const float *weight, size_t count, float highest,
                       const struct quant_candidates *candidates, struct quant_sums *out)
{
    const struct sum_of of = {0, highest, NULL, NULL, 1};
    sum_all(&of, values, weight, count, candidates, out);
}

static void find_thresholds(const float codebook[16], float out_threshold[15])
{
    for (size_t l = 0; l < 15; l++)
        out_threshold[l] = (codebook[l] + codebook[l + 1]) * 0.5f;
}

void quant_sums_codebook(const float *values, const float *weight, size_t count, const float codebook[16],
                         const struct quant_candidates *candidates, struct quant_sums *out)
{
    float threshold[15];
    const struct sum_of of = {0, 0, codebook, threshold, 0};
    find_thresholds(codebook, threshold);
    sum_all(&of, values, weight, count, candidates, out);
}

void quant_find_codes(const float *values, size_t count, float inverse, const float codebook[16], uint8_t *out)
{
    float threshold[15];
    find_thresholds(codebook, threshold);
    best_kernels()->codes(values, count, inverse, codebook, threshold, out);
}

void quant_widen_halves(const uint8_t *bytes, size_t count, float *out)
{
    best_kernels()->widen(bytes, count, out);
}

static void add_lanes(const struct lanes8 *low, const struct lanes8 *high, const struct lanes8 *x,
                      const struct lanes8 *xx, struct quant_spread *out)
{
    for (size_t j = 0; j < 8; j++) {
        out->low = low->lane[j] < out->low ? low->lane[j] : out->low;
        out->high = high->lane[j] > out->high ? high->lane[j] : out->high;
        out->x += (double)x->lane[j];
        out->xx += (double)xx->lane[j];
    }
}

void quant_measure(const float *values, size_t count, struct quant_spread *out)
{
    *out = (struct quant_spread){values[0], values[0], 0, 0};
    for (size_t at = 0; at < count; at += CHUNK) {
        const size_t here = chunk_at(at, count), eights = here / 8 * 8;
        struct lanes8 low, high, x = {{0}}, xx = {{0}};
        for (size_t j = 0; j < 8; j++)
            low.lane[j] = high.lane[j] = values[0];
        best_kernels()->measure(values + at, eights, &low, &high, &x, &xx);
        for (size_t j = 0; j < here - eights; j++) {
            const float value = values[at + eights + j];
            low.lane[j] = value < low.lane[j] ? value : low.lane[j];
            high.lane[j] = value > high.lane[j] ? value : high.lane[j];
            x.lane[j] += value;
            xx.lane[j] += value * value;
        }
        add_lanes(&low, &high, &x, &xx, out);
    }
}
