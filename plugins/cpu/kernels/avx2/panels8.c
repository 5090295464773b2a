/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of weights in panels (panels.h) with a few rows of activations rounded to 8 bits, AVX2 with and without VNNI.
 * A lane for each of 16 rows of W, two vectors of eight: four digits of eight rows meet four of x, which one load
 * brings to all lanes, so that nothing is added up across a vector. Digits are taken apart in registers, once for up to
 * four rows of x; what they are too high by is taken away with the sums of x. One row of x reads several parts of W
 * side by side, streams of memory. Sums as in the cores of many rows (gemm_core.c of the level): 16 bits without VNNI,
 * widened once for 32 or 16 digits; digits of 8 bits take sign, maddubs, madd and an addition there.
 */
#include "plugins/cpu/kernels/panels/panels.h"
#include "plugins/cpu/kernels/vector/finish.h"
#include "plugins/cpu/kernels/vector/gemm_core.h"
#include "plugins/cpu/kernels/vector/gemm_fill_k.h"

#ifdef SIMD_EMULATE
/* Stand-ins of every instruction, unrolled: the compiler would take minutes. */
#undef CPU_UNROLL
#define CPU_UNROLL CPU_NO_UNROLL
#endif

#define TILE CPU_TILE_ROWS
#define HALVES 2u   /* vectors of a panel's 16 rows */
#define STREAMS 4u  /* of one row of x */
#define AHEAD 2048u /* bytes of each stream that are asked for before they are read */
#define LINE 64u
#define FEW_MOST 8u  /* rows of x up to which this is faster than the way of many rows */
#define FEW_SUPER 2u /* the same of types of 256 weights, which take more to be taken apart */
#define BLOCKS_MOST (CPU_PANEL_VALUES / CPU_BLOCK)

/* ---- x ---- */

/* What a tile says of a block, of one row. */
struct one {
    int16_t minus[3][2];
    float sum[3];
};

/* A block of `rows` rows of x: of one as it lies, or of a tile of them. */
struct few_block {
    const int8_t *q;
    const float *scale;
    const float *sum;
    const struct one *one;
    const struct cpu_tile *tile;
};

/* Digits 4c .. 4c + 3 of row r. */
CPU_INLINE __m256i digits_of_x(const struct few_block *x, const size_t rows, const size_t r, const size_t c)
{
    return broadcast4(rows == 1 ? x->q + 4 * c : x->tile->q[c][r]);
}

CPU_INLINE __m256 scale_of_x(const struct few_block *x, const size_t rows, const size_t r)
{
    return _mm256_broadcast_ss(rows == 1 ? x->scale : &x->tile->scale[r]);
}

/* Scale times the sum of digits: of the whole block. */
CPU_INLINE __m256 sum_of_x(const struct few_block *x, const size_t rows, const size_t r)
{
    return _mm256_broadcast_ss(rows == 1 ? x->sum : &x->tile->sum[0][r]);
}

/* The same of part 1 or 2, its first or its last 16. */
CPU_INLINE __m256 part_sum_of_x(const struct few_block *x, const size_t rows, const size_t r, const size_t part)
{
    return _mm256_broadcast_ss(rows == 1 ? &x->one->sum[part] : &x->tile->sum[part][r]);
}

/* Where sums of products with digits `center` too high begin; a power of two. */
CPU_INLINE __m256i begin_of_x(const int center, const struct few_block *x, const size_t rows, const size_t r,
                              const size_t part)
{
    if (center == 0)
        return _mm256_setzero_si256();
    const __m256i minus = broadcast4(rows == 1 ? x->one->minus[part] : x->tile->minus[part][r]);
#ifdef CPU_DOT32
    return _mm256_madd_epi16(minus, _mm256_set1_epi16((int16_t)center));
#else
    return _mm256_slli_epi16(minus, __builtin_ctz((unsigned)center));
#endif
}

