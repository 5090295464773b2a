/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of blocks of 256 weights (q2_k .. q6_k, iq4_xs); avx2/gemv_fields.c is faster for one row of x with q2_k, q3_k
 * and iq4_xs on 256-bit ISAs.
 * Layout: weights in place. Tile: a block of two rows of W. With one row of x codes are unpacked in registers; with 2
 * to 4 rows of x codes of iq4_xs are unpacked to the L1 cache, and the tile is a block of one row of W (the other types
 * use GEMM). Codes are unsigned; zero points are corrected with the sums of x. A scale per 16 weights multiplies in
 * integers (exact: 7 bits times products of at most 15 bits), a scale per 32 is multiplied with the scale of x. Bound:
 * bytes of W; operations for q2_k, q3_k and iq4_xs. Measured: doc/benchmark.md, GEMV from the L2 cache.
 */
#include "finish.h"
#include "gemv.h"

/* Formats whose codes were unpacked to bytes before. */
static const struct traits traits_unpacked = {ACCEL_TYPE_NONE, 256, 256, 0, 0};
static const struct traits traits_unpacked_signed = {ACCEL_IQ4_NL, 256, 256, 0, 0};

/* Sums of a row of W with a row of x: four independent chains of additions. */
struct sums {
    __m256 a, b, c, d;
};

CPU_INLINE struct sums zero_sums(void)
{
    const __m256 zero = _mm256_setzero_ps();
    return (struct sums){zero, zero, zero, zero};
}

CPU_INLINE float total(struct sums s)
{
    return sum8(_mm256_add_ps(_mm256_add_ps(s.a, s.b), _mm256_add_ps(s.c, s.d)));
}

CPU_INLINE __m256 to_float(__m256i v)
{
    return _mm256_cvtepi32_ps(v);
}

CPU_INLINE __m256i left(__m256i v, const int bits)
{
    return bits > 0 ? _mm256_slli_epi16(v, bits) : bits < 0 ? _mm256_srli_epi16(v, -bits) : v;
}

/* Shifts the bits of every byte left (right if negative) and masks them. */
CPU_INLINE __m256i part(const uint8_t *p, const int bits, const int mask)
{
    return _mm256_and_si256(left(load32(p), bits), _mm256_set1_epi8((char)mask));
}

/* Returns the 32 codes of group g (a constant) of a block: unsigned, except for the iq4 formats. */
CPU_INLINE __m256i group_codes(const struct traits traits, const uint8_t *block, const size_t g)
{
    const int i = (int)g, quarter = i % 4;
    switch (traits.type) {
    case ACCEL_Q2_K:
        return part(block + 16 + g / 4 * 32, -2 * quarter, 3);
    case ACCEL_Q3_K:
        return _mm256_or_si256(part(block + 32 + g / 4 * 32, -2 * quarter, 3), part(block, 2 - i, 4));
    case ACCEL_Q4_K:
        return part(block + 16 + g / 2 * 32, i % 2 ? -4 : 0, 15);
    case ACCEL_Q5_K:
        return _mm256_or_si256(part(block + 48 + g / 2 * 32, i % 2 ? -4 : 0, 15), part(block + 16, 4 - i, 16));
    case ACCEL_Q6_K:
        return _mm256_or_si256(part(block + g / 4 * 64 + g % 2 * 32, quarter / 2 ? -4 : 0, 15),
                               part(block + 128 + g / 4 * 32, 4 - 2 * quarter, 48));
    case ACCEL_IQ4_XS:
        return lookup_iq4(nibbles(block + 8 + 16 * g));
    default:
        return load32(block + 32 * g);
    }
}

/* ---- 32 weights share a scale ---- */

/* Converts eight unsigned bytes, four in each word. */
CPU_INLINE __m256 eight_bytes(uint32_t low, uint32_t high)
{
    return to_float(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)(low | (uint64_t)high << 32))));
}

/* Returns the eight scales of 6 bits, zero point 32 subtracted. */
CPU_INLINE __m256 scales_iq4(const uint8_t *block)
{
    const __m256i nibble = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i pair = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32((int)word_at(block + 4)), nibble);
    __m256i high = _mm256_set1_epi32((int)((uint32_t)block[2] | (uint32_t)block[3] << 8));
    low = _mm256_and_si256(low, _mm256_set1_epi32(15));
    high = _mm256_and_si256(_mm256_srlv_epi32(high, pair), _mm256_set1_epi32(3));
    return to_float(_mm256_sub_epi32(_mm256_or_si256(low, _mm256_slli_epi32(high, 4)), _mm256_set1_epi32(32)));
}

