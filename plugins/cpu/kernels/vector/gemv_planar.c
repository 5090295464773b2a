/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of planar weights of 2, 3, 4 and 8 bits, symmetric and asymmetric, groups of 32 up to the whole row.
 * Layout: weights in place. Tile: 128 weights of two rows of W with up to 4 rows of x. x is permuted once per call to
 * the order in which shifts and masks unpack codes; the products of 128 weights end in 8 integers, each of one block of
 * 32. Zero points are corrected with the sums of x in a group.
 * Bound: bytes of W; operations for 2 and 3 bits. Measured: doc/benchmark.md, GEMV from the L2 cache.
 */
#include "finish.h"
#include "gemv.h"

#define CHUNK 128u
#define GEMV_ROWS 4u                                   /* maximum rows of x */
#define TWO_AHEAD 4096u                                /* prefetch distance of two rows in bytes */
#define X_VALUES (CPU_GEMV_VALUES + GEMV_ROWS * CHUNK) /* rows are padded with zeros to whole chunks */

/* Type and shape. `bits` is a constant where chunks are multiplied. */
struct planar {
    uint32_t bits;
    uint32_t whole; /* 1: a chunk has one scale, 0: one for each block */
    uint32_t twice; /* 1: groups of 64 */
    uint32_t shift; /* log2 of chunks per group, for groups of 128 or more */
    uint32_t zeros; /* 1: plane 2 has a zero point for each group */
    size_t groups;
    size_t chunks;
    size_t blocks;
};

/* x, permuted for chunks. */
struct planar_x {
    int8_t q[X_VALUES];
    float scale[X_VALUES / 16];                           /* 8 per chunk, in the order of lane_block */
    float sum[CPU_GEMV_VALUES / 32 + 4 * GEMV_ROWS + 32]; /* per group; rows are sum_stride apart, whole vectors */
    size_t sum_stride;
};

/* Scales of a row of W, of groups or of blocks, and the initial sums with each row of x, which correct the zero points.
 */
struct planar_scales {
    float d[CPU_GEMV_VALUES / 32 + 16];
    __m256 begin[GEMV_ROWS];
};

/* ---- x ---- */

/* Returns the block of lane `lane` of a chunk's products. */
CPU_INLINE uint32_t lane_block(const uint32_t bits, uint32_t lane)
{
    const uint32_t four = (lane & 2) | lane >> 2;
    return bits == 8 ? lane & 3 : bits == 4 ? four : lane >> 1;
}

/* Permutes 128 values of x to the order of planar_chunk. */
CPU_INLINE void place_chunk(const uint32_t bits, const int8_t *q, int8_t *out)
{
    if (bits == 8) {
        memcpy(out, q, CHUNK);
        return;
    }
    for (size_t block = 0; block < 4; block++) {
        for (size_t part = 0; bits == 4 && part < 2; part++)
            memcpy(out + block / 2 * 64 + 32 * part + block % 2 * 16, q + 32 * block + 16 * part, 16);
        for (size_t part = 0; bits < 4 && part < 4; part++)
            memcpy(out + 32 * part + 8 * block, q + 32 * block + 8 * part, 8);
    }
}

/* Places the codes and scales of row r. `bits` is a constant. */
CPU_INLINE void place_codes(const uint32_t bits, const struct planar *p, const struct cpu_matmul *call, size_t r,
                            struct planar_x *out)
{
    const float *scale = call->act_q8.scale + r * p->blocks;
    for (size_t c = 0; c < p->chunks; c++) {
        const int8_t *q = call->act_q8.q + r * call->k + c * CHUNK;
        int8_t part[CHUNK] = {0};
        if (call->k - c * CHUNK < CHUNK)
            q = memcpy(part, q, call->k - c * CHUNK);
        place_chunk(bits, q, out->q + (r * p->chunks + c) * CHUNK);
        for (uint32_t lane = 0; lane < 8; lane++) {
            const size_t block = 4 * c + lane_block(bits, lane);
            out->scale[(r * p->chunks + c) * 8 + lane] = block < p->blocks ? scale[block] : 0;
        }
    }
}