/* Those of a row, for all of it. */
static void look_at_one(const struct cpu_rows8 *x, size_t blocks, struct one *out)
{
    for (size_t b = 0; b < blocks; b++) {
        const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), load32(x->q + b * CPU_BLOCK));
        const __m256i fours = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, 0x4e));
        const __m256i twos = _mm256_add_epi16(fours, _mm256_shuffle_epi32(fours, 0xb1));
        const __m128i half[2] = {_mm256_castsi256_si128(twos), _mm256_extracti128_si256(twos, 1)};
        const __m128i part[3] = {_mm_add_epi16(half[0], half[1]), half[0], half[1]};
        CPU_UNROLL
        for (size_t i = 0; i < 3; i++) {
            const int minus = _mm_cvtsi128_si32(_mm_sub_epi16(_mm_setzero_si128(), part[i]));
            memcpy(out[b].minus[i], &minus, sizeof(minus));
            out[b].sum[i] = x->scale[b] * (float)_mm_cvtsi128_si32(_mm_madd_epi16(part[i], _mm_set1_epi16(1)));
        }
    }
}

/* ---- products ---- */

/* Keeps the order in which products are added: the compiler would hold them all, in memory. */
CPU_INLINE void keep(__m256i v[HALVES])
{
    __asm__ volatile("" : "+x"(v[0]), "+x"(v[1]));
}

/* Adds products of digits without sign of up to 6 bits, or, where the level has an instruction for it, of 8. */
CPU_INLINE __m256i add_products(__m256i sums, __m256i digits, __m256i x)
{
#ifdef CPU_DOT32
    return _mm256_dpbusd_avx_epi32(sums, digits, x);
#else
    return _mm256_add_epi16(sums, _mm256_maddubs_epi16(digits, x));
#endif
}

/* The same sums as integers of 32 bits, in what add_products adds up. */
CPU_INLINE __m256i wide_sums(__m256i sums)
{
#ifdef CPU_DOT32
    return sums;
#else
    return _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
#endif
}

/* Products of digits of 8 bits, 128 too high; `sums` are of 32 bits. What remains to take away is eight_center. */
CPU_INLINE void add_bytes(const size_t rows, const struct few_block *x, const uint8_t *words, size_t c,
                          __m256i sums[TILE][HALVES])
{
#ifdef CPU_DOT32
    const __m256i w[HALVES] = {load_run(words), load_run(words + 32)};
#else
    const __m256i flip = _mm256_set1_epi8((char)0x80), ones = _mm256_set1_epi16(1);
    const __m256i w[HALVES] = {_mm256_xor_si256(load_run(words), flip), _mm256_xor_si256(load_run(words + 32), flip)};
    const __m256i size[HALVES] = {_mm256_abs_epi8(w[0]), _mm256_abs_epi8(w[1])};
#endif
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m256i four = digits_of_x(x, rows, r, c);
        CPU_UNROLL
        for (size_t h = 0; h < HALVES; h++) {
#ifdef CPU_DOT32
            sums[r][h] = _mm256_dpbusd_avx_epi32(sums[r][h], w[h], four);
#else
            const __m256i pairs = _mm256_maddubs_epi16(size[h], _mm256_sign_epi8(four, w[h]));
            sums[r][h] = _mm256_add_epi32(sums[r][h], _mm256_madd_epi16(pairs, ones));
#endif
        }
        keep(sums[r]);
    }
}

#ifdef CPU_DOT32
#define EIGHT_CENTER 128.0f
#define FIVE_APART 0
#else
#define EIGHT_CENTER 0.0f
#define FIVE_APART 1 /* digits of 5 bits */
#endif

/* ---- types of struct layout ---- */

CPU_INLINE void add_nibbles(const size_t rows, const struct few_block *x, const uint8_t *words, size_t c,
                            __m256i sums[TILE][HALVES])
{
    const __m256i low = _mm256_set1_epi8(15), both[HALVES] = {load_run(words), load_run(words + 32)};
    CPU_UNROLL
    for (size_t i = 0; i < 2; i++) {
        __m256i w[HALVES];
        CPU_UNROLL
        for (size_t h = 0; h < HALVES; h++)
            w[h] = _mm256_and_si256(i == 0 ? both[h] : _mm256_srli_epi16(both[h], 4), low);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const __m256i four = digits_of_x(x, rows, r, c + 4 * i);
            CPU_UNROLL
            for (size_t h = 0; h < HALVES; h++)
                sums[r][h] = add_products(sums[r][h], w[h], four);
            keep(sums[r]);
        }
    }
}

