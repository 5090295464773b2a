/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of weights in panels (panels.h) with a few rows of activations rounded to 8 bits, AVX-512 with VNNI. A lane
 * for each of 16 rows of W: four digits of all of them meet four of x, which one load brings to all lanes, so that
 * nothing is added up across a vector. Digits are unsigned; what they are too high by is taken away with the sums of x.
 * One row of x reads four quarters of W side by side, four streams of memory, or two halves. Bound: bytes of W for one
 * row of x, operations from four on. Measured on one core of an Intel Xeon, Q4_0 with everything in the second cache:
 * 1, 4, 8 rows of x 1.5, 1.6, 1.55 times as fast as with rows of W where they lie.
 */
#include "plugins/cpu/kernels/panels/panels.h"
#include "plugins/cpu/kernels/vector/finish.h"
#include "plugins/cpu/kernels/vector/gemm_core.h"
#include "plugins/cpu/kernels/vector/unpack.h"

#ifdef SIMD_EMULATE
/* Stand-ins of every instruction, unrolled: the compiler would take ten minutes. */
#undef CPU_UNROLL
#define CPU_UNROLL CPU_NO_UNROLL
#endif

#define FEW 8u       /* rows of x in a pass */
#define FEW_MOST 16u /* up to which passes are faster than the way of many rows */
#define FEW_FINE 4u  /* the same where 16 weights have a scale of their own: twice the sums, and more to take apart */
#define STREAMS 4u
#define STREAMS_LONG 2u /* where a block is of 256 weights, some 2 to 3 KiB in a row */
#define AHEAD 2048u     /* bytes of each stream that are asked for before they are read */
#define LINE 64u
#define HALVES_MOST (CPU_PANEL_VALUES / CPU_BLOCK)

CPU_INLINE __m512i load_word(const uint8_t *p)
{
    return _mm512_loadu_si512(p);
}

