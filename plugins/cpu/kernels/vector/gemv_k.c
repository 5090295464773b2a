/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of blocks of 256 weights (q2_k .. q6_k, iq4_xs).
 * Layout: weights in place. Tile: a block of two rows of W with one row of x, whose loads they share: these are the
 * bottleneck (q2_k: 4.0 cycles per 32 weights). Codes are unpacked in registers. Codes are unsigned; zero points are
 * corrected with the sums of x. A scale per 16 weights multiplies in integers (exact: 7 bits times products of at most
 * 15 bits), a scale per 32 is multiplied with the scale of x. On x86 gemv_k_fields.h reads q2_k, q3_k and iq4_xs.
 * Bound: bytes of W; operations for q2_k, q3_k and iq4_xs. Measured: doc/benchmark.md, GEMV from the L2 cache.
 */
#include "finish.h"
#include "gemv_k_fields.h"

#define FIELD_AHEAD 4096u /* prefetch distance of two rows in bytes: the next rows follow these */

CPU_INLINE __m256 to_float(__m256i v)
{
    return _mm256_cvtepi32_ps(v);
}

/* Returns the 32 codes of group g (a constant) of a block: unsigned, except for iq4_xs. */
CPU_INLINE __m256i group_codes(const struct traits traits, const uint8_t *block, const size_t g)
{
    return traits.type == ACCEL_IQ4_XS ? lookup_iq4(nibbles(block + 8 + 16 * g)) : k_codes_of(traits.type, block, g);
}

/* ---- 32 weights share a scale ---- */

/* Returns the eight scales of iq4_xs: 6 bits, zero point 32 subtracted, times d. */
CPU_INLINE __m256 scales_iq4(const uint8_t *block)
{
    const __m256i nibble = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i pair = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32((int)word_at(block + 4)), nibble);
    __m256i high = _mm256_set1_epi32((int)((uint32_t)block[2] | (uint32_t)block[3] << 8));
    low = _mm256_and_si256(low, _mm256_set1_epi32(15));
    high = _mm256_and_si256(_mm256_srlv_epi32(high, pair), _mm256_set1_epi32(3));
    low = _mm256_sub_epi32(_mm256_or_si256(low, _mm256_slli_epi32(high, 4)), _mm256_set1_epi32(32));
    return _mm256_mul_ps(to_float(low), _mm256_set1_ps(half_to_float(block)));
}

/* Block header of formats with a scale per 32 weights. */
struct coarse {
    __m256 scales;
    __m256 minima;
};

/* ---- 16 weights share a scale ---- */

/* Sixteen scales of a block as signed bytes, in both halves, and the factors of the sums of x. */
struct fine {
    __m256i scales;
    __m256i minima;
    __m256 d; /* d / 256, see fine_pair */
    __m256 dmin;
};

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
    const __m128i bytes = q3 ? scales_q3_k(block) : _mm_loadu_si128((const __m128i *)(block + 192));
    const float d = half_to_float(block + (q3 ? 108 : 208));
    f.scales = _mm256_broadcastsi128_si256(bytes);
    f.minima = _mm256_cvtepi8_epi16(bytes);
    f.d = _mm256_set1_ps(d * (1.0f / 256));
    f.dmin = _mm256_set1_ps(d * (float)k_zero_of(traits.type));
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

/* ---- rows ---- */

/* Sums of two rows of W: of even and of odd groups. */
struct sums2 {
    __m256 row[2][2];
};

CPU_INLINE struct sums2 zero_sums(void)
{
    const __m256 zero = _mm256_setzero_ps();
    return (struct sums2){{{zero, zero}, {zero, zero}}};
}

/* Adds blocks of two rows whose scales are of 16 weights: the sums of 16 of x, each times its minimum, are eight
 * numbers, one per 32. */