CPU_INLINE __m256 coarse_add(const struct traits traits, const uint8_t *block, const size_t g, const float *scale,
                             const int8_t *q, __m256 sum)
{
    __m256i codes = group_codes(traits, block, g), x = load32(q + 32 * g);
    __m256i dot = traits.type == ACCEL_IQ4_XS || traits.type == ACCEL_IQ4_NL ? dot32s(codes, x) : dot32u(codes, x);
    return _mm256_fmadd_ps(to_float(dot), _mm256_broadcast_ss(scale + g), sum);
}

/* Block header of formats with a scale per 32 weights. */
struct coarse {
    __m256 scales;
    __m256 minima;
};

CPU_INLINE struct coarse coarse_head(const struct traits traits, const uint8_t *block)
{
    const __m256 d = _mm256_set1_ps(half_to_float(block));
    struct coarse head;
    if (traits.minimum) {
        uint32_t words[4];
        words6(block, words);
        head.scales = eight_bytes(words[0], words[1]);
        head.minima = _mm256_mul_ps(eight_bytes(words[2], words[3]), _mm256_set1_ps(half_to_float(block + 2)));
    } else {
        head.scales = scales_iq4(block);
    }
    head.scales = _mm256_mul_ps(head.scales, d);
    return head;
}

/* Adds a block with a row of x. `codes`: the block, or its unpacked codes, depending on `read`. */
CPU_INLINE struct sums coarse_row(const struct traits traits, const struct traits read, const struct coarse *head,
                                  const uint8_t *codes, const struct gemv_x *x, size_t b, struct sums s)
{
    const int8_t *q = x->q + 256 * b;
    float scale[8];
    _mm256_storeu_ps(scale, _mm256_mul_ps(head->scales, _mm256_loadu_ps(x->scale + 8 * b)));
    s.a = coarse_add(read, codes, 0, scale, q, s.a);
    s.b = coarse_add(read, codes, 1, scale, q, s.b);
    s.c = coarse_add(read, codes, 2, scale, q, s.c);
    s.d = coarse_add(read, codes, 3, scale, q, s.d);
    s.a = coarse_add(read, codes, 4, scale, q, s.a);
    s.b = coarse_add(read, codes, 5, scale, q, s.b);
    s.c = coarse_add(read, codes, 6, scale, q, s.c);
    s.d = coarse_add(read, codes, 7, scale, q, s.d);
    if (traits.minimum)
        s.a = _mm256_fnmadd_ps(head->minima, _mm256_loadu_ps(x->sum + 8 * b), s.a);
    return s;
}

/* ---- 16 weights share a scale ---- */

/* Sixteen scales of a block as signed bytes, in both halves, and the factors of the sums of x. */
struct fine {
    __m256i scales;
    __m256i minima;
    __m256 d; /* d / 256, see fine_pair */
    __m256 dmin;
};

/* Returns the 6-bit scales of q3_k; the load ends with the block. */
CPU_INLINE __m128i scales_q3(const uint8_t *block)
{
    const __m128i four = _mm_set1_epi8(15), two = _mm_set1_epi8(3);
    const __m128i end = _mm_loadu_si128((const __m128i *)(block + 94));
    const __m128i ab = _mm_setr_epi8(2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 6, 7, 8, 9);
    const __m128i c = _mm_setr_epi8(10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13);
    __m128i low = _mm_srlv_epi32(_mm_shuffle_epi8(end, ab), _mm_setr_epi32(0, 0, 4, 4));
    __m128i high = _mm_srlv_epi32(_mm_shuffle_epi8(end, c), _mm_setr_epi32(0, 2, 4, 6));
    low = _mm_or_si128(_mm_and_si128(low, four), _mm_slli_epi16(_mm_and_si128(high, two), 4));
    return _mm_sub_epi8(low, _mm_set1_epi8(32));
}

