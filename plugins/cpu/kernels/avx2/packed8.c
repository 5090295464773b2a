/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of packed weights (panels.h) with up to GEMV_MOST rows of act_q8, AVX2 with and without VNNI. Each lane holds
 * one of 16 rows of W, in two vectors of eight. A dot-product instruction multiplies 4 codes of 8 rows with 4
 * activations broadcast to all lanes, so there is no horizontal sum. Codes are unpacked in registers, once for up to
 * four rows of x; the zero point is corrected with the sums of x. With one row of x several parts of W are read as
 * separate memory streams. Sums are those of the GEMM cores (gemm_core.c of the ISA): 16 bits without VNNI, widened
 * once per 32 or 16 codes; 8-bit codes use sign, maddubs, madd and an addition.
 */
#include "plugins/cpu/kernels/panels/panels.h"
#include "plugins/cpu/kernels/vector/finish.h"
#include "plugins/cpu/kernels/vector/gemm_core.h"
#include "plugins/cpu/kernels/vector/gemm_fill_k.h"

#define TILE CPU_TILE_ROWS
#define HALVES 2u   /* vectors of a panel's 16 rows */
#define STREAMS 4u  /* memory streams with one row of x */
#define AHEAD 2048u /* prefetch distance of each stream in bytes */
#define LINE 64u
#define GEMV_MOST 8u     /* rows of x up to which this is faster than GEMM */
#define GEMV_MOST_256 2u /* the limit of types of 256 weights, which take more operations to unpack */
#define BLOCKS_MOST (CPU_PANEL_VALUES / CPU_BLOCK)

/* ---- x ---- */

/* The sums of one row's block that struct cpu_tile holds for a tile. */
struct act_sums {
    int16_t minus[3][2];
    float sum[3];
};

/* A block of `rows` rows of act_q8: one row in place, or a tile. */
struct act_block {
    const int8_t *q;
    const float *scale;
    const float *sum;
    const struct act_sums *act_sums;
    const struct cpu_tile *tile;
};

/* Broadcasts codes 4c .. 4c + 3 of row r. */
CPU_INLINE __m256i codes_of_x(const struct act_block *x, const size_t rows, const size_t r, const size_t c)
{
    return broadcast4(rows == 1 ? x->q + 4 * c : x->tile->q[c][r]);
}

CPU_INLINE __m256 scale_of_x(const struct act_block *x, const size_t rows, const size_t r)
{
    return _mm256_broadcast_ss(rows == 1 ? x->scale : &x->tile->scale[r]);
}

/* Broadcasts scale * sum of codes of the whole block. */
CPU_INLINE __m256 sum_of_x(const struct act_block *x, const size_t rows, const size_t r)
{
    return _mm256_broadcast_ss(rows == 1 ? x->sum : &x->tile->sum[0][r]);
}

/* Broadcasts scale * sum of codes of part 1 or 2: the first or the last 16. */
CPU_INLINE __m256 part_sum_of_x(const struct act_block *x, const size_t rows, const size_t r, const size_t part)
{
    return _mm256_broadcast_ss(rows == 1 ? &x->act_sums->sum[part] : &x->tile->sum[part][r]);
}

/* Returns the initial sum that corrects the zero point `center`, a power of two. */
CPU_INLINE __m256i begin_of_x(const int center, const struct act_block *x, const size_t rows, const size_t r,
                              const size_t part)
{
    if (center == 0)
        return _mm256_setzero_si256();
    const __m256i minus = broadcast4(rows == 1 ? x->act_sums->minus[part] : x->tile->minus[part][r]);
#ifdef CPU_DOT32
    return _mm256_madd_epi16(minus, _mm256_set1_epi16((int16_t)center));
#else
    return _mm256_slli_epi16(minus, __builtin_ctz((unsigned)center));
#endif
}

/* Computes the block sums of a row. */
static void sum_act_row(const struct cpu_act_q8 *x, size_t blocks, struct act_sums *out)
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

/* Forbids reordering of the sums: the compiler would hold all products, in memory. */
CPU_INLINE void fix_order(__m256i v[HALVES])
{
    __asm__ volatile("" : "+x"(v[0]), "+x"(v[1]));
}