CPU_INLINE __m512 load_halves(const uint8_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

/* Asks for the lines of `bytes` bytes. Past the end of a matrix it does nothing. */
CPU_INLINE void ask_ahead(const uint8_t *p, size_t bytes)
{
    CPU_NO_UNROLL
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(p + at, 0, 3);
}

/* ---- x ---- */

/* Rows of x: one as it lies, or tiles of four, of which `rows` (a constant in what follows) count. */
struct few {
    const struct cpu_rows8 *x;
    size_t blocks;
    size_t first;        /* row of x; a multiple of FEW */
    const float *halves; /* of one row, where its type wants it: scale times sums of 16 digits */
};

/* A block of them. */
struct few_block {
    const int8_t *q;
    const float *scale;
    const float *sum;
    const float *halves;
    const struct cpu_tile *tile[FEW / CPU_TILE_ROWS];
};

CPU_INLINE struct few_block block_of(const struct few few, const size_t rows, size_t b)
{
    struct few_block x = {0};
    if (rows == 1)
        return (struct few_block){
            few.x->q + b * CPU_BLOCK, few.x->scale + b, few.x->sum + b, few.halves + 2 * b, {NULL}};
    CPU_UNROLL
    for (size_t t = 0; t < (rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS; t++)
        x.tile[t] = cpu_tile_of(few.x, few.blocks, few.first / CPU_TILE_ROWS + t, b);
    return x;
}

/* Digits 4c .. 4c + 3 of row r. */
CPU_INLINE __m512i digits_of_x(const struct few_block *x, const size_t rows, const size_t r, const size_t c)
{
    return broadcast4(rows == 1 ? x->q + 4 * c : x->tile[r / CPU_TILE_ROWS]->q[c][r % CPU_TILE_ROWS]);
}

CPU_INLINE __m512 scale_of_x(const struct few_block *x, const size_t rows, const size_t r)
{
    return _mm512_set1_ps(rows == 1 ? *x->scale : x->tile[r / CPU_TILE_ROWS]->scale[r % CPU_TILE_ROWS]);
}

/* Scale times the sum of the digits of the whole block. */
CPU_INLINE __m512 sum_of_x(const struct few_block *x, const size_t rows, const size_t r)
{
    return _mm512_set1_ps(rows == 1 ? *x->sum : x->tile[r / CPU_TILE_ROWS]->sum[0][r % CPU_TILE_ROWS]);
}

/* The same of its first or its last 16. */
CPU_INLINE __m512 half_sum_of_x(const struct few_block *x, const size_t rows, const size_t r, const size_t h)
{
    return _mm512_set1_ps(rows == 1 ? x->halves[h] : x->tile[r / CPU_TILE_ROWS]->sum[1 + h][r % CPU_TILE_ROWS]);
}

/* Those of a row, for all of it. */
static void sum_halves(const struct cpu_rows8 *x, size_t blocks, float *out)
{
    const __m256i ones = _mm256_set1_epi8(1);
    for (size_t b = 0; b < blocks; b++) {
        const __m256i pairs = _mm256_maddubs_epi16(ones, load32(x->q + b * CPU_BLOCK));
        const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
        const __m256i eights = _mm256_add_epi32(fours, _mm256_shuffle_epi32(fours, 0x4e));
        const __m256i all = _mm256_add_epi32(eights, _mm256_shuffle_epi32(eights, 0xb1));
        out[2 * b] = x->scale[b] * (float)_mm256_extract_epi32(all, 0);
        out[2 * b + 1] = x->scale[b] * (float)_mm256_extract_epi32(all, 4);
    }
}

/* ---- types of struct layout ---- */

/* A block of 16 rows of W with `rows` rows of x, added to `sums`. */
CPU_INLINE void add_block(const struct layout f, const uint8_t *words, __m512 d, __m512 m, const struct few_block *x,
                          const size_t rows, __m512 sums[FEW])
{
    const __m512i low = _mm512_set1_epi8(15), zero = _mm512_setzero_si512();
    __m512i dot[FEW][2];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        dot[r][0] = dot[r][1] = zero;
    CPU_UNROLL
    for (size_t c = 0; c < 4; c++) {
        const __m512i first = load_word(words + c * PANEL_WORD);
        const __m512i w0 = f.bits == 4 ? _mm512_and_si512(first, low) : first;
        const __m512i w1 =
            f.bits == 4 ? _mm512_and_si512(_mm512_srli_epi16(first, 4), low) : load_word(words + (c + 4) * PANEL_WORD);
        /* Few rows: two sums of each, so that one product does not wait for the one before. */
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            dot[r][0] = _mm512_dpbusd_epi32(dot[r][0], w0, digits_of_x(x, rows, r, c));
            dot[r][rows == 1] = _mm512_dpbusd_epi32(dot[r][rows == 1], w1, digits_of_x(x, rows, r, c + 4));
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m512i whole = rows == 1 ? _mm512_add_epi32(dot[r][0], dot[r][1]) : dot[r][0];
        const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(whole), scale_of_x(x, rows, r));
        sums[r] = _mm512_fmadd_ps(value, d, sums[r]);
        sums[r] = _mm512_fmadd_ps(sum_of_x(x, rows, r), m, sums[r]);
    }
}

/* Block b of a panel of a type of struct layout; `scales`: those of a planar type. */
CPU_INLINE void add_layout(const struct layout f, const uint8_t *panel, const uint8_t *scales, const struct few few,
                           const size_t rows, size_t b, __m512 sums[FEW])
{
    const struct few_block x = block_of(few, rows, b);
    const uint8_t *block = panel + b * f.block_bytes * PANEL_ROWS;
    __m512 d, m;
    if (f.minimum) { /* a word of two halves */
        const __m512i both = load_word(block);
        d = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(both));
        m = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(both, 16)));
    } else {
        d = load_halves(f.planar ? scales + b / f.group_blocks * PANEL_HALF : block);
        m = _mm512_mul_ps(d, _mm512_set1_ps(f.bits == 4 ? -8.0f : -128.0f));
    }
    add_block(f, block + f.digits_at * PANEL_ROWS, d, m, &x, rows, sums);
}

/* ---- types of 256 weights ---- */

/* Bits of every byte, moved left (right where negative) and masked. */
CPU_INLINE __m512i moved512(__m512i bytes, const int left, const int mask)
{
    const __m512i at = left > 0 ? _mm512_slli_epi16(bytes, left) : left < 0 ? _mm512_srli_epi16(bytes, -left) : bytes;
    return _mm512_and_si512(at, _mm512_set1_epi8((char)mask));
}