/* Formats without minima have a zero point, which is a minimum proportional to the scale. */
CPU_INLINE struct fine fine_head(const struct traits traits, const uint8_t *block)
{
    struct fine f;
    if (traits.type == ACCEL_Q2_K) {
        const __m128i both = _mm_loadu_si128((const __m128i *)block), four = _mm_set1_epi8(15);
        f.scales = _mm256_and_si256(_mm256_broadcastsi128_si256(both), _mm256_set1_epi8(15));
        f.minima = _mm256_cvtepi8_epi16(_mm_and_si128(_mm_srli_epi16(both, 4), four));
        f.d = _mm256_set1_ps(half_to_float(block + 80) * (1.0f / 256));
        f.dmin = _mm256_set1_ps(half_to_float(block + 82));
        return f;
    }
    const int q3 = traits.type == ACCEL_Q3_K;
    const __m128i bytes = q3 ? scales_q3(block) : _mm_loadu_si128((const __m128i *)(block + 192));
    const float d = half_to_float(block + (q3 ? 108 : 208));
    f.scales = _mm256_broadcastsi128_si256(bytes);
    f.minima = _mm256_cvtepi8_epi16(bytes);
    f.d = _mm256_set1_ps(d * (1.0f / 256));
    f.dmin = _mm256_set1_ps(d * (q3 ? 4.0f : 32.0f));
    return f;
}

/*
 * Returns 256 times the two scales of 32 weights, of the first 16 in the low half: as upper bytes of 16 bits they are
 * signed. Sums of products times them stay below 2^31 and are multiples of 256, so that floats hold them exactly.
 */
CPU_INLINE __m256i fine_pair(const struct fine *f, const size_t g)
{
    const __m256i low = _mm256_set1_epi16((short)(g << 9 | 0x80)), high = _mm256_set1_epi16((short)(g << 9 | 0x180));
    return _mm256_shuffle_epi8(f->scales, _mm256_blend_epi32(low, high, 0xf0));
}

CPU_INLINE __m256 fine_add(const struct traits read, const struct fine *f, const uint8_t *codes, const size_t g,
                           const float *scale, const int8_t *q, __m256 sum)
{
    __m256i pairs = _mm256_maddubs_epi16(group_codes(read, codes, g), load32(q + 32 * g));
    __m256 dot = to_float(_mm256_madd_epi16(pairs, fine_pair(f, g)));
    return _mm256_fmadd_ps(dot, _mm256_broadcast_ss(scale + g), sum);
}

/* Adds a block with a row of x; the sums of 16 of x, each times its minimum, are eight numbers, one per 32. */
CPU_INLINE struct sums fine_row(const struct traits read, const struct fine *f, const uint8_t *codes,
                                const struct gemv_x *x, size_t b, struct sums s)
{
    const int8_t *q = x->q + 256 * b;
    const __m256 xs = _mm256_loadu_ps(x->scale + 8 * b);
    const __m256i half = _mm256_loadu_si256((const __m256i *)(x->half + 16 * b));
    float scale[8];
    _mm256_storeu_ps(scale, _mm256_mul_ps(f->d, xs));
    s.a = fine_add(read, f, codes, 0, scale, q, s.a);
    s.b = fine_add(read, f, codes, 1, scale, q, s.b);
    s.c = fine_add(read, f, codes, 2, scale, q, s.c);
    s.d = fine_add(read, f, codes, 3, scale, q, s.d);
    s.a = fine_add(read, f, codes, 4, scale, q, s.a);
    s.b = fine_add(read, f, codes, 5, scale, q, s.b);
    s.c = fine_add(read, f, codes, 6, scale, q, s.c);
    s.d = fine_add(read, f, codes, 7, scale, q, s.d);
    s.a = _mm256_fnmadd_ps(to_float(_mm256_madd_epi16(f->minima, half)), _mm256_mul_ps(f->dmin, xs), s.a);
    return s;
}

/* ---- rows ---- */

CPU_INLINE struct sums block_one(const struct traits traits, const uint8_t *block, const struct gemv_x *x, size_t b,
                                 struct sums acc)
{
    if (traits.fine) {
        const struct fine f = fine_head(traits, block);
        return fine_row(traits, &f, block, x, b, acc);
    }
    const struct coarse head = coarse_head(traits, block);
    return coarse_row(traits, traits, &head, block, x, b, acc);
}

/* Multiplies a row of W with one row of x. */
CPU_INLINE float dot_one(const struct traits traits, const uint8_t *block, const struct gemv_x *x, size_t blocks)
{
    struct sums acc = zero_sums();
    for (size_t b = 0; b < blocks; b++, block += traits.block_bytes) {
        gemv_prefetch(block, traits.block_bytes);
        acc = block_one(traits, block, x, b, acc);
    }
    return total(acc);
}

/*
 * Sums of two rows of W with one row of x, which share the loads of x: these are the bottleneck with one row (q2_k: 4.0
 * cycles per 32 weights).
 */