/* Adds products of unsigned codes of up to 6 bits, or of 8 bits with VNNI. */
CPU_INLINE __m256i add_products(__m256i sums, __m256i codes, __m256i x)
{
#ifdef CPU_DOT32
    return _mm256_dpbusd_avx_epi32(sums, codes, x);
#else
    return _mm256_add_epi16(sums, _mm256_maddubs_epi16(codes, x));
#endif
}

/* Widens the sums of add_products to 32 bits. */
CPU_INLINE __m256i wide_sums(__m256i sums)
{
#ifdef CPU_DOT32
    return sums;
#else
    return _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
#endif
}

/* Adds products of 8-bit codes with zero point 128 to 32-bit sums. EIGHT_CENTER remains to be corrected. */
CPU_INLINE void add_bytes(const size_t rows, const struct act_block *x, const uint8_t *words, size_t c,
                          __m256i sums[TILE][HALVES])
{
#ifdef CPU_DOT32
    const __m256i w[HALVES] = {load_256(words), load_256(words + 32)};
#else
    const __m256i flip = _mm256_set1_epi8((char)0x80), ones = _mm256_set1_epi16(1);
    const __m256i w[HALVES] = {_mm256_xor_si256(load_256(words), flip), _mm256_xor_si256(load_256(words + 32), flip)};
    const __m256i size[HALVES] = {_mm256_abs_epi8(w[0]), _mm256_abs_epi8(w[1])};
#endif
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m256i four = codes_of_x(x, rows, r, c);
        CPU_UNROLL
        for (size_t h = 0; h < HALVES; h++) {
#ifdef CPU_DOT32
            sums[r][h] = _mm256_dpbusd_avx_epi32(sums[r][h], w[h], four);
#else
            const __m256i pairs = _mm256_maddubs_epi16(size[h], _mm256_sign_epi8(four, w[h]));
            sums[r][h] = _mm256_add_epi32(sums[r][h], _mm256_madd_epi16(pairs, ones));
#endif
        }
        fix_order(sums[r]);
    }
}

#ifdef CPU_DOT32
#define EIGHT_CENTER 128.0f
#define FIVE_APART 0
#else
#define EIGHT_CENTER 0.0f
#define FIVE_APART 1 /* for codes of 5 bits */
#endif

/* ---- types of struct block32 ---- */

CPU_INLINE void add_nibbles(const size_t rows, const struct act_block *x, const uint8_t *words, size_t c,
                            __m256i sums[TILE][HALVES])
{
    const __m256i low = _mm256_set1_epi8(15), both[HALVES] = {load_256(words), load_256(words + 32)};
    CPU_UNROLL
    for (size_t i = 0; i < 2; i++) {
        __m256i w[HALVES];
        CPU_UNROLL
        for (size_t h = 0; h < HALVES; h++)
            w[h] = _mm256_and_si256(i == 0 ? both[h] : _mm256_srli_epi16(both[h], 4), low);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const __m256i four = codes_of_x(x, rows, r, c + 4 * i);
            CPU_UNROLL
            for (size_t h = 0; h < HALVES; h++)
                sums[r][h] = add_products(sums[r][h], w[h], four);
            fix_order(sums[r]);
        }
    }
}