/* Word c of the digits of group g (constants), without sign. What the bytes mean: unpack.h. */
CPU_INLINE __m512i digits_k(const struct kind kind, const uint8_t *words, const size_t g, const size_t c)
{
    size_t low, high = 0;
    int right, left = 0, mask = 15, above = 0;
    switch (kind.type) {
    case ACCEL_Q2_K:
        low = 4 + g / 4 * 8, right = 2 * (int)(g % 4), mask = 3;
        break;
    case ACCEL_Q3_K:
        low = 8 + g / 4 * 8, right = 2 * (int)(g % 4), mask = 3;
        high = 0, left = 2 - (int)g, above = 4;
        break;
    case ACCEL_Q4_K:
        low = 4 + g / 2 * 8, right = g % 2 ? 4 : 0;
        break;
    case ACCEL_Q5_K:
        low = 12 + g / 2 * 8, right = g % 2 ? 4 : 0;
        high = 4, left = 4 - (int)g, above = 16;
        break;
    default:
        low = g / 4 * 16 + g % 2 * 8, right = g % 4 / 2 ? 4 : 0;
        high = 32 + g / 4 * 8, left = 4 - 2 * (int)(g % 4), above = 48;
        break;
    }
    const __m512i digits = moved512(load_word(words + (low + c) * PANEL_WORD), -right, mask);
    if (above == 0)
        return digits;
    return _mm512_or_si512(digits, moved512(load_word(words + (high + c) * PANEL_WORD), left, above));
}

/* What the header of a block says of its 8 groups, or 16 halves of groups: a weight is d times its digit, plus m. */
struct head {
    __m512 d[16];
    __m512 m[16];
};

/* Byte i (a constant) of every word, as a number; `sign` (a constant): it may be below zero. */
CPU_INLINE __m512 byte_of_words(__m512i words, const size_t i, const int sign)
{
    const __m512i top = i == 3 ? words : _mm512_slli_epi32(words, 24 - 8 * (int)i);
    return _mm512_cvtepi32_ps(sign ? _mm512_srai_epi32(top, 24) : _mm512_srli_epi32(top, 24));
}

CPU_INLINE __m512i and_words512(__m512i v, int mask)
{
    return _mm512_and_si512(v, _mm512_set1_epi32(mask));
}

/* Four bits of `low` under two of `high`, both moved right. */
CPU_INLINE __m512i six_of(__m512i low, const int low_right, __m512i high, const int high_right)
{
    const __m512i four = and_words512(_mm512_srli_epi32(low, low_right), 0x0f0f0f0f);
    const __m512i two = and_words512(_mm512_srli_epi32(high, high_right), 0x03030303);
    return _mm512_or_si512(four, _mm512_slli_epi32(two, 4));
}

/* The two halves of a word of every row. */
CPU_INLINE void two_halves512(const uint8_t *word, __m512 *out_low, __m512 *out_high)
{
    const __m512i both = load_word(word);
    *out_low = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(both));
    *out_high = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(both, 16)));
}

/* Scales and minima of `count` (a constant), four in a word; without minima digits are `center` above their value. */
CPU_INLINE void set_head(const size_t count, const __m512i *scales, const int sign, __m512 d, const __m512i *minima,
                         __m512 dmin, const float center, struct head *out)
{
    CPU_UNROLL
    for (size_t i = 0; i < count; i++) {
        out->d[i] = _mm512_mul_ps(byte_of_words(scales[i / 4], i % 4, sign), d);
        out->m[i] = minima != NULL ? _mm512_mul_ps(byte_of_words(minima[i / 4], i % 4, 0), dmin)
                                   : _mm512_mul_ps(out->d[i], _mm512_set1_ps(-center));
    }
}

CPU_INLINE __m512 minus(__m512 v)
{
    return _mm512_sub_ps(_mm512_setzero_ps(), v);
}