/* A block of a panel of a type of struct layout; `halves`: its scales. */
CPU_INLINE void add_layout(const struct layout f, const uint8_t *block, const uint8_t *halves,
                           const struct few_block *x, const size_t rows, float (*sums)[PANEL_ROWS])
{
    const uint8_t *words = block + f.digits_at * PANEL_ROWS;
    const float center = f.minimum ? 0 : f.bits == 4 ? 8.0f : EIGHT_CENTER;
    __m256i dot[TILE][HALVES];
    __m256 d[HALVES], m[HALVES];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        dot[r][0] = dot[r][1] = _mm256_setzero_si256();
    CPU_UNROLL
    for (size_t c = 0; c < f.bits; c++) {
        if (f.bits == 4)
            add_nibbles(rows, x, words + c * PANEL_WORD, c, dot);
        else
            add_bytes(rows, x, words + c * PANEL_WORD, c, dot);
    }
    CPU_UNROLL
    for (size_t h = 0; h < HALVES; h++) {
        if (f.minimum) /* a word of two halves */
            two_halves(load_run(block + 32 * h), &d[h], &m[h]);
        else
            d[h] = m[h] = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(halves + 16 * h)));
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m256 scale = scale_of_x(x, rows, r), sum = sum_of_x(x, rows, r);
        const __m256 back = _mm256_mul_ps(sum, _mm256_set1_ps(-center));
        CPU_UNROLL
        for (size_t h = 0; h < HALVES; h++) {
            const __m256 value = _mm256_cvtepi32_ps(f.bits == 4 ? wide_sums(dot[r][h]) : dot[r][h]);
            __m256 total = _mm256_loadu_ps(sums[r] + 8 * h);
            if (center != 0)
                total = _mm256_fmadd_ps(_mm256_fmadd_ps(value, scale, back), d[h], total);
            else
                total = _mm256_fmadd_ps(_mm256_mul_ps(value, scale), d[h], total);
            if (f.minimum)
                total = _mm256_fmadd_ps(sum, m[h], total);
            _mm256_storeu_ps(sums[r] + 8 * h, total);
        }
    }
}

/* ---- types of 256 weights ---- */

/* A type; `center` as in gemm.h, of digits that no minimum brings back. `apart`: the first 16 of 32 digits are not
 * added to the last in 16 bits, which would not hold them. */
struct super {
    struct kind kind;
    int center;
    int apart;
};

CPU_INLINE struct super super_of(const struct kind kind)
{
    const int center = kind.type == ACCEL_Q3_K ? 4 : kind.type == ACCEL_Q6_K ? 32 : 0;
    return (struct super){kind, center, kind.type == ACCEL_Q5_K && FIVE_APART};
}

/* Word c of the digits of group g (constants) of eight rows, without sign. */
CPU_INLINE __m256i digits_k(const struct kind kind, const uint8_t *words, const size_t g, const size_t c)
{
    const int six = kind.type == ACCEL_Q6_K, quarters = kind.type == ACCEL_Q2_K || kind.type == ACCEL_Q3_K;
    const size_t part = six ? g / 4 * 2 + g % 2 : quarters ? g / 4 : g / 2;
    const __m256i low = load_run(words + (k_low_at(kind) / 4 + 8 * part + c) * PANEL_WORD);
    if (kind.type == ACCEL_Q2_K || kind.type == ACCEL_Q4_K)
        return k_group(kind, (int)g, low, low);
    return k_group(kind, (int)g, low, load_run(words + (k_high_at(kind) / 4 + (six ? g / 4 * 8 : 0) + c) * PANEL_WORD));
}

/* Words from .. from + count of group g, added up from where digits that are too high begin. */
CPU_INLINE void products_k(const struct super type, const uint8_t *words, const size_t g, const struct few_block *x,
                           const size_t rows, const size_t part, const size_t from, const size_t count,
                           __m256i dot[TILE][HALVES])
{
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        dot[r][0] = dot[r][1] = begin_of_x(type.center, x, rows, r, part);
    CPU_UNROLL
    for (size_t c = from; c < from + count; c++) {
        const __m256i w[HALVES] = {digits_k(type.kind, words, g, c), digits_k(type.kind, words + 32, g, c)};
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const __m256i four = digits_of_x(x, rows, r, c);
            CPU_UNROLL
            for (size_t h = 0; h < HALVES; h++)
                dot[r][h] = add_products(dot[r][h], w[h], four);
            keep(dot[r]);
        }
    }
}