/* Adds a block of a type of struct block32; `halves`: its scales. */
CPU_INLINE void add_block32(const struct block32 f, const uint8_t *block, const uint8_t *halves,
                            const struct act_block *x, const size_t rows, float (*sums)[PANEL_ROWS])
{
    const uint8_t *words = block + f.codes_at * PANEL_ROWS;
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
            two_halves(load_256(block + 32 * h), &d[h], &m[h]);
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

/* A type of 256 weights. `center`: zero point as in gemm.h, for formats without minima. `apart`: products of the first
 * 16 codes and of the last 16 are summed separately, since 16 bits would overflow. */
struct super {
    struct traits traits;
    int center;
    int apart;
};

CPU_INLINE struct super super_of(const struct traits traits)
{
    const int center = traits.type == ACCEL_Q3_K ? 4 : traits.type == ACCEL_Q6_K ? 32 : 0;
    return (struct super){traits, center, traits.type == ACCEL_Q5_K && FIVE_APART};
}

/* Returns word c of the unsigned codes of group g (constants) of eight rows. */
CPU_INLINE __m256i codes_k(const struct traits traits, const uint8_t *words, const size_t g, const size_t c)
{
    const int six = traits.type == ACCEL_Q6_K, quarters = traits.type == ACCEL_Q2_K || traits.type == ACCEL_Q3_K;
    const size_t part = six ? g / 4 * 2 + g % 2 : quarters ? g / 4 : g / 2;
    const __m256i low = load_256(words + (k_low_at(traits) / 4 + 8 * part + c) * PANEL_WORD);
    if (traits.type == ACCEL_Q2_K || traits.type == ACCEL_Q4_K)
        return k_group(traits, (int)g, low, low);
    return k_group(traits, (int)g, low,
                   load_256(words + (k_high_at(traits) / 4 + (six ? g / 4 * 8 : 0) + c) * PANEL_WORD));
}

/* Sums products of words from .. from + count of group g, starting at the zero point correction. */
CPU_INLINE void products_k(const struct super type, const uint8_t *words, const size_t g, const struct act_block *x,
                           const size_t rows, const size_t part, const size_t from, const size_t count,
                           __m256i dot[TILE][HALVES])
{
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        dot[r][0] = dot[r][1] = begin_of_x(type.center, x, rows, r, part);
    CPU_UNROLL
    for (size_t c = from; c < from + count; c++) {
        const __m256i w[HALVES] = {codes_k(type.traits, words, g, c), codes_k(type.traits, words + 32, g, c)};
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const __m256i four = codes_of_x(x, rows, r, c);
            CPU_UNROLL
            for (size_t h = 0; h < HALVES; h++)
                dot[r][h] = add_products(dot[r][h], w[h], four);
            fix_order(dot[r]);
        }
    }
}

/* Returns byte i (a constant) of the scales or minima of eight rows, zero-extended. */
CPU_INLINE __m256i number_words(const __m256i *words, const size_t i)
{
    const __m256i from = _mm256_setr_epi32((int)0x80808000, (int)0x80808004, (int)0x80808008, (int)0x8080800c,
                                           (int)0x80808000, (int)0x80808004, (int)0x80808008, (int)0x8080800c);
    return _mm256_shuffle_epi8(words[i / 4], _mm256_add_epi32(from, _mm256_set1_epi32((int)(i % 4))));
}