/* `half`: the half of each row that is no word. */
CPU_INLINE void read_head(const struct kind kind, const uint8_t *words, const uint8_t *half, struct head *out)
{
    __m512i scales[4], minima[4];
    __m512 d, dmin;
    if (kind.type == ACCEL_Q4_K || kind.type == ACCEL_Q5_K) {
        const __m512i a = load_word(words + PANEL_WORD), b = load_word(words + 2 * PANEL_WORD);
        const __m512i c = load_word(words + 3 * PANEL_WORD);
        two_halves512(words, &d, &dmin);
        scales[0] = and_words512(a, 0x3f3f3f3f);
        scales[1] = six_of(c, 0, a, 6);
        minima[0] = and_words512(b, 0x3f3f3f3f);
        minima[1] = six_of(c, 4, b, 6);
        set_head(8, scales, 0, d, minima, minus(dmin), 0, out);
    } else if (kind.type == ACCEL_Q2_K) {
        two_halves512(words + 20 * PANEL_WORD, &d, &dmin);
        CPU_UNROLL
        for (size_t i = 0; i < 4; i++) {
            const __m512i both = load_word(words + i * PANEL_WORD);
            scales[i] = and_words512(both, 0x0f0f0f0f);
            minima[i] = and_words512(_mm512_srli_epi32(both, 4), 0x0f0f0f0f);
        }
        set_head(16, scales, 0, d, minima, minus(dmin), 0, out);
    } else if (kind.type == ACCEL_Q3_K) {
        const __m512i a = load_word(words + 24 * PANEL_WORD), b = load_word(words + 25 * PANEL_WORD);
        const __m512i c = load_word(words + 26 * PANEL_WORD), up = _mm512_set1_epi8(32);
        d = load_halves(half);
        scales[0] = _mm512_sub_epi8(six_of(a, 0, c, 0), up);
        scales[1] = _mm512_sub_epi8(six_of(b, 0, c, 2), up);
        scales[2] = _mm512_sub_epi8(six_of(a, 4, c, 4), up);
        scales[3] = _mm512_sub_epi8(six_of(b, 4, c, 6), up);
        set_head(16, scales, 1, d, NULL, d, 4, out);
    } else {
        CPU_UNROLL
        for (size_t i = 0; i < 4; i++)
            scales[i] = load_word(words + (48 + i) * PANEL_WORD);
        d = load_halves(half);
        set_head(16, scales, 1, d, NULL, d, 32, out);
    }
}

/* Group g (a constant) of a block, or half h of it, added to `sums`. */
CPU_INLINE void add_group(const struct kind kind, const uint8_t *words, const struct head *head, const size_t g,
                          const struct few_block *x, const size_t rows, __m512 sums[FEW])
{
    const size_t halves = kind.fine ? 2 : 1;
    __m512i dot[FEW][2];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        dot[r][0] = dot[r][1] = _mm512_setzero_si512();
    CPU_UNROLL
    for (size_t c = 0; c < 8; c++) {
        const size_t h = kind.fine || rows == 1 ? c / 4 : 0;
        const __m512i digits = digits_k(kind, words, g, c);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++)
            dot[r][h] = _mm512_dpbusd_epi32(dot[r][h], digits, digits_of_x(x, rows, r, c));
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m512 scale = scale_of_x(x, rows, r);
        if (!kind.fine && rows == 1)
            dot[r][0] = _mm512_add_epi32(dot[r][0], dot[r][1]);
        CPU_UNROLL
        for (size_t h = 0; h < halves; h++) {
            const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(dot[r][h]), scale);
            const __m512 sum = kind.fine ? half_sum_of_x(x, rows, r, h) : sum_of_x(x, rows, r);
            sums[r] = _mm512_fmadd_ps(value, head->d[halves * g + h], sums[r]);
            sums[r] = _mm512_fmadd_ps(sum, head->m[halves * g + h], sums[r]);
        }
    }
}

/* Block b, of 256, of a panel. */
CPU_INLINE void add_super(const struct kind kind, const uint8_t *panel, const struct few few, const size_t rows,
                          size_t b, __m512 sums[FEW])
{
    const uint8_t *half = panel + b * kind.block_bytes * PANEL_ROWS;
    const uint8_t *words = kind.block_bytes % 4 ? half + PANEL_HALF : half;
    const size_t share = kind.block_bytes * PANEL_ROWS / 8;
    struct head head;
    read_head(kind, words, half, &head);
    CPU_UNROLL
    for (size_t g = 0; g < 8; g++) {
        const struct few_block x = block_of(few, rows, 8 * b + g);
        /* The next block, a share with each group: all at once would wait for one another. */
        ask_ahead(half + (8 + g) * share, share);
        add_group(kind, words, &head, g, &x, rows, sums);
    }
}

/* ---- panels ---- */

/* A type; a constant. Of `layout` and `kind` the one counts that `block_values` says. */
struct panel_type {
    struct layout layout;
    struct kind kind;
    uint32_t block_values;
    uint32_t block_bytes;
};

/* Block b of a panel, whatever it is. */
CPU_INLINE void add(const struct panel_type type, const uint8_t *panel, size_t scales_at, const struct few few,
                    const size_t rows, size_t b, __m512 sums[FEW])
{
    const size_t bytes = type.block_bytes * PANEL_ROWS;
    if (type.block_values == CPU_BLOCK) {
        ask_ahead(panel + b * bytes + AHEAD, bytes);
        add_layout(type.layout, panel, panel + scales_at, few, rows, b, sums);
    } else {
        add_super(type.kind, panel, few, rows, b, sums);
    }
}