/* The byte of each word that is number i (a constant) of the scales or minima of eight rows. */
CPU_INLINE __m256i number_words(const __m256i *words, const size_t i)
{
    const __m256i from = _mm256_setr_epi32((int)0x80808000, (int)0x80808004, (int)0x80808008, (int)0x8080800c,
                                           (int)0x80808000, (int)0x80808004, (int)0x80808008, (int)0x8080800c);
    return _mm256_shuffle_epi8(words[i / 4], _mm256_add_epi32(from, _mm256_set1_epi32((int)(i % 4))));
}

/* Sums times factor i of each row of W, added to `value`: whole numbers until factors are floats. */
#ifdef CPU_DOT32
typedef __m256 scaled;
CPU_INLINE scaled no_scaled(void)
{
    return _mm256_setzero_ps();
}
CPU_INLINE scaled factor_of(const struct kind kind, const struct k_head *head, const size_t i)
{
    return _mm256_cvtepi32_ps(kind.minimum ? number_words(head->scales, i) : byte_of(head->scales[i / 4], i % 4));
}
CPU_INLINE scaled add_factor(scaled value, __m256i dot, scaled factor)
{
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), factor, value);
}
CPU_INLINE __m256 scaled_float(scaled value)
{
    return value;
}
#else
typedef __m256i scaled;
CPU_INLINE scaled no_scaled(void)
{
    return _mm256_setzero_si256();
}
CPU_INLINE scaled factor_of(const struct kind kind, const struct k_head *head, const size_t i)
{
    const int step = kind.minimum ? 0x00010001 : 0x01000100, none = kind.minimum ? (int)0x80008000 : 0x00800080;
    const __m256i from = _mm256_setr_epi32(none, none + 4 * step, none + 8 * step, none + 12 * step, none,
                                           none + 4 * step, none + 8 * step, none + 12 * step);
    const __m256i twice =
        _mm256_shuffle_epi8(head->scales[i / 4], _mm256_add_epi32(from, _mm256_set1_epi32((int)(i % 4) * step)));
    return kind.minimum ? twice : _mm256_srai_epi16(twice, 8);
}
CPU_INLINE scaled add_factor(scaled value, __m256i dot, scaled factor)
{
    return _mm256_add_epi32(value, _mm256_madd_epi16(dot, factor));
}
CPU_INLINE __m256 scaled_float(scaled value)
{
    return _mm256_cvtepi32_ps(value);
}
#endif

/* Group g (a constant) of a block: sums without the scales of blocks, to `part`. */
CPU_INLINE void add_group(const struct super type, const uint8_t *words, const struct k_head *head, const size_t g,
                          const struct few_block *x, const size_t rows, __m256 part[TILE][HALVES])
{
    const size_t pieces = type.kind.fine || type.apart ? 2 : 1;
    __m256i dot[TILE][HALVES];
    scaled value[TILE][HALVES];
    CPU_UNROLL
    for (size_t p = 0; p < pieces; p++) {
        const size_t i = type.kind.fine ? 2 * g + p : g;
        products_k(type, words, g, x, rows, type.kind.fine ? 1 + p : 0, p * 4, 8 / pieces, dot);
        const scaled factor[HALVES] = {factor_of(type.kind, &head[0], i), factor_of(type.kind, &head[1], i)};
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            CPU_UNROLL
            for (size_t h = 0; h < HALVES; h++)
                value[r][h] = add_factor(p == 0 ? no_scaled() : value[r][h], dot[r][h], factor[h]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m256 scale = scale_of_x(x, rows, r);
        CPU_UNROLL
        for (size_t h = 0; h < HALVES; h++)
            part[r][h] = _mm256_fmadd_ps(scaled_float(value[r][h]), scale, part[r][h]);
    }
}

/* Minima of group g (a constant) times sums of x, without the scale of blocks. */
CPU_INLINE void add_minima(const struct super type, const struct k_head *head, const size_t g,
                           const struct few_block *x, const size_t rows, __m256 part[TILE][HALVES])
{
    const size_t pieces = type.kind.fine ? 2 : 1;
    CPU_UNROLL
    for (size_t p = 0; p < pieces; p++) {
        const __m256 m[HALVES] = {_mm256_cvtepi32_ps(number_words(head[0].minima, pieces * g + p)),
                                  _mm256_cvtepi32_ps(number_words(head[1].minima, pieces * g + p))};
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const __m256 sum = type.kind.fine ? part_sum_of_x(x, rows, r, 1 + p) : sum_of_x(x, rows, r);
            part[r][0] = _mm256_fmadd_ps(sum, m[0], part[r][0]);
            part[r][1] = _mm256_fmadd_ps(sum, m[1], part[r][1]);
        }
    }
}