struct fine_two {
    __m256 first;
    __m256 second;
};

CPU_INLINE __m256 fine_step(const struct traits traits, const struct fine *f, const uint8_t *block, const size_t g,
                            __m256i q, __m256 scale, __m256 sum)
{
    __m256i pairs = _mm256_maddubs_epi16(group_codes(traits, block, g), q);
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, fine_pair(f, g))), scale, sum);
}

CPU_INLINE struct fine_two fine_both(const struct traits traits, const struct fine *f, const uint8_t *const block[2],
                                     const size_t g, const struct gemv_x *x, size_t b, struct fine_two s)
{
    const __m256i q = load32(x->q + 256 * b + 32 * g);
    const __m256 scale = _mm256_broadcast_ss(x->scale + 8 * b + g);
    s.first = fine_step(traits, f, block[0], g, q, scale, s.first);
    s.second = fine_step(traits, f + 1, block[1], g, q, scale, s.second);
    return s;
}

CPU_INLINE struct fine_two block_two(const struct traits traits, const uint8_t *const block[2], const struct gemv_x *x,
                                     size_t b, struct fine_two acc)
{
    const struct fine f[2] = {fine_head(traits, block[0]), fine_head(traits, block[1])};
    const __m256i half = _mm256_loadu_si256((const __m256i *)(x->half + 16 * b));
    const __m256 xs = _mm256_loadu_ps(x->scale + 8 * b), zero = _mm256_setzero_ps();
    struct fine_two even = {zero, zero}, odd = even;
    even = fine_both(traits, f, block, 0, x, b, even);
    odd = fine_both(traits, f, block, 1, x, b, odd);
    even = fine_both(traits, f, block, 2, x, b, even);
    odd = fine_both(traits, f, block, 3, x, b, odd);
    even = fine_both(traits, f, block, 4, x, b, even);
    odd = fine_both(traits, f, block, 5, x, b, odd);
    even = fine_both(traits, f, block, 6, x, b, even);
    odd = fine_both(traits, f, block, 7, x, b, odd);
    acc.first =
        _mm256_fnmadd_ps(to_float(_mm256_madd_epi16(f[0].minima, half)), _mm256_mul_ps(f[0].dmin, xs), acc.first);
    acc.second =
        _mm256_fnmadd_ps(to_float(_mm256_madd_epi16(f[1].minima, half)), _mm256_mul_ps(f[1].dmin, xs), acc.second);
    acc.first = _mm256_fmadd_ps(f[0].d, _mm256_add_ps(even.first, odd.first), acc.first);
    acc.second = _mm256_fmadd_ps(f[1].d, _mm256_add_ps(even.second, odd.second), acc.second);
    return acc;
}

/* Reads the headers of two blocks with 6-bit scales and minima: words6 for both at once. */
CPU_INLINE void heads6(const uint8_t *const block[2], struct coarse head[2])
{
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)block[0])),
                                                 _mm_loadu_si128((const __m128i *)block[1]), 1);
    /* Of the words d, a, b, c: low bits of scales 0 to 3 and 4 to 7 and of minima, and the upper two bits of 4 to 7. */
    const __m256i first = _mm256_shuffle_epi32(both, 0xed), second = _mm256_shuffle_epi32(both, 0xa5);
    const __m256i down = _mm256_setr_epi32(0, 0, 0, 4, 0, 0, 0, 4);
    const __m256i low = _mm256_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f,
                                          0x3f3f3f3f, 0x0f0f0f0f);
    const __m256i high = _mm256_setr_epi32(0, 0x30303030, 0, 0x30303030, 0, 0x30303030, 0, 0x30303030);
    const __m256i six = _mm256_or_si256(_mm256_and_si256(_mm256_srlv_epi32(first, down), low),
                                        _mm256_and_si256(_mm256_srli_epi32(second, 2), high));
    CPU_UNROLL
    for (size_t r = 0; r < 2; r++) {
        const __m128i bytes = r == 0 ? _mm256_castsi256_si128(six) : _mm256_extracti128_si256(six, 1);
        const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128((int)word_at(block[r])));
        head[r].scales = _mm256_mul_ps(to_float(_mm256_cvtepu8_epi32(bytes)), _mm256_broadcastss_ps(d));
        head[r].minima = _mm256_mul_ps(to_float(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(bytes, bytes))),
                                       _mm256_broadcastss_ps(_mm_movehdup_ps(d)));
    }
}