/* Adds sums times integer scale i of each row of W to `value`: integers unless scales are floats. */
#ifdef CPU_DOT32
typedef __m256 scaled;
CPU_INLINE scaled zero_scaled(void)
{
    return _mm256_setzero_ps();
}
CPU_INLINE scaled factor_of(const struct traits traits, const struct k_head *head, const size_t i)
{
    return _mm256_cvtepi32_ps(traits.minimum ? number_words(head->scales, i) : byte_of(head->scales[i / 4], i % 4));
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
CPU_INLINE scaled zero_scaled(void)
{
    return _mm256_setzero_si256();
}
CPU_INLINE scaled factor_of(const struct traits traits, const struct k_head *head, const size_t i)
{
    const int step = traits.minimum ? 0x00010001 : 0x01000100, none = traits.minimum ? (int)0x80008000 : 0x00800080;
    const __m256i from = _mm256_setr_epi32(none, none + 4 * step, none + 8 * step, none + 12 * step, none,
                                           none + 4 * step, none + 8 * step, none + 12 * step);
    const __m256i twice =
        _mm256_shuffle_epi8(head->scales[i / 4], _mm256_add_epi32(from, _mm256_set1_epi32((int)(i % 4) * step)));
    return traits.minimum ? twice : _mm256_srai_epi16(twice, 8);
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

/* Adds group g (a constant) of a block to `part`, without the block's scale. */
CPU_INLINE void add_group(const struct super type, const uint8_t *words, const struct k_head *head, const size_t g,
                          const struct act_block *x, const size_t rows, __m256 part[TILE][HALVES])
{
    const size_t pieces = type.traits.fine || type.apart ? 2 : 1;
    __m256i dot[TILE][HALVES];
    scaled value[TILE][HALVES];
    CPU_UNROLL
    for (size_t p = 0; p < pieces; p++) {
        const size_t i = type.traits.fine ? 2 * g + p : g;
        products_k(type, words, g, x, rows, type.traits.fine ? 1 + p : 0, p * 4, 8 / pieces, dot);
        const scaled factor[HALVES] = {factor_of(type.traits, &head[0], i), factor_of(type.traits, &head[1], i)};
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            CPU_UNROLL
            for (size_t h = 0; h < HALVES; h++)
                value[r][h] = add_factor(p == 0 ? zero_scaled() : value[r][h], dot[r][h], factor[h]);
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

/* Adds minima of group g (a constant) times sums of x, without the block's scale. */
CPU_INLINE void add_minima(const struct super type, const struct k_head *head, const size_t g,
                           const struct act_block *x, const size_t rows, __m256 part[TILE][HALVES])
{
    const size_t pieces = type.traits.fine ? 2 : 1;
    CPU_UNROLL
    for (size_t p = 0; p < pieces; p++) {
        const __m256 m[HALVES] = {_mm256_cvtepi32_ps(number_words(head[0].minima, pieces * g + p)),
                                  _mm256_cvtepi32_ps(number_words(head[1].minima, pieces * g + p))};
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const __m256 sum = type.traits.fine ? part_sum_of_x(x, rows, r, 1 + p) : sum_of_x(x, rows, r);
            part[r][0] = _mm256_fmadd_ps(sum, m[0], part[r][0]);
            part[r][1] = _mm256_fmadd_ps(sum, m[1], part[r][1]);
        }
    }
}

/* Reads the block header of both halves of a panel. */
CPU_INLINE void read_head(const struct traits traits, const uint8_t *words, const uint8_t *half,
                          struct k_head out[HALVES])
{
    CPU_UNROLL
    for (size_t h = 0; h < HALVES; h++) {
        const struct eight from = {.words = words + 32 * h, .half = half + 16 * h};
        if (traits.type == ACCEL_Q2_K)
            head_q2(&from, &out[h]);
        else if (traits.type == ACCEL_Q3_K)
            head_q3(&from, &out[h]);
        else if (traits.type == ACCEL_Q6_K)
            head_q6(&from, &out[h]);
        else
            head_6(&from, &out[h]);
    }
}

/* ---- panels ---- */

/* A type; a constant. `block_values` selects `block32` or `super`. */
struct panel_type {
    struct block32 block32;
    struct super super;
    uint32_t block_values;
    uint32_t block_bytes;
};

/* Rows of act_q8: one, or from row `first` on, a multiple of TILE. */
struct act_rows {
    const struct cpu_act_q8 *x;
    size_t blocks;
    size_t first;
    size_t rows;
    const struct act_sums *act_sums;
};

CPU_INLINE struct act_block block_of(const struct act_rows *act, const size_t rows, size_t t, size_t b)
{
    if (rows == 1)
        return (struct act_block){act->x->q + b * CPU_BLOCK, act->x->scale + b, act->x->sum + b, act->act_sums + b,
                                  NULL};
    return (struct act_block){.tile = cpu_tile_of(act->x, act->blocks, act->first / TILE + t, b)};
}

/* Adds sums of a block times its scale. */
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

CPU_INLINE void zero_parts(const size_t rows, __m256 part[TILE][HALVES])
{
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        part[r][0] = part[r][1] = _mm256_setzero_ps();
}

/* Adds block b, of 256 weights, of a panel. */
CPU_INLINE void add_super(const struct super type, const uint8_t *block, const struct act_rows *act, const size_t rows,
                          size_t t, size_t b, float (*sums)[PANEL_ROWS])
{
    const uint8_t *words = block + (type.traits.block_bytes % 4 ? PANEL_HALF : 0);
    struct k_head head[HALVES];
    __m256 part[TILE][HALVES];
    read_head(type.traits, words, block, head);
    if (type.traits.minimum) {
        zero_parts(rows, part);
        CPU_UNROLL
        for (size_t g = 0; g < 8; g++) {
            const struct act_block x = block_of(act, rows, t, 8 * b + g);
            add_minima(type, head, g, &x, rows, part);
        }
        add_scaled_parts(rows, 1, head, part, sums);
    }
    zero_parts(rows, part);
    CPU_UNROLL
    for (size_t g = 0; g < 8; g++) {
        const struct act_block x = block_of(act, rows, t, 8 * b + g);
        add_group(type, words, head, g, &x, rows, part);
    }
    add_scaled_parts(rows, 0, head, part, sums);
}

/* Adds block b of a panel for all tiles, the last of which may have two rows. `rows` (a constant): 1, or more. */
CPU_INLINE void add(const struct panel_type type, const struct packed *w, const uint8_t *panel,
                    const struct act_rows *act, const size_t rows, size_t b, float (*sums)[PANEL_ROWS])
{
    const size_t bytes = type.block_bytes * PANEL_ROWS;
    const uint8_t *block = panel + b * bytes;
    const uint8_t *halves =
        type.block32.planar ? panel + w->scales_at + b / type.block32.group_blocks * PANEL_HALF : block;
    CPU_NO_UNROLL
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(block + at + AHEAD, 0, 3);
    CPU_NO_UNROLL
    for (size_t t = 0; t * TILE < act->rows; t++, sums += TILE) {
        const struct act_block x = block_of(act, rows, t, b);
        if (type.block_values != CPU_BLOCK)
            add_super(type.super, block, act, rows, t, b, sums);
        else
            add_block32(type.block32, block, halves, &x, rows, sums);
    }
}

/* Accumulates panels at, at + apart, ...: `count` memory streams, a block of each in turn. */
CPU_INLINE void gemv_streams(const struct panel_type type, const struct packed *w, const struct act_rows *act,
                             const size_t rows, size_t at, size_t apart, size_t count,
                             float (*sums)[GEMV_MOST][PANEL_ROWS])
{
    for (size_t b = 0; b < w->blocks; b++) {
        CPU_NO_UNROLL
        for (size_t p = 0; p < count; p++)
            add(type, w, w->first + (at + p * apart) * w->bytes, act, rows, b, sums[p]);
    }
}

/* Computes panels begin .. end. */
CPU_INLINE void gemv_panels(const struct panel_type type, const struct cpu_matmul *call, const struct act_rows *act,
                            const size_t rows, size_t begin, size_t end)
{
    const struct packed w = cpu_packed_of(call);
    const size_t streams = rows == 1 ? STREAMS : 1, apart = (end - begin + streams - 1) / streams;
    for (size_t at = begin; at < begin + apart; at++) {
        float sums[STREAMS][GEMV_MOST][PANEL_ROWS];
        const size_t count = (end - at + apart - 1) / apart;
        memset(sums, 0, streams * sizeof(sums[0]));
        gemv_streams(type, &w, act, rows, at, apart, count, sums);
        for (size_t p = 0; p < count; p++)
            for (size_t r = 0; r < act->rows; r++)
                finish_row(call, act->first + r, (at + p * apart) * PANEL_ROWS, PANEL_ROWS, sums[p][r]);
    }
}

CPU_INLINE void gemv_type(const struct panel_type type, const struct cpu_matmul *call, size_t begin, size_t end)
{
    struct act_rows act = {&call->act_q8, call->k / CPU_BLOCK, 0, call->m, NULL};
    struct act_sums act_sums[BLOCKS_MOST];
    if (call->m == 1 && type.block_values != CPU_BLOCK) {
        sum_act_row(&call->act_q8, act.blocks, act_sums);
        act.act_sums = act_sums;
    }
    if (call->m == 1)
        gemv_panels(type, call, &act, 1, begin, end);
    else if (call->m == 2 || type.block_values != CPU_BLOCK)
        gemv_panels(type, call, &act, 2, begin, end);
    else
        gemv_panels(type, call, &act, TILE, begin, end);
}

static size_t gemv_most(uint32_t type)
{
    return cpu_panel_format(type).block_values == CPU_BLOCK ? GEMV_MOST : GEMV_MOST_256;
}

#define GEMV_TYPE(name, ...)                                                                                           \
    static __attribute__((noinline)) void gemv_##name(const struct cpu_matmul *call, size_t begin, size_t end)         \
    {                                                                                                                  \
        const struct panel_type type = {__VA_ARGS__};                                                                  \
        gemv_type(type, call, begin, end);                                                                             \
    }
#define GEMV_BLOCK32(name)                                                                                             \
    GEMV_TYPE(name, .block32 = block32_##name, .block_values = CPU_BLOCK, .block_bytes = block32_##name.block_bytes)
#define GEMV_BLOCK256(name)                                                                                            \
    GEMV_TYPE(name, .super = super_of(traits_##name), .block_values = UNPACKED_VALUES,                                 \
              .block_bytes = traits_##name.block_bytes)

#include "plugins/cpu/kernels/panels/gemv_types.h"