/* What the header of a block says, of both halves of a panel. */
CPU_INLINE void read_head(const struct kind kind, const uint8_t *words, const uint8_t *half, struct k_head out[HALVES])
{
    CPU_UNROLL
    for (size_t h = 0; h < HALVES; h++) {
        const struct eight from = {.words = words + 32 * h, .half = half + 16 * h};
        if (kind.type == ACCEL_Q2_K)
            head_q2(&from, &out[h]);
        else if (kind.type == ACCEL_Q3_K)
            head_q3(&from, &out[h]);
        else if (kind.type == ACCEL_Q6_K)
            head_q6(&from, &out[h]);
        else
            head_6(&from, &out[h]);
    }
}

/* ---- panels ---- */

/* A type; a constant. Of `layout` and `super` the one counts that `block_values` says. */
struct panel_type {
    struct layout layout;
    struct super super;
    uint32_t block_values;
    uint32_t block_bytes;
};

/* Rows of x: one, or from row `first` on, a multiple of TILE. */
struct few {
    const struct cpu_rows8 *x;
    size_t blocks;
    size_t first;
    size_t rows;
    const struct one *one;
};

CPU_INLINE struct few_block block_of(const struct few *few, const size_t rows, size_t t, size_t b)
{
    if (rows == 1)
        return (struct few_block){few->x->q + b * CPU_BLOCK, few->x->scale + b, few->x->sum + b, few->one + b, NULL};
    return (struct few_block){.tile = cpu_tile_of(few->x, few->blocks, few->first / TILE + t, b)};
}

/* Adds sums of a block times its scales. */
CPU_INLINE void add_scaled_parts(const size_t rows, const int minima, const struct k_head head[HALVES],
                                 __m256 part[TILE][HALVES], float (*sums)[PANEL_ROWS])
{
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        CPU_UNROLL
        for (size_t h = 0; h < HALVES; h++) {
            const __m256 sum = _mm256_loadu_ps(sums[r] + 8 * h);
            _mm256_storeu_ps(sums[r] + 8 * h, minima ? _mm256_fnmadd_ps(part[r][h], head[h].dmin, sum)
                                                     : _mm256_fmadd_ps(part[r][h], head[h].d, sum));
        }
    }
}

CPU_INLINE void no_parts(const size_t rows, __m256 part[TILE][HALVES])
{
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        part[r][0] = part[r][1] = _mm256_setzero_ps();
}

/* Block b of 256 of a panel. */
CPU_INLINE void add_super(const struct super type, const uint8_t *block, const struct few *few, const size_t rows,
                          size_t t, size_t b, float (*sums)[PANEL_ROWS])
{
    const uint8_t *words = block + (type.kind.block_bytes % 4 ? PANEL_HALF : 0);
    struct k_head head[HALVES];
    __m256 part[TILE][HALVES];
    read_head(type.kind, words, block, head);
    if (type.kind.minimum) {
        no_parts(rows, part);
        CPU_UNROLL
        for (size_t g = 0; g < 8; g++) {
            const struct few_block x = block_of(few, rows, t, 8 * b + g);
            add_minima(type, head, g, &x, rows, part);
        }
        add_scaled_parts(rows, 1, head, part, sums);
    }
    no_parts(rows, part);
    CPU_UNROLL
    for (size_t g = 0; g < 8; g++) {
        const struct few_block x = block_of(few, rows, t, 8 * b + g);
        add_group(type, words, head, g, &x, rows, part);
    }
    add_scaled_parts(rows, 0, head, part, sums);
}