/* Panels at, at + apart, ...: `count` streams of memory, a block of each in turn. */
CPU_INLINE void side_by_side(const struct panel_type type, const struct panels *w, const struct few few,
                             const size_t rows, size_t at, size_t apart, size_t count, float (*out)[FEW][PANEL_ROWS])
{
    __m512 sums[STREAMS][FEW];
    memset(sums, 0, sizeof(sums));
    for (size_t b = 0; b < w->blocks; b++) {
        CPU_NO_UNROLL
        for (size_t p = 0; p < count; p++)
            add(type, w->first + (at + p * apart) * w->bytes, w->scales_at, few, rows, b, sums[p]);
    }
    for (size_t p = 0; p < count; p++) {
        for (size_t r = 0; r < rows; r++)
            _mm512_storeu_ps(out[p][r], sums[p][r]);
    }
}

/* One panel, sums in registers. */
CPU_INLINE void alone(const struct panel_type type, const struct panels *w, const struct few few, const size_t rows,
                      size_t at, float (*out)[PANEL_ROWS])
{
    __m512 sums[FEW];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        sums[r] = _mm512_setzero_ps();
    for (size_t b = 0; b < w->blocks; b++)
        add(type, w->first + at * w->bytes, w->scales_at, few, rows, b, sums);
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        _mm512_storeu_ps(out[r], sums[r]);
}

/* Panels begin .. end. */
CPU_INLINE void few_rows(const struct panel_type type, const struct cpu_matmul *call, const struct few few,
                         const size_t rows, size_t begin, size_t end)
{
    const struct panels w = cpu_panels_of(call);
    const size_t most = type.block_values == CPU_BLOCK ? STREAMS : STREAMS_LONG;
    const size_t streams = rows == 1 ? most : 1, apart = (end - begin + streams - 1) / streams;
    for (size_t at = begin; at < begin + apart; at++) {
        float sums[STREAMS][FEW][PANEL_ROWS];
        const size_t count = (end - at + apart - 1) / apart;
        if (streams == 1)
            alone(type, &w, few, rows, at, sums[0]);
        else
            side_by_side(type, &w, few, rows, at, apart, count, sums);
        for (size_t p = 0; p < count; p++)
            for (size_t r = 0; r < least(rows, call->m - few.first); r++)
                finish_row(call, few.first + r, (at + p * apart) * PANEL_ROWS, PANEL_ROWS, sums[p][r]);
    }
}

/* Passes of up to FEW rows of x. */
CPU_INLINE void few_of_type(const struct panel_type type, const struct cpu_matmul *call, size_t begin, size_t end)
{
    struct few few = {&call->x8, call->k / CPU_BLOCK, 0, NULL};
    float halves[2 * HALVES_MOST];
    const int fine = type.block_values != CPU_BLOCK && type.kind.fine;
    if (call->m == 1 && fine) {
        sum_halves(&call->x8, few.blocks, halves);
        few.halves = halves;
    }
    for (; few.first < call->m; few.first += FEW) {
        const size_t rows = call->m - few.first;
        if (call->m == 1)
            few_rows(type, call, few, 1, begin, end);
        else if (rows <= 4 || fine)
            few_rows(type, call, few, 4, begin, end);
        else
            few_rows(type, call, few, FEW, begin, end);
    }
}

static size_t few_most(uint32_t type)
{
    return type == ACCEL_Q2_K || type == ACCEL_Q3_K || type == ACCEL_Q6_K ? FEW_FINE : FEW_MOST;
}

#define FEW_LAYOUT(name)                                                                                               \
    static __attribute__((noinline)) void few_##name(const struct cpu_matmul *call, size_t begin, size_t end)          \
    {                                                                                                                  \
        const struct panel_type type = {                                                                               \
            .layout = layout_##name, .block_values = CPU_BLOCK, .block_bytes = layout_##name.block_bytes};             \
        few_of_type(type, call, begin, end);                                                                           \
    }
#define FEW_KIND(name)                                                                                                 \
    static __attribute__((noinline)) void few_##name(const struct cpu_matmul *call, size_t begin, size_t end)          \
    {                                                                                                                  \
        const struct panel_type type = {                                                                               \
            .kind = kind_##name, .block_values = RUN_VALUES, .block_bytes = kind_##name.block_bytes};                  \
        few_of_type(type, call, begin, end);                                                                           \
    }

#include "plugins/cpu/kernels/panels/few_types.h"