CPU_INLINE struct sums2 add_fine(const struct traits traits, const uint8_t *const block[2], const struct k_x *x,
                                 size_t b, struct sums2 sums)
{
    const struct fine f[2] = {fine_head(traits, block[0]), fine_head(traits, block[1])};
    const __m256i half = _mm256_loadu_si256((const __m256i *)(x->half + 16 * b));
    const __m256 xs = _mm256_loadu_ps(x->rows.scale + 8 * b);
    struct sums2 part = zero_sums();
    CPU_UNROLL
    for (size_t g = 0; g < 8; g++) {
        const __m256i q = load32(x->rows.q + 256 * b + 32 * g);
        const __m256 scale = _mm256_broadcast_ss(x->rows.scale + 8 * b + g);
        CPU_UNROLL
        for (size_t r = 0; r < 2; r++) {
            const __m256i pairs = _mm256_maddubs_epi16(group_codes(traits, block[r], g), q);
            part.row[r][g % 2] =
                _mm256_fmadd_ps(to_float(_mm256_madd_epi16(pairs, fine_pair(f + r, g))), scale, part.row[r][g % 2]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < 2; r++) {
        sums.row[r][0] = _mm256_fnmadd_ps(to_float(_mm256_madd_epi16(f[r].minima, half)), _mm256_mul_ps(f[r].dmin, xs),
                                          sums.row[r][0]);
        sums.row[r][0] = _mm256_fmadd_ps(f[r].d, _mm256_add_ps(part.row[r][0], part.row[r][1]), sums.row[r][0]);
    }
    return sums;
}

/* Reads the headers of two blocks with 6-bit scales and minima: words6 for both at once. */
CPU_INLINE void heads6(const uint8_t *const block[2], struct coarse head[2])
{
    const __m256i both = load_pair16(block[0], block[1]);
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

/* Adds blocks of two rows whose scales are of 32 weights. */
CPU_INLINE struct sums2 add_coarse(const struct traits traits, const uint8_t *const block[2], const struct act_rows *x,
                                   size_t b, struct sums2 sums)
{
    struct coarse head[2];
    float scale[2][8];
    if (traits.minimum) {
        heads6(block, head);
    } else {
        head[0].scales = scales_iq4(block[0]);
        head[1].scales = scales_iq4(block[1]);
    }
    CPU_UNROLL
    for (size_t r = 0; r < 2; r++) {
        _mm256_storeu_ps(scale[r], _mm256_mul_ps(head[r].scales, _mm256_loadu_ps(x->scale + 8 * b)));
        if (traits.minimum)
            sums.row[r][0] = _mm256_fnmadd_ps(head[r].minima, _mm256_loadu_ps(x->sum + 8 * b), sums.row[r][0]);
    }
    CPU_UNROLL
    for (size_t g = 0; g < 8; g++) {
        const __m256i q = load32(x->q + 256 * b + 32 * g);
        CPU_UNROLL
        for (size_t r = 0; r < 2; r++) {
            const __m256i codes = group_codes(traits, block[r], g);
            const __m256i dot = traits.minimum ? dot32u(codes, q) : dot32s(codes, q);
            sums.row[r][g % 2] = _mm256_fmadd_ps(to_float(dot), _mm256_broadcast_ss(scale[r] + g), sums.row[r][g % 2]);
        }
    }
    return sums;
}

/* Adds blocks of two rows of W; block b of x is counted through all of its rows. */
CPU_INLINE struct sums2 add_blocks(const struct traits traits, const uint8_t *const block[2], const struct k_x *x,
                                   size_t b, struct sums2 sums)
{
    if (!HAS_FIELDS(traits.type))
        return traits.fine ? add_fine(traits, block, x, b, sums) : add_coarse(traits, block, &x->rows, b, sums);
    CPU_UNROLL
    for (size_t r = 0; r < 2; r++)
        sums.row[r][0] = add_fields(traits.type, block[r], x, b, sums.row[r][0]);
    return sums;
}

/* Multiplies two rows of W, `stride` bytes apart (0: the same twice), with `blocks` blocks of x from `first` on. */
CPU_INLINE void dot_two(const struct traits traits, const uint8_t *row, size_t stride, const struct k_x *x,
                        size_t first, size_t blocks, float out[2])
{
    struct sums2 sums = zero_sums();
    for (size_t b = 0; b < blocks; b++) {
        const uint8_t *const block[2] = {row + b * traits.block_bytes, row + b * traits.block_bytes + stride};
        /* Prefetches the next rows, which follow these, in proportion. */
        prefetch_lines(row + (HAS_FIELDS(traits.type) ? FIELD_AHEAD : 2 * stride) + 2 * b * traits.block_bytes,
                       2 * traits.block_bytes);
        sums = add_blocks(traits, block, x, first + b, sums);
    }
    CPU_UNROLL
    for (size_t r = 0; r < 2; r++)
        out[r] = sum8(_mm256_add_ps(sums.row[r][0], sums.row[r][1]));
}

CPU_INLINE void gemv(const struct traits traits, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const size_t stride = call->w.stride[0], blocks = call->k / 256;
    struct k_x x;
    x.rows = (struct act_rows){call->act_q8.q, call->act_q8.scale, call->act_q8.sum, call->k, call->k / CPU_BLOCK};
    if (traits.fine && (traits.type != ACCEL_Q3_K || !HAS_FIELDS(traits.type)))
        half_sums(x.rows.q, call->m * call->k, x.half);
    if (HAS_FIELDS(traits.type))
        place_fields(traits.type, call->m * call->k, &x);
    for (size_t j = begin; j < end; j += FINISH_COLUMNS) {
        const size_t count = least(FINISH_COLUMNS, end - j);
        const uint8_t *row = (const uint8_t *)call->w.plane[0] + j * stride;
        for (size_t r = 0; r < call->m; r++) {
            float sums[FINISH_COLUMNS + 1];
            for (size_t c = 0; c < count; c += 2)
                dot_two(traits, row + c * stride, c + 1 < count ? stride : 0, &x, r * blocks, blocks, sums + c);
            finish_row(call, r, j, count, sums);
        }
    }
}

#define KERNEL(ID, name)                                                                                               \
    void CPU_NAME(gemv_k_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                              \
    {                                                                                                                  \
        gemv(traits_##name, call, begin, end);                                                                         \
    }
CPU_GEMV_K_TYPES(KERNEL)