static void place_row(const struct planar *p, const struct cpu_matmul *call, size_t r, struct planar_x *out)
{
    const size_t per_group = p->blocks / p->groups;
    const float *sum = call->act_q8.sum + r * p->blocks;
    if (p->bits == 8)
        place_codes(8, p, call, r, out);
    else if (p->bits == 4)
        place_codes(4, p, call, r, out);
    else
        place_codes(2, p, call, r, out); /* 3 too */
    for (size_t g = 0; g < p->groups; g++) {
        float all = 0;
        for (size_t b = 0; b < per_group; b++)
            all += sum[g * per_group + b];
        out->sum[r * out->sum_stride + g] = all;
    }
    for (size_t g = p->groups; g < out->sum_stride; g++)
        out->sum[r * out->sum_stride + g] = 0;
}

/* ---- scales of a row of W ---- */

/* Loads up to eight halves. */
CPU_INLINE __m256 eight_halves(const uint8_t *p, size_t count)
{
    uint8_t part[16] = {0};
    if (count < 8)
        p = memcpy(part, p, 2 * count);
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

CPU_INLINE __m256 eight_bytes(const uint8_t *p, size_t count)
{
    uint8_t part[8] = {0};
    if (count < 8)
        p = memcpy(part, p, count);
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

/* Returns the zero points of codes as chunks multiply them: 8-bit codes are signed there. */
CPU_INLINE __m256 zero_points(const struct planar p, const uint8_t *zeros, size_t g)
{
    const __m256 middle = _mm256_set1_ps(p.bits == 8 ? 128.0f : 0);
    if (!p.zeros)
        return _mm256_set1_ps(p.bits == 8 ? 0 : (float)(1 << (p.bits - 1)));
    return _mm256_sub_ps(eight_bytes(zeros + g, p.groups - g), middle);
}

/* Reads the scales of row j of W. */
CPU_INLINE void planar_scales(const struct planar p, const struct cpu_matmul *call, const struct planar_x *x, size_t j,
                              size_t rows, struct planar_scales *out)
{
    const uint8_t *scales = (const uint8_t *)call->w.plane[1] + j * call->w.stride[1];
    const uint8_t *zeros = p.zeros ? (const uint8_t *)call->w.plane[2] + j * call->w.stride[2] : NULL;
    for (size_t r = 0; r < rows; r++)
        out->begin[r] = _mm256_setzero_ps();
    for (size_t g = 0; g < p.groups; g += 8) {
        const __m256 d = eight_halves(scales + 2 * g, p.groups - g);
        const __m256 zero = _mm256_mul_ps(d, zero_points(p, zeros, g));
        if (!p.whole && p.twice) {
            _mm256_storeu_ps(out->d + 2 * g, _mm256_permutevar8x32_ps(d, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)));
            _mm256_storeu_ps(out->d + 2 * g + 8,
                             _mm256_permutevar8x32_ps(d, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7)));
        } else {
            _mm256_storeu_ps(out->d + g, d);
        }
        for (size_t r = 0; r < rows; r++) {
            const float *sum = x->sum + r * x->sum_stride + g;
            out->begin[r] = _mm256_fnmadd_ps(zero, _mm256_loadu_ps(sum), out->begin[r]);
        }
    }
}

/* ---- chunks ---- */

/* 128 codes in the order of place_chunk. */
struct codes128 {
    __m256i a, b, c, d;
};

CPU_INLINE struct codes128 two_bits(__m256i pairs)
{
    return (struct codes128){moved_bytes(pairs, 0, 3), moved_bytes(pairs, -2, 3), moved_bytes(pairs, -4, 3),
                             moved_bytes(pairs, -6, 3)};
}

/* Returns 4 in the byte of each code whose third bit is set: byte `part` of the four words. */
CPU_INLINE __m256i third_bits(__m256i words, const int part)
{
    const __m256i from = _mm256_add_epi8(_mm256_setr_epi32(0, 0, 0x0c0c0c0c, 0x0c0c0c0c, 0, 0, 0x0c0c0c0c, 0x0c0c0c0c),
                                         _mm256_set1_epi8((char)part));
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
    __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(words, from), bit), bit);
    return _mm256_and_si256(set, _mm256_set1_epi8(4));
}

/* Unpacks blocks of 12 bytes: 8 with the low two bits, 4 with the third bits. */
CPU_INLINE struct codes128 three_bits(const uint8_t *p)
{
    __m256i first = load_pair16(p, p + 24), rest = load_pair16(p + 8, p + 32);
    __m256 pairs = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(rest), _MM_SHUFFLE(2, 1, 1, 0));
    struct codes128 v = two_bits(_mm256_castps_si256(pairs));
    v.a = _mm256_or_si256(v.a, third_bits(rest, 0));
    v.b = _mm256_or_si256(v.b, third_bits(rest, 1));
    v.c = _mm256_or_si256(v.c, third_bits(rest, 2));
    v.d = _mm256_or_si256(v.d, third_bits(rest, 3));
    return v;
}

