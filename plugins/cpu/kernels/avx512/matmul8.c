/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of codes of 4 and 8 bits with act_q8, AVX-512 with VNNI: 4 rows of W are read in place, four blocks of 4-bit
 * codes (a quarter of a vector each) or two of 8-bit codes at a time, with up to four rows of x. The sums of the four
 * rows of W are gathered in one vector, element r of each quarter for row r, before they are scaled: they share one
 * conversion, one product with scales and one addition. Codes are unsigned; the zero point is corrected in integers.
 * Bound: bytes of W.
 */
#define PAIR 4u /* rows of x per pass over four rows of W */
#include "plugins/cpu/kernels/vector/row4.h"

#define ROWS 4u
#define APART_BYTES 1u
#define ROW4_PLAIN_ALONE /* the others: avx2/matmul8.c */

#define VECTOR 64u

CPU_INLINE __m512i join(__m256i low, __m256i high)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Returns the blocks of a whole step. */
CPU_INLINE size_t step_blocks(const struct block32 f)
{
    return f.bits == 4 ? 4 : 2;
}

/* ---- x ---- */

/* Element r of each quarter belongs to row r of W. */
struct row4_sums {
    __m512 acc[PAIR];
};

CPU_INLINE struct row4_sums zero_sums(void)
{
    return (struct row4_sums){{{0}}};
}

/* A row of x for a step. 4-bit codes: `first` holds the first half of each block, `last` the other; else `first` holds
 * all. `begin` is the initial sum, which corrects the zero point of W. */
struct act_step {
    __m512i first;
    __m512i last;
    __m512i begin;
};

/* Broadcasts a float of each of `count` blocks, up to a whole step, to the lanes of the block's products. */
CPU_INLINE __m512 by_block(const struct block32 f, const size_t count, const float *p)
{
    const __m512i four = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i two = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    __m128 v = _mm_setzero_ps();
    if (count == 4)
        v = _mm_loadu_ps(p);
    else if (count == 2)
        v = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p));
    else
        v = _mm_load_ss(p);
    return _mm512_permutevar_ps(_mm512_broadcast_f32x4(v), f.bits == 4 ? four : two);
}

CPU_INLINE struct act_step load_x(const struct block32 f, const size_t count, const int8_t *q)
{
    const __m512i zero = _mm512_setzero_si512(), center = _mm512_set1_epi8((char)(f.bits == 8 ? 128 : 8));
    const __m512i low = count > 1 ? _mm512_loadu_si512(q) : join(load32(q), _mm256_setzero_si256());
    const __m512i high = count > 2 ? _mm512_loadu_si512(q + VECTOR) : zero;
    struct act_step x = {low, low, zero};
    if (f.bits == 4) {
        x.first = _mm512_shuffle_i32x4(low, high, 0x88);
        x.last = _mm512_shuffle_i32x4(low, high, 0xdd);
    }
    if (f.minimum)
        return x;
    __m512i sums = _mm512_dpbusd_epi32(zero, center, x.first);
    if (f.bits == 4)
        sums = _mm512_dpbusd_epi32(sums, center, x.last);
    x.begin = _mm512_sub_epi32(zero, sums);
    return x;
}

/* ---- W ---- */

/* Indices of the scales of blocks of `half` words in a load that starts at the first scale. */
#define FOUR(at) (at), (at), (at), (at)
#define SCALES(half, per, at)                                                                                          \
    {                                                                                                                  \
        FOUR(at), FOUR(4 / (per) * (half) + (at)), FOUR(8 / (per) * (half) + (at)), FOUR(12 / (per) * (half) + (at))   \
    }

static const uint16_t scales_18[32] = SCALES(9, 4, 0), scales_20[32] = SCALES(10, 4, 0);
static const uint16_t minima_20[32] = SCALES(10, 4, 1), scales_34[32] = SCALES(17, 8, 0);

/* Loads the bytes of up to four blocks of 4-bit codes, a quarter each. */
CPU_INLINE __m512i quarters(const struct block32 f, const size_t count, const uint8_t *p)
{
    const __m256i none = _mm256_setzero_si256();
    const size_t step = f.block_bytes;
    if (count == 4 && step == 16)
        return _mm512_loadu_si512(p);
    if (count == 1)
        return join(_mm256_inserti128_si256(none, _mm_loadu_si128((const __m128i *)p), 0), none);
    return join(load_pair16(p, p + step), count == 4 ? load_pair16(p + 2 * step, p + 3 * step) : none);
}

/* Loads two blocks of 8-bit codes with zero point 128. */
CPU_INLINE __m512i halves(const struct block32 f, const size_t count, const uint8_t *p)
{
    const __m512i v = join(load32(p), count > 1 ? load32(p + f.block_bytes) : _mm256_setzero_si256());
    return f.planar ? v : _mm512_xor_si512(v, _mm512_set1_epi8((char)0x80));
}

