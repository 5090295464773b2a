/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of packed weights (panels.h) with up to GEMV_MOST rows of act_q8, AVX-512 with VNNI. Each lane holds one of 16
 * rows of W. A dot-product instruction multiplies 4 codes of 16 rows with 4 activations broadcast to all lanes, so
 * there is no horizontal sum. Codes are unsigned; the zero point is corrected with the sums of x. With one row of x
 * four quarters of W, or two halves, are read as separate memory streams. Bound: bytes of W for one row of x,
 * operations from four on. Measured: doc/benchmark.md, packed weights.
 */
#include "plugins/cpu/kernels/panels/panels.h"
#include "plugins/cpu/kernels/vector/finish.h"
#include "plugins/cpu/kernels/vector/gemm_core.h"
#include "plugins/cpu/kernels/vector/unpack.h"

#define GEMV_PASS 8u  /* rows of x per pass */
#define GEMV_MOST 16u /* rows of x up to which passes are faster than GEMM */
#define GEMV_MOST_FINE                                                                                                 \
    4u /* the limit of types with a scale per 16 weights: twice the sums, and more operations to unpack */
#define STREAMS 4u
#define STREAMS_LONG 2u /* streams of types whose block of 256 weights takes 2 to 3 KiB */
#define AHEAD 2048u     /* prefetch distance of each stream in bytes */
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

/* Prefetches `bytes` bytes. Harmless past the end of a matrix. */
CPU_INLINE void prefetch_bytes(const uint8_t *p, size_t bytes)
{
    CPU_NO_UNROLL
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(p + at, 0, 3);
}

/* ---- x ---- */

/* Rows of act_q8: one in place, or tiles of four, of which `rows` (a constant) are used. */
struct act_rows {
    const struct cpu_act_q8 *x;
    size_t blocks;
    size_t first;        /* first row of x; a multiple of GEMV_PASS */
    const float *halves; /* of one row, if its type needs them: scale * sums of 16 codes */
};

/* A block of these rows. */
struct act_block {
    const int8_t *q;
    const float *scale;
    const float *sum;
    const float *halves;
    const struct cpu_tile *tile[GEMV_PASS / CPU_TILE_ROWS];
};