CPU_INLINE struct codes128 planar_chunk(const uint32_t bits, const uint8_t *p)
{
    if (bits == 2)
        return two_bits(load32(p));
    if (bits == 3)
        return three_bits(p);
    if (bits == 4) {
        __m256i first = load32(p), last = load32(p + 32);
        return (struct codes128){moved_bytes(first, 0, 15), moved_bytes(first, -4, 15), moved_bytes(last, 0, 15),
                                 moved_bytes(last, -4, 15)};
    }
    const __m256i sign = _mm256_set1_epi8((char)0x80);
    return (struct codes128){_mm256_xor_si256(load32(p), sign), _mm256_xor_si256(load32(p + 32), sign),
                             _mm256_xor_si256(load32(p + 64), sign), _mm256_xor_si256(load32(p + 96), sign)};
}

CPU_INLINE __m256i products(__m256i codes, const int8_t *x)
{
    return _mm256_maddubs_epi16(codes, load32(x));
}

/* Adds both quarters of each half of two vectors: those of v, then those of w. */
CPU_INLINE __m256i fold32(__m256i v, __m256i w)
{
    return _mm256_add_epi32(_mm256_unpacklo_epi64(v, w), _mm256_unpackhi_epi64(v, w));
}

/* Multiplies 128 codes with x and sums them to eight integers in the order of lane_block. */
CPU_INLINE __m256i dot_chunk(const uint32_t bits, const struct codes128 v, const int8_t *x)
{
    if (bits == 8) {
        __m256i low = fold32(dot32s(v.a, load32(x)), dot32s(v.b, load32(x + 32)));
        __m256i high = fold32(dot32s(v.c, load32(x + 64)), dot32s(v.d, load32(x + 96)));
        __m256 even = _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88);
        __m256 odd = _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0xdd);
        return _mm256_add_epi32(_mm256_castps_si256(even), _mm256_castps_si256(odd));
    }
#ifdef CPU_DOT32
    __m256i first = dot64u(v.a, load32(x), v.b, load32(x + 32));
    __m256i last = dot64u(v.c, load32(x + 64), v.d, load32(x + 96));
    return bits == 4 ? fold32(first, last) : _mm256_add_epi32(first, last);
#else
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i first = _mm256_add_epi16(products(v.a, x), products(v.b, x + 32));
    __m256i last = _mm256_add_epi16(products(v.c, x + 64), products(v.d, x + 96));
    if (bits == 4)
        first = _mm256_add_epi16(_mm256_unpacklo_epi64(first, last), _mm256_unpackhi_epi64(first, last));
    else
        first = _mm256_add_epi16(first, last);
    return _mm256_madd_epi16(first, ones);
#endif
}

/* Returns the scales of chunk c, one per lane. */
CPU_INLINE __m256 chunk_scales(const struct planar p, const float *d, size_t c)
{
    if (p.whole)
        return _mm256_broadcast_ss(d + (c >> p.shift));
    const __m256i lanes = _mm256_setr_epi32(
        (int)lane_block(p.bits, 0), (int)lane_block(p.bits, 1), (int)lane_block(p.bits, 2), (int)lane_block(p.bits, 3),
        (int)lane_block(p.bits, 4), (int)lane_block(p.bits, 5), (int)lane_block(p.bits, 6), (int)lane_block(p.bits, 7));
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(d + 4 * c)), lanes);
}

/* ---- rows ---- */

/* Adds chunk c of two rows of W with `rows` rows of x. */
CPU_INLINE void add_two(const struct planar p, const uint8_t *const codes[2], const struct planar_x *x, size_t rows,
                        const struct planar_scales scales[2], size_t c, __m256 (*sums)[2])
{
    CPU_UNROLL
    for (size_t i = 0; i < 2; i++) {
        const struct codes128 v = planar_chunk(p.bits, codes[i]);
        const __m256 d = chunk_scales(p, scales[i].d, c);
        for (size_t r = 0; r < rows; r++) {
            const size_t at = r * p.chunks + c;
            const __m256 dot = _mm256_cvtepi32_ps(dot_chunk(p.bits, v, x->q + at * CHUNK));
            sums[r][i] = _mm256_fmadd_ps(_mm256_mul_ps(dot, _mm256_loadu_ps(x->scale + 8 * at)), d, sums[r][i]);
        }
    }
}