CPU_INLINE __m256 coarse_step(const struct traits traits, const uint8_t *block, const size_t g, const float *scale,
                              __m256i x, __m256 sum)
{
    __m256i codes = group_codes(traits, block, g);
    __m256i dot = traits.type == ACCEL_IQ4_XS ? dot32s(codes, x) : dot32u(codes, x);
    return _mm256_fmadd_ps(to_float(dot), _mm256_broadcast_ss(scale + g), sum);
}

CPU_INLINE struct fine_two coarse_both(const struct traits traits, const uint8_t *const block[2], const size_t g,
                                       const float (*scale)[8], const int8_t *q, struct fine_two s)
{
    const __m256i x = load32(q + 32 * g);
    s.first = coarse_step(traits, block[0], g, scale[0], x, s.first);
    s.second = coarse_step(traits, block[1], g, scale[1], x, s.second);
    return s;
}

/* Sums of two rows: even and odd groups. */
struct coarse_two {
    struct fine_two even;
    struct fine_two odd;
};

CPU_INLINE struct coarse_two coarse_block_two(const struct traits traits, const uint8_t *const block[2],
                                              const struct gemv_x *x, size_t b, struct coarse_two s)
{
    struct coarse head[2];
    const __m256 xs = _mm256_loadu_ps(x->scale + 8 * b), sum = _mm256_loadu_ps(x->sum + 8 * b);
    const int8_t *q = x->q + 256 * b;
    float scale[2][8];
    if (traits.minimum) {
        heads6(block, head);
    } else {
        head[0] = coarse_head(traits, block[0]);
        head[1] = coarse_head(traits, block[1]);
    }
    _mm256_storeu_ps(scale[0], _mm256_mul_ps(head[0].scales, xs));
    _mm256_storeu_ps(scale[1], _mm256_mul_ps(head[1].scales, xs));
    if (traits.minimum) {
        s.even.first = _mm256_fnmadd_ps(head[0].minima, sum, s.even.first);
        s.even.second = _mm256_fnmadd_ps(head[1].minima, sum, s.even.second);
    }
    s.even = coarse_both(traits, block, 0, scale, q, s.even);
    s.odd = coarse_both(traits, block, 1, scale, q, s.odd);
    s.even = coarse_both(traits, block, 2, scale, q, s.even);
    s.odd = coarse_both(traits, block, 3, scale, q, s.odd);
    s.even = coarse_both(traits, block, 4, scale, q, s.even);
    s.odd = coarse_both(traits, block, 5, scale, q, s.odd);
    s.even = coarse_both(traits, block, 6, scale, q, s.even);
    s.odd = coarse_both(traits, block, 7, scale, q, s.odd);
    return s;
}

CPU_INLINE void coarse_dot_two(const struct traits traits, const uint8_t *row, size_t stride, const struct gemv_x *x,
                               size_t blocks, float sums[2])
{
    const __m256 zero = _mm256_setzero_ps();
    struct coarse_two acc = {{zero, zero}, {zero, zero}};
    for (size_t b = 0; b < blocks; b++) {
        const uint8_t *block = row + b * traits.block_bytes;
        /* Prefetches the next two rows, which follow these, in proportion. */
        prefetch_lines(row + 2 * (stride + b * traits.block_bytes), 2 * traits.block_bytes);
        acc = coarse_block_two(traits, (const uint8_t *const[2]){block, block + stride}, x, b, acc);
    }
    sums[0] = sum8(_mm256_add_ps(acc.even.first, acc.odd.first));
    sums[1] = sum8(_mm256_add_ps(acc.even.second, acc.odd.second));
}

CPU_INLINE void dot_two(const struct traits traits, const uint8_t *row, size_t stride, const struct gemv_x *x,
                        size_t blocks, float sums[2])
{
    struct fine_two acc = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (size_t b = 0; b < blocks; b++) {
        const uint8_t *block = row + b * traits.block_bytes;
        prefetch_lines(row + 2 * (stride + b * traits.block_bytes), 2 * traits.block_bytes);
        acc = block_two(traits, (const uint8_t *const[2]){block, block + stride}, x, b, acc);
    }
    sums[0] = sum8(acc.first);
    sums[1] = sum8(acc.second);
}

CPU_INLINE void block_apart(const struct traits traits, const uint8_t *block, uint8_t *out)
{
    CPU_UNROLL
    for (size_t g = 0; g < 8; g++)
        store32((int8_t *)out + 32 * g, group_codes(traits, block, g));
}