/* Multiplies a step of a row of W with a row of x, sums in quarters. */
CPU_INLINE __m512i products(const struct block32 f, __m512i bytes, const struct act_step *x)
{
    const __m512i low = _mm512_set1_epi8(15);
    if (f.bits == 8)
        return _mm512_dpbusd_epi32(x->begin, bytes, x->first);
    const __m512i sums = _mm512_dpbusd_epi32(x->begin, _mm512_and_si512(bytes, low), x->first);
    return _mm512_dpbusd_epi32(sums, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low), x->last);
}

/* Sums each quarter of v[r] to element r of that quarter. */
CPU_INLINE __m512i fold4(const __m512i v[4])
{
    const __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
    const __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* Loads scales within the blocks of four rows: one load each. */
CPU_INLINE __m512 near_halves(const uint8_t *p, size_t stride, const uint16_t *from)
{
    const __m512i words = _mm512_loadu_si512(from);
    __m512i v = _mm512_permutexvar_epi16(words, _mm512_loadu_si512(p));
    v = _mm512_mask_permutexvar_epi16(v, 0x2222, words, _mm512_loadu_si512(p + stride));
    v = _mm512_mask_permutexvar_epi16(v, 0x4444, words, _mm512_loadu_si512(p + 2 * stride));
    v = _mm512_mask_permutexvar_epi16(v, 0x8888, words, _mm512_loadu_si512(p + 3 * stride));
    return _mm512_cvtph_ps(_mm512_castsi512_si256(v));
}

/* Loads the halves at p and at p + step, or of four blocks, of four rows, in quarters. */
CPU_INLINE __m512 far_halves(const struct block32 f, const size_t count, const uint8_t *p, size_t stride, size_t step)
{
    const __m128 none = _mm_setzero_ps();
    const __m128 a = load_halves4(p, stride), b = count > 1 ? load_halves4(p + step, stride) : none;
    const __m256 both = _mm256_set_m128(f.bits == 4 ? b : a, a);
    if (f.bits == 8)
        return _mm512_insertf32x8(_mm512_castps256_ps512(both), _mm256_set_m128(b, b), 1);
    if (count < 4)
        return _mm512_insertf32x8(_mm512_castps256_ps512(both), _mm256_setzero_ps(), 1);
    return _mm512_insertf32x8(_mm512_castps256_ps512(both),
                              _mm256_set_m128(load_halves4(p + 3 * step, stride), load_halves4(p + 2 * step, stride)),
                              1);
}

/* Loads the scales of a step, or minima (the half after them): element r of a quarter for row r. A planar group larger
 * than a block holds whole steps. */
CPU_INLINE __m512 step_scales(const struct block32 f, const struct row4 w, const size_t count, size_t b,
                              const size_t minimum)
{
    const uint8_t *p = w.scales + scale_at(f, b);
    if (f.planar && f.group_blocks > 1)
        return _mm512_broadcast_f32x4(load_halves4(p, w.scales_stride));
    if (f.planar || count < step_blocks(f))
        return far_halves(f, count, p + 2 * minimum, w.scales_stride, f.planar ? 2 : f.block_bytes);
    if (f.bits == 8)
        return near_halves(p, w.scales_stride, scales_34);
    return near_halves(p, w.scales_stride, f.block_bytes == 18 ? scales_18 : minimum ? minima_20 : scales_20);
}

/* ---- rows ---- */

CPU_INLINE void add_step(const struct block32 f, const struct row4 w, const struct act_rows *x, const size_t rows,
                         const size_t count, size_t b, struct row4_sums *sums)
{
    const __m512 d = step_scales(f, w, count, b, 0), m = f.minimum ? step_scales(f, w, count, b, 1) : d;
    __m512i bytes[4];
    CPU_UNROLL
    for (size_t j = 0; j < 4; j++) {
        const uint8_t *p = w.codes + j * w.codes_stride + b * f.block_bytes;
        bytes[j] = f.bits == 4 ? quarters(f, count, p) : halves(f, count, p);
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const struct act_step row = load_x(f, count, x->q + r * x->k + b * CPU_BLOCK);
        const __m512 scale = _mm512_mul_ps(d, by_block(f, count, x->scale + r * x->blocks + b));
        __m512i dot[4];
        CPU_UNROLL
        for (size_t j = 0; j < 4; j++)
            dot[j] = products(f, bytes[j], &row);
        if (f.minimum)
            sums->acc[r] = _mm512_fmadd_ps(m, by_block(f, count, x->sum + r * x->blocks + b), sums->acc[r]);
        sums->acc[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(fold4(dot)), scale, sums->acc[r]);
    }
}

CPU_INLINE void store_sums(const struct block32 f, const size_t rows, const struct row4_sums *sums, float *const *out)
{
    (void)f;
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m256i upper = _mm512_extracti64x4_epi64(_mm512_castps_si512(sums->acc[r]), 1);
        const __m256 two = _mm256_add_ps(_mm512_castps512_ps256(sums->acc[r]), _mm256_castsi256_ps(upper));
        _mm_storeu_ps(out[r], _mm_add_ps(_mm256_castps256_ps128(two), _mm256_extractf128_ps(two, 1)));
    }
}

#include "plugins/cpu/kernels/vector/gemv_row4.h"