/* Multiplies two rows of W, `stride` bytes apart (0: the same twice), with `rows` rows of x: they share the loads of x
 * and overlap in latency. */
CPU_INLINE void row_two(const struct planar p, const uint8_t *row, size_t stride, const struct planar_x *x, size_t rows,
                        const struct planar_scales scales[2], float (*out)[FINISH_COLUMNS + 1], size_t column)
{
    __m256 sums[GEMV_ROWS][2];
    size_t c = 0;
    for (size_t r = 0; r < rows; r++) {
        sums[r][0] = scales[0].begin[r];
        sums[r][1] = scales[1].begin[r];
    }
    for (; c < p.blocks / 4; c++) {
        const uint8_t *codes = row + c * 16 * p.bits;
        /* Prefetches the next rows, which follow these, in proportion. */
        prefetch_lines(row + TWO_AHEAD + 2 * c * 16 * p.bits, 32 * p.bits);
        add_two(p, (const uint8_t *const[2]){codes, codes + stride}, x, rows, scales, c, sums);
    }
    if (c < p.chunks) {
        const size_t bytes = (p.blocks - 4 * c) * 4 * p.bits;
        uint8_t part[2][CHUNK] = {{0}};
        memcpy(part[0], row + c * 16 * p.bits, bytes);
        memcpy(part[1], row + stride + c * 16 * p.bits, bytes);
        add_two(p, (const uint8_t *const[2]){part[0], part[1]}, x, rows, scales, c, sums);
    }
    for (size_t r = 0; r < rows; r++) {
        out[r][column] = sum8(sums[r][0]);
        out[r][column + 1] = sum8(sums[r][1]);
    }
}

/* `rows`: of x, a constant if there is one. */
CPU_INLINE void gemv(const struct planar p, const struct cpu_matmul *call, size_t rows, size_t begin, size_t end)
{
    const size_t stride = call->w.stride[0];
    struct planar_scales scales[2];
    struct planar_x x;
    x.sum_stride = (p.groups + 7) / 8 * 8;
    for (size_t r = 0; r < rows; r++)
        place_row(&p, call, r, &x);
    for (size_t j = begin; j < end; j += FINISH_COLUMNS) {
        float sums[GEMV_ROWS][FINISH_COLUMNS + 1];
        const size_t count = least(FINISH_COLUMNS, end - j);
        for (size_t c = 0; c < count; c += 2) {
            const uint8_t *row = (const uint8_t *)call->w.plane[0] + (j + c) * stride;
            const size_t odd = c + 1 < count;
            planar_scales(p, call, &x, j + c, rows, &scales[0]);
            planar_scales(p, call, &x, j + c + odd, rows, &scales[1]);
            row_two(p, row, odd * stride, &x, rows, scales, sums, c);
        }
        for (size_t r = 0; r < rows; r++)
            finish_row(call, r, j, count, sums[r]);
    }
}

/* `bits` is a constant. */
CPU_INLINE void gemv_bits(const uint32_t bits, struct planar p, const struct cpu_matmul *call, size_t begin, size_t end)
{
    p.bits = bits;
    if (call->m == 1)
        gemv(p, call, 1, begin, end);
    else
        gemv(p, call, call->m, begin, end);
}

void CPU_NAME(gemv_planar)(const struct cpu_matmul *call, size_t begin, size_t end)
{
    const uint32_t group = ACCEL_PLANAR_LOG2_GROUP(call->w.type);
    const struct planar p = {.bits = ACCEL_PLANAR_BITS(call->w.type),
                             .whole = group == 0 || group >= 7,
                             .twice = group == 6,
                             .shift = group == 0  ? 31
                                      : group > 7 ? group - 7
                                                  : 0,
                             .zeros = ACCEL_PLANAR_SCHEME(call->w.type) == ACCEL_SCHEME_ASYMMETRIC,
                             .groups = group == 0 ? 1 : call->k >> group,
                             .chunks = (call->k + CHUNK - 1) / CHUNK,
                             .blocks = call->k / 32};
    switch (p.bits) {
    case 2:
        gemv_bits(2, p, call, begin, end);
        break;
    case 3:
        gemv_bits(3, p, call, begin, end);
        break;
    case 4:
        gemv_bits(4, p, call, begin, end);
        break;
    default:
        gemv_bits(8, p, call, begin, end);
        break;
    }
}