CPU_INLINE void block_several(const struct traits traits, const uint8_t *block, const struct gemv_x *x, size_t rows,
                              size_t b, struct sums *acc)
{
    uint8_t codes[256];
    block_apart(traits, block, codes);
    if (traits.fine) {
        const struct fine f = fine_head(traits, block);
        for (size_t r = 0; r < rows; r++)
            acc[r] = fine_row(traits_unpacked, &f, codes, x + r, b, acc[r]);
        return;
    }
    const struct coarse head = coarse_head(traits, block);
    for (size_t r = 0; r < rows; r++)
        acc[r] = coarse_row(traits, traits.minimum ? traits_unpacked : traits_unpacked_signed, &head, codes, x + r, b,
                            acc[r]);
}

/* Multiplies a row of W with `rows` rows of x: a column of `sums`. */
CPU_INLINE void dot_several(const struct traits traits, const uint8_t *block, const struct gemv_x *x, size_t rows,
                            size_t blocks, float (*sums)[FINISH_COLUMNS], size_t column)
{
    struct sums acc[GEMV_ROWS];
    for (size_t r = 0; r < rows; r++)
        acc[r] = zero_sums();
    for (size_t b = 0; b < blocks; b++, block += traits.block_bytes) {
        gemv_prefetch(block, traits.block_bytes);
        block_several(traits, block, x, rows, b, acc);
    }
    for (size_t r = 0; r < rows; r++)
        sums[r][column] = total(acc[r]);
}

CPU_INLINE void gemv(const struct traits traits, const struct cpu_matmul *call, const struct gemv_x *x, size_t begin,
                     size_t end)
{
    const size_t blocks = call->k / 256;
    for (size_t j = begin; j < end; j += FINISH_COLUMNS) {
        float sums[GEMV_ROWS][FINISH_COLUMNS];
        const size_t count = least(FINISH_COLUMNS, end - j);
        const uint8_t *row = (const uint8_t *)call->w.plane[0] + j * call->w.stride[0];
        size_t c = 0;
        for (; call->m == 1 && c + 2 <= count; c += 2, row += 2 * call->w.stride[0]) {
            if (traits.fine)
                dot_two(traits, row, call->w.stride[0], x, blocks, sums[0] + c);
            else
                coarse_dot_two(traits, row, call->w.stride[0], x, blocks, sums[0] + c);
        }
        for (; c < count; c++, row += call->w.stride[0]) {
            if (call->m == 1)
                sums[0][c] = dot_one(traits, row, x, blocks);
            else
                dot_several(traits, row, x, call->m, blocks, sums, c);
        }
        for (size_t r = 0; r < call->m; r++)
            finish_row(call, r, j, count, sums[r]);
    }
}

int CPU_NAME(gemv8_k)(uint32_t type, const struct cpu_matmul *call, size_t begin, size_t end)
{
    int16_t half[GEMV_VALUES / 16];
    struct gemv_x x[GEMV_ROWS];
    /* GEMM is faster from 2 rows of x on: 1.5 to 2 times with 4 rows of q4_k and q6_k. */
    if (call->m > 1 && call->act_q8.tiles != NULL && type != ACCEL_IQ4_XS)
        return 0;
    for (size_t r = 0; r < call->m; r++) {
        const size_t blocks = call->k / CPU_BLOCK;
        x[r] = (struct gemv_x){call->act_q8.q + r * call->k, call->act_q8.scale + r * blocks,
                               call->act_q8.sum + r * blocks, half + 2 * r * blocks};
    }
    if (type == ACCEL_Q2_K || type == ACCEL_Q3_K || type == ACCEL_Q6_K)
        half_sums(call->act_q8.q, call->m * call->k, half);
    switch (type) {
    case ACCEL_Q2_K:
        gemv(traits_q2_k, call, x, begin, end);
        return 1;
    case ACCEL_Q3_K:
        gemv(traits_q3_k, call, x, begin, end);
        return 1;
    case ACCEL_Q4_K:
        gemv(traits_q4_k, call, x, begin, end);
        return 1;
    case ACCEL_Q5_K:
        gemv(traits_q5_k, call, x, begin, end);
        return 1;
    case ACCEL_Q6_K:
        gemv(traits_q6_k, call, x, begin, end);
        return 1;
    case ACCEL_IQ4_XS:
        gemv(traits_iq4_xs, call, x, begin, end);
        return 1;
    default:
        return 0;
    }
}