CPU_INLINE struct act_block block_of(const struct act_rows act, const size_t rows, size_t b)
{
    struct act_block x = {0};
    if (rows == 1)
        return (struct act_block){
            act.x->q + b * CPU_BLOCK, act.x->scale + b, act.x->sum + b, act.halves + 2 * b, {NULL}};
    CPU_UNROLL
    for (size_t t = 0; t < (rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS; t++)
        x.tile[t] = cpu_tile_of(act.x, act.blocks, act.first / CPU_TILE_ROWS + t, b);
    return x;
}

/* Broadcasts codes 4c .. 4c + 3 of row r. */
CPU_INLINE __m512i codes_of_x(const struct act_block *x, const size_t rows, const size_t r, const size_t c)
{
    return broadcast4(rows == 1 ? x->q + 4 * c : x->tile[r / CPU_TILE_ROWS]->q[c][r % CPU_TILE_ROWS]);
}

CPU_INLINE __m512 scale_of_x(const struct act_block *x, const size_t rows, const size_t r)
{
    return _mm512_set1_ps(rows == 1 ? *x->scale : x->tile[r / CPU_TILE_ROWS]->scale[r % CPU_TILE_ROWS]);
}

/* Broadcasts scale * sum of codes of the whole block. */
CPU_INLINE __m512 sum_of_x(const struct act_block *x, const size_t rows, const size_t r)
{
    return _mm512_set1_ps(rows == 1 ? *x->sum : x->tile[r / CPU_TILE_ROWS]->sum[0][r % CPU_TILE_ROWS]);
}

/* Broadcasts scale * sum of codes of the first or the last 16. */
CPU_INLINE __m512 half_sum_of_x(const struct act_block *x, const size_t rows, const size_t r, const size_t h)
{
    return _mm512_set1_ps(rows == 1 ? x->halves[h] : x->tile[r / CPU_TILE_ROWS]->sum[1 + h][r % CPU_TILE_ROWS]);
}

/* Computes scale * sums of 16 codes of a row. */
static void sum_halves(const struct cpu_act_q8 *x, size_t blocks, float *out)
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

/* ---- types of struct block32 ---- */

/* Adds products of a block of 16 rows of W with `rows` rows of x to `sums`. */
CPU_INLINE void add_block(const struct block32 f, const uint8_t *words, __m512 d, __m512 m, const struct act_block *x,
                          const size_t rows, __m512 sums[GEMV_PASS])
{
    const __m512i low = _mm512_set1_epi8(15), zero = _mm512_setzero_si512();
    __m512i dot[GEMV_PASS][2];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        dot[r][0] = dot[r][1] = zero;
    CPU_UNROLL
    for (size_t c = 0; c < 4; c++) {
        const __m512i first = load_word(words + c * PANEL_WORD);
        const __m512i w0 = f.bits == 4 ? _mm512_and_si512(first, low) : first;
        const __m512i w1 =
            f.bits == 4 ? _mm512_and_si512(_mm512_srli_epi16(first, 4), low) : load_word(words + (c + 4) * PANEL_WORD);
        /* One row of x: two sums, so that a product does not wait for the previous one. */
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            dot[r][0] = _mm512_dpbusd_epi32(dot[r][0], w0, codes_of_x(x, rows, r, c));
            dot[r][rows == 1] = _mm512_dpbusd_epi32(dot[r][rows == 1], w1, codes_of_x(x, rows, r, c + 4));
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

/* Adds block b of a type of struct block32; `scales`: those of a planar type. */
CPU_INLINE void add_block32(const struct block32 f, const uint8_t *panel, const uint8_t *scales,
                            const struct act_rows act, const size_t rows, size_t b, __m512 sums[GEMV_PASS])
{
    const struct act_block x = block_of(act, rows, b);
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
    add_block(f, block + f.codes_at * PANEL_ROWS, d, m, &x, rows, sums);
}

/* ---- types of 256 weights ---- */

/* Shifts the bits of every byte left (right if negative) and masks them. */
CPU_INLINE __m512i moved512(__m512i bytes, const int left, const int mask)
{
    const __m512i at = left > 0 ? _mm512_slli_epi16(bytes, left) : left < 0 ? _mm512_srli_epi16(bytes, -left) : bytes;
    return _mm512_and_si512(at, _mm512_set1_epi8((char)mask));
}

/* Returns word c of the unsigned codes of group g (constants). unpack.h describes the formats. */
CPU_INLINE __m512i codes_k(const struct traits traits, const uint8_t *words, const size_t g, const size_t c)
{
    size_t low, high = 0;
    int right, left = 0, mask = 15, above = 0;
    switch (traits.type) {
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
    const __m512i codes = moved512(load_word(words + (low + c) * PANEL_WORD), -right, mask);
    if (above == 0)
        return codes;
    return _mm512_or_si512(codes, moved512(load_word(words + (high + c) * PANEL_WORD), left, above));
}

/* Block header: scales and minima of 8 groups, or of 16 halves of groups: a weight is d * code + m. */
struct head {
    __m512 d[16];
    __m512 m[16];
};

/* Converts byte i (a constant) of every word to float; `sign` (a constant): signed. */
CPU_INLINE __m512 byte_of_words(__m512i words, const size_t i, const int sign)
{
    const __m512i top = i == 3 ? words : _mm512_slli_epi32(words, 24 - 8 * (int)i);
    return _mm512_cvtepi32_ps(sign ? _mm512_srai_epi32(top, 24) : _mm512_srli_epi32(top, 24));
}

CPU_INLINE __m512i and_words512(__m512i v, int mask)
{
    return _mm512_and_si512(v, _mm512_set1_epi32(mask));
}

/* Combines four bits of `low` with two of `high`, both shifted right. */
CPU_INLINE __m512i six_of(__m512i low, const int low_right, __m512i high, const int high_right)
{
    const __m512i four = and_words512(_mm512_srli_epi32(low, low_right), 0x0f0f0f0f);
    const __m512i two = and_words512(_mm512_srli_epi32(high, high_right), 0x03030303);
    return _mm512_or_si512(four, _mm512_slli_epi32(two, 4));
}

/* Widens the two halves of a word of every row. */
CPU_INLINE void two_halves512(const uint8_t *word, __m512 *out_low, __m512 *out_high)
{
    const __m512i both = load_word(word);
    *out_low = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(both));
    *out_high = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(both, 16)));
}

/* Stores scales and minima of `count` (a constant) groups, four per word; formats without minima have zero point
 * `center`. */
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

/* Reads a block header. `half`: the 2 bytes of each row that are no word. */
CPU_INLINE void read_head(const struct traits traits, const uint8_t *words, const uint8_t *half, struct head *out)
{
    __m512i scales[4], minima[4];
    __m512 d, dmin;
    if (traits.type == ACCEL_Q4_K || traits.type == ACCEL_Q5_K) {
        const __m512i a = load_word(words + PANEL_WORD), b = load_word(words + 2 * PANEL_WORD);
        const __m512i c = load_word(words + 3 * PANEL_WORD);
        two_halves512(words, &d, &dmin);
        scales[0] = and_words512(a, 0x3f3f3f3f);
        scales[1] = six_of(c, 0, a, 6);
        minima[0] = and_words512(b, 0x3f3f3f3f);
        minima[1] = six_of(c, 4, b, 6);
        set_head(8, scales, 0, d, minima, minus(dmin), 0, out);
    } else if (traits.type == ACCEL_Q2_K) {
        two_halves512(words + 20 * PANEL_WORD, &d, &dmin);
        CPU_UNROLL
        for (size_t i = 0; i < 4; i++) {
            const __m512i both = load_word(words + i * PANEL_WORD);
            scales[i] = and_words512(both, 0x0f0f0f0f);
            minima[i] = and_words512(_mm512_srli_epi32(both, 4), 0x0f0f0f0f);
        }
        set_head(16, scales, 0, d, minima, minus(dmin), 0, out);
    } else if (traits.type == ACCEL_Q3_K) {
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

/* Adds group g (a constant) of a block to `sums`. */
CPU_INLINE void add_group(const struct traits traits, const uint8_t *words, const struct head *head, const size_t g,
                          const struct act_block *x, const size_t rows, __m512 sums[GEMV_PASS])
{
    const size_t halves = traits.fine ? 2 : 1;
    __m512i dot[GEMV_PASS][2];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        dot[r][0] = dot[r][1] = _mm512_setzero_si512();
    CPU_UNROLL
    for (size_t c = 0; c < 8; c++) {
        const size_t h = traits.fine || rows == 1 ? c / 4 : 0;
        const __m512i codes = codes_k(traits, words, g, c);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++)
            dot[r][h] = _mm512_dpbusd_epi32(dot[r][h], codes, codes_of_x(x, rows, r, c));
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m512 scale = scale_of_x(x, rows, r);
        if (!traits.fine && rows == 1)
            dot[r][0] = _mm512_add_epi32(dot[r][0], dot[r][1]);
        CPU_UNROLL
        for (size_t h = 0; h < halves; h++) {
            const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(dot[r][h]), scale);
            const __m512 sum = traits.fine ? half_sum_of_x(x, rows, r, h) : sum_of_x(x, rows, r);
            sums[r] = _mm512_fmadd_ps(value, head->d[halves * g + h], sums[r]);
            sums[r] = _mm512_fmadd_ps(sum, head->m[halves * g + h], sums[r]);
        }
    }
}

/* Adds block b, of 256 weights, of a panel. */
CPU_INLINE void add_super(const struct traits traits, const uint8_t *panel, const struct act_rows act,
                          const size_t rows, size_t b, __m512 sums[GEMV_PASS])
{
    const uint8_t *half = panel + b * traits.block_bytes * PANEL_ROWS;
    const uint8_t *words = traits.block_bytes % 4 ? half + PANEL_HALF : half;
    const size_t share = traits.block_bytes * PANEL_ROWS / 8;
    struct head head;
    read_head(traits, words, half, &head);
    CPU_UNROLL
    for (size_t g = 0; g < 8; g++) {
        const struct act_block x = block_of(act, rows, 8 * b + g);
        /* Prefetches a part of the next block with each group, since requests issued together stall. */
        prefetch_bytes(half + (8 + g) * share, share);
        add_group(traits, words, &head, g, &x, rows, sums);
    }
}

/* ---- panels ---- */

/* A type; a constant. `block_values` selects `block32` or `traits`. */
struct panel_type {
    struct block32 block32;
    struct traits traits;
    uint32_t block_values;
    uint32_t block_bytes;
};

/* Adds block b of a panel. */
CPU_INLINE void add(const struct panel_type type, const uint8_t *panel, size_t scales_at, const struct act_rows act,
                    const size_t rows, size_t b, __m512 sums[GEMV_PASS])
{
    const size_t bytes = type.block_bytes * PANEL_ROWS;
    if (type.block_values == CPU_BLOCK) {
        prefetch_bytes(panel + b * bytes + AHEAD, bytes);
        add_block32(type.block32, panel, panel + scales_at, act, rows, b, sums);
    } else {
        add_super(type.traits, panel, act, rows, b, sums);
    }
}

/* Accumulates panels at, at + apart, ...: `count` memory streams, a block of each in turn. */
CPU_INLINE void gemv_streams(const struct panel_type type, const struct packed *w, const struct act_rows act,
                             const size_t rows, size_t at, size_t apart, size_t count,
                             float (*out)[GEMV_PASS][PANEL_ROWS])
{
    __m512 sums[STREAMS][GEMV_PASS];
    memset(sums, 0, sizeof(sums));
    for (size_t b = 0; b < w->blocks; b++) {
        CPU_NO_UNROLL
        for (size_t p = 0; p < count; p++)
            add(type, w->first + (at + p * apart) * w->bytes, w->scales_at, act, rows, b, sums[p]);
    }
    for (size_t p = 0; p < count; p++) {
        for (size_t r = 0; r < rows; r++)
            _mm512_storeu_ps(out[p][r], sums[p][r]);
    }
}

/* Accumulates one panel, sums in registers. */
CPU_INLINE void gemv_stream(const struct panel_type type, const struct packed *w, const struct act_rows act,
                            const size_t rows, size_t at, float (*out)[PANEL_ROWS])
{
    __m512 sums[GEMV_PASS];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        sums[r] = _mm512_setzero_ps();
    for (size_t b = 0; b < w->blocks; b++)
        add(type, w->first + at * w->bytes, w->scales_at, act, rows, b, sums);
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        _mm512_storeu_ps(out[r], sums[r]);
}

/* Computes panels begin .. end. */
CPU_INLINE void gemv_panels(const struct panel_type type, const struct cpu_matmul *call, const struct act_rows act,
                            const size_t rows, size_t begin, size_t end)
{
    const struct packed w = cpu_packed_of(call);
    const size_t most = type.block_values == CPU_BLOCK ? STREAMS : STREAMS_LONG;
    const size_t streams = rows == 1 ? most : 1, apart = (end - begin + streams - 1) / streams;
    for (size_t at = begin; at < begin + apart; at++) {
        float sums[STREAMS][GEMV_PASS][PANEL_ROWS];
        const size_t count = (end - at + apart - 1) / apart;
        if (streams == 1)
            gemv_stream(type, &w, act, rows, at, sums[0]);
        else
            gemv_streams(type, &w, act, rows, at, apart, count, sums);
        for (size_t p = 0; p < count; p++)
            for (size_t r = 0; r < least(rows, call->m - act.first); r++)
                finish_row(call, act.first + r, (at + p * apart) * PANEL_ROWS, PANEL_ROWS, sums[p][r]);
    }
}

/* Runs passes of up to GEMV_PASS rows of x. */
CPU_INLINE void gemv_type(const struct panel_type type, const struct cpu_matmul *call, size_t begin, size_t end)
{
    struct act_rows act = {&call->act_q8, call->k / CPU_BLOCK, 0, NULL};
    float halves[2 * HALVES_MOST];
    const int fine = type.block_values != CPU_BLOCK && type.traits.fine;
    if (call->m == 1 && fine) {
        sum_halves(&call->act_q8, act.blocks, halves);
        act.halves = halves;
    }
    for (; act.first < call->m; act.first += GEMV_PASS) {
        const size_t rows = call->m - act.first;
        if (call->m == 1)
            gemv_panels(type, call, act, 1, begin, end);
        else if (rows <= 4 || fine)
            gemv_panels(type, call, act, 4, begin, end);
        else
            gemv_panels(type, call, act, GEMV_PASS, begin, end);
    }
}

static size_t gemv_most(uint32_t type)
{
    return type == ACCEL_Q2_K || type == ACCEL_Q3_K || type == ACCEL_Q6_K ? GEMV_MOST_FINE : GEMV_MOST;
}

#define GEMV_BLOCK32(name)                                                                                             \
    static __attribute__((noinline)) void gemv_##name(const struct cpu_matmul *call, size_t begin, size_t end)         \
    {                                                                                                                  \
        const struct panel_type type = {                                                                               \
            .block32 = block32_##name, .block_values = CPU_BLOCK, .block_bytes = block32_##name.block_bytes};          \
        gemv_type(type, call, begin, end);                                                                             \
    }
#define GEMV_BLOCK256(name)                                                                                            \
    static __attribute__((noinline)) void gemv_##name(const struct cpu_matmul *call, size_t begin, size_t end)         \
    {                                                                                                                  \
        const struct panel_type type = {                                                                               \
            .traits = traits_##name, .block_values = UNPACKED_VALUES, .block_bytes = traits_##name.block_bytes};       \
        gemv_type(type, call, begin, end);                                                                             \
    }

#include "plugins/cpu/kernels/panels/gemv_types.h"