/* Block b of a panel with all tiles, the last of which may be of two rows. `rows` (a constant): 1, or more. */
CPU_INLINE void add(const struct panel_type type, const struct panels *w, const uint8_t *panel, const struct few *few,
                    const size_t rows, size_t b, float (*sums)[PANEL_ROWS])
{
    const size_t bytes = type.block_bytes * PANEL_ROWS;
    const uint8_t *block = panel + b * bytes;
    const uint8_t *halves =
        type.layout.planar ? panel + w->scales_at + b / type.layout.group_blocks * PANEL_HALF : block;
    CPU_NO_UNROLL
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(block + at + AHEAD, 0, 3);
    CPU_NO_UNROLL
    for (size_t t = 0; t * TILE < few->rows; t++, sums += TILE) {
        const struct few_block x = block_of(few, rows, t, b);
        if (type.block_values != CPU_BLOCK)
            add_super(type.super, block, few, rows, t, b, sums);
        else
            add_layout(type.layout, block, halves, &x, rows, sums);
    }
}

/* Panels at, at + apart, ...: `count` streams of memory, a block of each in turn. */
CPU_INLINE void side_by_side(const struct panel_type type, const struct panels *w, const struct few *few,
                             const size_t rows, size_t at, size_t apart, size_t count,
                             float (*sums)[FEW_MOST][PANEL_ROWS])
{
    for (size_t b = 0; b < w->blocks; b++) {
        CPU_NO_UNROLL
        for (size_t p = 0; p < count; p++)
            add(type, w, w->first + (at + p * apart) * w->bytes, few, rows, b, sums[p]);
    }
}

/* Panels begin .. end. */
CPU_INLINE void few_rows(const struct panel_type type, const struct cpu_matmul *call, const struct few *few,
                         const size_t rows, size_t begin, size_t end)
{
    const struct panels w = cpu_panels_of(call);
    const size_t streams = rows == 1 ? STREAMS : 1, apart = (end - begin + streams - 1) / streams;
    for (size_t at = begin; at < begin + apart; at++) {
        float sums[STREAMS][FEW_MOST][PANEL_ROWS];
        const size_t count = (end - at + apart - 1) / apart;
        memset(sums, 0, streams * sizeof(sums[0]));
        side_by_side(type, &w, few, rows, at, apart, count, sums);
        for (size_t p = 0; p < count; p++)
            for (size_t r = 0; r < few->rows; r++)
                finish_row(call, few->first + r, (at + p * apart) * PANEL_ROWS, PANEL_ROWS, sums[p][r]);
    }
}

CPU_INLINE void few_of_type(const struct panel_type type, const struct cpu_matmul *call, size_t begin, size_t end)
{
    struct few few = {&call->x8, call->k / CPU_BLOCK, 0, call->m, NULL};
    struct one one[BLOCKS_MOST];
    if (call->m == 1 && type.block_values != CPU_BLOCK) {
        look_at_one(&call->x8, few.blocks, one);
        few.one = one;
    }
    if (call->m == 1)
        few_rows(type, call, &few, 1, begin, end);
    else if (call->m == 2 || type.block_values != CPU_BLOCK)
        few_rows(type, call, &few, 2, begin, end);
    else
        few_rows(type, call, &few, TILE, begin, end);
}

static size_t few_most(uint32_t type)
{
    return cpu_panel_form(type).block_values == CPU_BLOCK ? FEW_MOST : FEW_SUPER;
}

#define FEW_TYPE(name, ...)                                                                                            \
    static __attribute__((noinline)) void few_##name(const struct cpu_matmul *call, size_t begin, size_t end)          \
    {                                                                                                                  \
        const struct panel_type type = {__VA_ARGS__};                                                                  \
        few_of_type(type, call, begin, end);                                                                           \
    }
#define FEW_LAYOUT(name)                                                                                               \
    FEW_TYPE(name, .layout = layout_##name, .block_values = CPU_BLOCK, .block_bytes = layout_##name.block_bytes)
#define FEW_KIND(name)                                                                                                 \
    FEW_TYPE(name, .super = super_of(kind_##name), .block_values = RUN_VALUES, .block_bytes = kind_##name.block_bytes)

#include "plugins/cpu/kernels/panels/few_types.h"
