/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMV of packed weights (panels.h) with small batches of act_q8, for every instruction set that reads packed weights.
 * Layout: panels of 16 rows, a lane each (lanes.h). Tile: a block of a panel with up to PASS rows of x; codes are
 * unpacked in registers, once for all of them. With one row of x several panels are read in turn, a memory stream each
 * (cpu_matrix.streams). Zero points are corrected with the sums of x. Bound: bytes of W for one row of x, operations
 * from four on. Measured: doc/benchmark.md, packed weights.
 */
#include "act_sums.h"
#include "finish.h"
#include "lanes.h"

/* Rows of x of a small pass, which types of 256 weights always use, and of a pass. */
#if defined(CPU_BUILD_AVX512)
#define SMALL 4u
#define PASS 8u
#else
#define SMALL 2u
#define PASS 4u
#endif
#define TURNS CPU_STREAMS /* memory streams with one row of x, and passes of few registers */
/* Streams and their prefetch distance, unless cpu_matrix.streams states others for one row of x; of types of 256
 * weights, which prefetch their next block, of 1 to 3 KiB: STREAMS_256. */
#define STREAMS 4u
#define AHEAD 2048u
#define STREAMS_256 2u
#define BLOCKS_MOST (CPU_PANEL_VALUES / CPU_BLOCK)

_Static_assert(SMALL % CPU_TILE_ROWS == 0 || CPU_GEMV_PACKED_256_ROWS <= SMALL, "small passes begin with a tile");

/* A type; a constant. `block32` types have 4- or 8-bit codes in blocks of 32 (q4_0, q4_1, q8_0, planar). */
struct codec {
    uint32_t bits; /* of block32; 0: 256 weights */
    struct traits traits;
};

/* Products of the first 16 codes and of the last 16 of a type are summed separately, since 16 bits would overflow. */
#ifdef CPU_DOT32
#define OVERFLOWS(type) 0
#else
#define OVERFLOWS(type) ((type) == ACCEL_Q5_K)
#endif

/* Sizes and offsets of the blocks and scales of a panel. */
struct layout {
    size_t panel_bytes;
    size_t blocks;
    size_t block_bytes; /* of 16 rows */
    size_t codes_at;    /* in a block */
    size_t scales_at;   /* in a panel */
    size_t scale_bytes; /* from scale to scale */
    size_t scale_shift; /* log2 of the blocks that share a scale */
    struct cpu_streams streams;
};

/* Prefetches `bytes` bytes. Harmless past the end of a matrix. */
CPU_INLINE void prefetch_bytes(const uint8_t *p, size_t bytes)
{
    CPU_NO_UNROLL
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(p + at, 0, 3);
}

/* ---- x ---- */

/* The sums of x that the minima of a block of 256 weights are multiplied with, as integers, scale * (128 * high + low):
 * two dot products for four minima. Their rounding, a 32,512th of the largest, is finer than that of x. */
struct minimum_sums {
    int8_t high[16];
    int8_t low[16];
    float scale;
};

/* Rounds `count` sums, 16 or 8, to the nearest of 127 * 128 steps to the largest. */
CPU_INLINE struct minimum_sums minimum_sums_of(const float *sums, const size_t count)
{
    struct minimum_sums out = {{0}, {0}, 0};
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = __builtin_fabsf(sums[i]) > largest ? __builtin_fabsf(sums[i]) : largest;
    const float inverse = largest > 1e-30f ? 16256.0f / largest : 0;
    for (size_t i = 0; i < count; i++) {
        const int sum = _mm_cvtss_si32(_mm_set_ss(sums[i] * inverse)), high = (sum + 64) >> 7;
        out.high[i] = (int8_t)high;
        out.low[i] = (int8_t)(sum - 128 * high);
    }
    out.scale = largest / 16256.0f;
    return out;
}

/* Rows of act_q8: one, or those from row `first` on, a multiple of CPU_TILE_ROWS. */
struct act_panel {
    const struct cpu_act_q8 *x;
    size_t blocks;
    size_t first;
    const struct act_sums *sums; /* of one row, for types of 256 weights */
    const struct minimum_sums *minima;
};

/* A block of these rows: one row in place, or tiles. */
struct act_block {
    const int8_t *q;
    const float *scale;
    const float *sum;
    const struct act_sums *sums;
    const struct cpu_tile *tile[(PASS + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS];
};

CPU_INLINE struct act_block block_of(const struct act_panel act, const size_t rows, size_t b)
{
    struct act_block x = {0};
    if (rows == 1)
        return (struct act_block){act.x->q + b * CPU_BLOCK, act.x->scale + b, act.x->sum + b, act.sums + b, {NULL}};
    CPU_UNROLL
    for (size_t t = 0; t < (rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS; t++)
        x.tile[t] = cpu_tile_of(act.x, act.blocks, act.first / CPU_TILE_ROWS + t, b);
    return x;
}

/* Broadcasts codes 4c .. 4c + 3 of row r. */
CPU_INLINE vi codes_of_x(const struct act_block *x, const size_t rows, const size_t r, const size_t c)
{
    return broadcast4(rows == 1 ? x->q + 4 * c : x->tile[r / CPU_TILE_ROWS]->q[c][r % CPU_TILE_ROWS]);
}

CPU_INLINE vf scale_of_x(const struct act_block *x, const size_t rows, const size_t r)
{
    return v_set(rows == 1 ? *x->scale : x->tile[r / CPU_TILE_ROWS]->scale[r % CPU_TILE_ROWS]);
}

/* Broadcasts scale * sum of codes of the block (part 0), or of its first or last 16 (1, 2). */
CPU_INLINE vf sum_of_x(const struct act_block *x, const size_t rows, const size_t r, const size_t part)
{
    return v_set(rows > 1    ? x->tile[r / CPU_TILE_ROWS]->sum[part][r % CPU_TILE_ROWS]
                 : part == 0 ? *x->sum
                             : x->sums->sum[part]);
}

/* Returns the initial sum that corrects the zero point `center`. */
CPU_INLINE vi start_of_x(const int center, const struct act_block *x, const size_t rows, const size_t r,
                         const size_t part)
{
    return start_of(center,
                    rows == 1 ? &x->sums->minus[part] : &x->tile[r / CPU_TILE_ROWS]->minus[part][r % CPU_TILE_ROWS]);
}

/* ---- types in blocks of 32 ---- */

/* Adds products of two words of W, which are words c and c + 4 of a block, to two sums per row of x (one row, so that a
 * product does not wait for the previous one), or one. */
CPU_INLINE void add_words(const size_t rows, const struct act_block *x, const size_t c, vi w[2][VECTORS],
                          vi sums[PASS][2][VECTORS])
{
    CPU_UNROLL
    for (size_t i = 0; i < 2; i++) {
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            vi *to = sums[r][rows == 1 && VECTORS == 1 ? i : 0];
            const vi four = codes_of_x(x, rows, r, c + 4 * i);
            CPU_UNROLL
            for (size_t v = 0; v < VECTORS; v++)
                to[v] = add_products(to[v], w[i][v], four);
            fix_order(to);
        }
    }
}

#ifdef CPU_DOT32
#define CENTER8 128.0f
#else
#define CENTER8 0.0f

/* Adds products of a word of 8-bit codes with zero point 128 to 32-bit sums: the sign of a code is applied to x. */
CPU_INLINE void add_signed(const size_t rows, const struct act_block *x, const size_t c, const uint8_t *words,
                           vi sums[PASS][2][VECTORS])
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i w[VECTORS], size[VECTORS];
    CPU_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        w[v] = _mm256_xor_si256((__m256i)load_word(words, v), _mm256_set1_epi8((char)0x80));
        size[v] = _mm256_abs_epi8(w[v]);
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m256i four = (__m256i)codes_of_x(x, rows, r, c);
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            sums[r][0][v] += (vi)_mm256_madd_epi16(_mm256_maddubs_epi16(size[v], _mm256_sign_epi8(four, w[v])), ones);
        fix_order(sums[r][0]);
    }
}
#endif

/* Sums products of a block of codes of 4 or 8 bits, in integers. */
CPU_INLINE void products32(const uint32_t bits, const uint8_t *words, const struct act_block *x, const size_t rows,
                           vi sums[PASS][2][VECTORS])
{
    CPU_UNROLL
    for (size_t i = 0; i < rows * 2 * VECTORS; i++)
        sums[i / (2 * VECTORS)][i / VECTORS % 2][i % VECTORS] = v_set_word(0);
#ifndef CPU_DOT32
    if (bits == 8) {
        CPU_UNROLL
        for (size_t c = 0; c < 8; c++)
            add_signed(rows, x, c, words + c * PANEL_WORD, sums);
        return;
    }
#endif
    CPU_UNROLL
    for (size_t c = 0; c < 4; c++) {
        vi w[2][VECTORS];
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const vi first = load_word(words + c * PANEL_WORD, v);
            w[0][v] = bits == 4 ? moved(first, 0, 15) : first;
            w[1][v] = bits == 4 ? moved(first, -4, 15) : load_word(words + (c + 4) * PANEL_WORD, v);
        }
        add_words(rows, x, c, w, sums);
    }
    CPU_UNROLL
    for (size_t i = 0; i < rows * VECTORS; i++) {
        vi *sum = sums[i / VECTORS][0] + i % VECTORS;
        if (rows == 1 && VECTORS == 1)
            *sum += sums[i / VECTORS][1][i % VECTORS];
        *sum = wide_sums(*sum);
    }
}

/* Adds a block; `halves`: its scales. */
CPU_INLINE void add_block32(const struct codec codec, const uint8_t *words, const uint8_t *halves,
                            const struct act_block *x, const size_t rows, vf sums[PASS][VECTORS])
{
    const float center = codec.traits.minimum ? 0 : codec.bits == 4 ? 8.0f : CENTER8;
    vi dot[PASS][2][VECTORS];
    vf d[VECTORS], m[VECTORS];
    products32(codec.bits, words, x, rows, dot);
    CPU_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        if (codec.traits.minimum) /* a word of two halves */
            two_halves_of(load_word(halves, v), &d[v], &m[v]);
        else
            d[v] = v_load_f16((const uint16_t *)(const void *)(halves + 2 * VN * v));
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const vf scale = scale_of_x(x, rows, r), sum = sum_of_x(x, rows, r, 0), back = sum * -center;
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const vf value = to_floats(dot[r][0][v]);
            sums[r][v] = v_fma(center != 0 ? v_fma(value, scale, back) : value * scale, d[v], sums[r][v]);
            if (codec.traits.minimum)
                sums[r][v] = v_fma(sum, m[v], sums[r][v]);
        }
    }
}

/* ---- types of 256 weights ---- */

/* Reads the header of vector v of a panel. `half`: the 2 bytes of each row that are no word. */
CPU_INLINE void read_head(const uint32_t type, const uint8_t *words, const uint8_t *half, const size_t v,
                          struct k_head *out)
{
    const size_t at = type == ACCEL_Q3_K ? 24 : 0;
    vi w[4];
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++)
        w[i] = load_word(words + (at + (type == ACCEL_Q3_K && i == 3 ? 2 : i)) * PANEL_WORD, v);
    if (type == ACCEL_Q3_K || type == ACCEL_Q6_K)
        out->d = v_load_f16((const uint16_t *)(const void *)(half + 2 * VN * v));
    else
        two_halves_of(type == ACCEL_Q2_K ? load_word(words + 20 * PANEL_WORD, v) : w[0], &out->d, &out->dmin);
    split_head(type, w, out);
}

/* Returns word c of the unsigned codes of group g (constants). */
CPU_INLINE vi codes_of_group(const uint32_t type, const uint8_t *words, const size_t g, const size_t c, const size_t v)
{
    const struct k_place at = k_place_of(type, g);
    return k_word_of(type, g, load_word(words + cpu_panel_word(type, at.low / 4 + c) * PANEL_WORD, v),
                     load_word(words + cpu_panel_word(type, at.high / 4 + c) * PANEL_WORD, v));
}

/* Sums products of words from .. from + count of group g. */
CPU_INLINE void products256(const struct codec codec, const uint8_t *words, const size_t g, const struct act_block *x,
                            const size_t rows, const size_t part, const size_t from, const size_t count,
                            vi dot[PASS][VECTORS])
{
    CPU_UNROLL
    for (size_t i = 0; i < rows * VECTORS; i++)
        dot[i / VECTORS][i % VECTORS] = start_of_x(k_zero_of(codec.traits.type), x, rows, i / VECTORS, part);
    CPU_UNROLL
    for (size_t c = from; c < from + count; c++) {
        vi w[VECTORS];
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            w[v] = codes_of_group(codec.traits.type, words, g, c, v);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const vi four = codes_of_x(x, rows, r, c);
            CPU_UNROLL
            for (size_t v = 0; v < VECTORS; v++)
                dot[r][v] = add_products(dot[r][v], w[v], four);
            fix_order(dot[r]);
        }
    }
}

#ifdef CPU_DOT32
/* Types whose groups have two sums of 16 bits, which one instruction multiplies with both scales. With several rows of
 * x, for which scales become floats once, this is no faster. */
#define IN_PAIRS(type, rows) ((rows) == 1 && ((type) == ACCEL_Q2_K || (type) == ACCEL_Q3_K))

/* Adds such a group. */
CPU_INLINE void add_pair(const struct codec codec, const uint8_t *words, const struct k_head head[VECTORS],
                         const size_t g, const struct act_block *x, vf part[PASS][VECTORS])
{
    vi first[PASS][VECTORS], last[PASS][VECTORS];
    products256(codec, words, g, x, 1, 1, 0, 4, first);
    products256(codec, words, g, x, 1, 2, 4, 4, last);
    CPU_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        const vi scales = two_scales_of(head[v].scales[g / 2], g % 2, !codec.traits.minimum);
        part[0][v] = v_fma(to_floats(two_scaled(first[0][v], last[0][v], scales)), v_set(*x->scale), part[0][v]);
    }
}
#else
#define IN_PAIRS(type, rows) 0
#define add_pair(...) (void)0
#endif

/* Adds group g (a constant) of a block to `part`, without the block's scale. */
CPU_INLINE void add_group(const struct codec codec, const uint8_t *words, const struct k_head head[VECTORS],
                          const size_t g, const struct act_block *x, const size_t rows, vf part[PASS][VECTORS])
{
    const int fine = codec.traits.fine, apart = OVERFLOWS(codec.traits.type);
    const int two = fine || apart || (rows == 1 && VECTORS == 1);
    const size_t i = fine ? 2 * g : g, j = fine ? i + 1 : i;
    vi first[PASS][VECTORS], last[PASS][VECTORS];
    factor scale[VECTORS], scale_last[VECTORS];
    CPU_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        scale[v] = factor_of(head[v].scales[i / 4], i % 4, !codec.traits.minimum);
        scale_last[v] = fine ? factor_of(head[v].scales[j / 4], j % 4, !codec.traits.minimum) : scale[v];
    }
    products256(codec, words, g, x, rows, fine ? 1 : 0, 0, two ? 4 : 8, first);
    if (two)
        products256(codec, words, g, x, rows, 2, 4, 4, last);
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        const vf by = scale_of_x(x, rows, r);
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const int joined = two && !fine && !apart;
            scaled value = scaled_of(joined ? first[r][v] + last[r][v] : first[r][v], scale[v]);
            if (two && !joined)
                value = add_scaled(value, last[r][v], scale_last[v]);
            part[r][v] = v_fma(scaled_floats(value), by, part[r][v]);
        }
    }
}

/* Adds minima of group g (a constant) times sums of x, without the block's scale. */
CPU_INLINE void add_minima(const struct codec codec, const struct k_head head[VECTORS], const size_t g,
                           const struct act_block *x, const size_t rows, vf part[PASS][VECTORS])
{
    const size_t pieces = codec.traits.fine ? 2 : 1;
    CPU_UNROLL
    for (size_t p = 0; p < pieces; p++) {
        const size_t i = pieces * g + p;
        vf m[VECTORS];
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            m[v] = to_floats(byte_of(head[v].minima[i / 4], i % 4, 0));
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const vf sum = sum_of_x(x, rows, r, codec.traits.fine ? 1 + p : 0);
            CPU_UNROLL
            for (size_t v = 0; v < VECTORS; v++)
                part[r][v] = v_fma(sum, m[v], part[r][v]);
        }
    }
}

/* Adds products of a word of minima with sums of one row of x. */
CPU_INLINE void add_minimum_word(vi minima, const struct minimum_sums *x, const size_t i, vi *high, vi *low)
{
    *high = add_products(*high, minima, broadcast4(x->high + 4 * i));
    *low = add_products(*low, minima, broadcast4(x->low + 4 * i));
}

/* Returns the minima of a vector of rows times sums of one row of x, without the block's scale. */
CPU_INLINE vf minima_of(const struct codec codec, const struct k_head *head, const struct minimum_sums *x)
{
    vi high = v_set_word(0), low = v_set_word(0);
    add_minimum_word(head->minima[0], x, 0, &high, &low);
    add_minimum_word(head->minima[1], x, 1, &high, &low);
    if (codec.traits.fine) {
        add_minimum_word(head->minima[2], x, 2, &high, &low);
        add_minimum_word(head->minima[3], x, 3, &high, &low);
    }
    return to_floats((wide_sums(high) << 7) + wide_sums(low)) * v_set(x->scale);
}

/* Adds block b of 256 weights. */
CPU_INLINE void add_block256(const struct codec codec, const uint8_t *block, size_t ahead, const struct act_panel act,
                             const size_t rows, size_t b, vf sums[PASS][VECTORS])
{
    const uint8_t *words = block + (codec.traits.block_bytes % 4 ? PANEL_HALF : 0);
    const size_t share = codec.traits.block_bytes * PANEL_ROWS / 8;
    struct k_head head[VECTORS];
    vf part[PASS][VECTORS], minima[PASS][VECTORS];
    CPU_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        read_head(codec.traits.type, words, block, v, &head[v]);
    CPU_UNROLL
    for (size_t i = 0; i < rows * VECTORS; i++)
        part[i / VECTORS][i % VECTORS] = minima[i / VECTORS][i % VECTORS] = v_set(0);
    if (codec.traits.minimum && rows == 1) {
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            sums[0][v] = v_fma(-minima_of(codec, &head[v], &act.minima[b]), head[v].dmin, sums[0][v]);
    } else if (codec.traits.minimum) {
        CPU_UNROLL
        for (size_t g = 0; g < 8; g++) {
            const struct act_block x = block_of(act, rows, 8 * b + g);
            add_minima(codec, head, g, &x, rows, minima);
        }
        CPU_UNROLL
        for (size_t i = 0; i < rows * VECTORS; i++)
            sums[i / VECTORS][i % VECTORS] =
                v_fma(-minima[i / VECTORS][i % VECTORS], head[i % VECTORS].dmin, sums[i / VECTORS][i % VECTORS]);
    }
    CPU_UNROLL
    for (size_t g = 0; g < 8; g++) {
        const struct act_block x = block_of(act, rows, 8 * b + g);
        /* Prefetches a part of a block with each group, since requests issued together stall. Compilers would join the
         * requests of all groups, if not for loops (AVX-512) or fix_order. */
#if defined(CPU_BUILD_AVX512)
        prefetch_bytes(block + ahead + g * share, share);
#else
        prefetch_lines(block + ahead + g * share, share);
#endif
        if (IN_PAIRS(codec.traits.type, rows))
            add_pair(codec, words, head, g, &x, part);
        else
            add_group(codec, words, head, g, &x, rows, part);
    }
    CPU_UNROLL
    for (size_t i = 0; i < rows * VECTORS; i++)
        sums[i / VECTORS][i % VECTORS] =
            v_fma(part[i / VECTORS][i % VECTORS], head[i % VECTORS].d, sums[i / VECTORS][i % VECTORS]);
}

/* ---- panels ---- */

/* Adds block b of a panel. */
CPU_INLINE void add(const struct codec codec, const struct layout *w, const uint8_t *panel, const struct act_panel act,
                    const size_t rows, size_t b, vf sums[PASS][VECTORS])
{
    const uint8_t *block = panel + b * w->block_bytes;
    if (codec.bits == 0) {
        add_block256(codec, block, w->streams.ahead, act, rows, b, sums);
        return;
    }
    const struct act_block x = block_of(act, rows, b);
    if (w->streams.ahead != 0)
        prefetch_bytes(block + w->streams.ahead, w->block_bytes);
    add_block32(codec, block + w->codes_at, panel + w->scales_at + (b >> w->scale_shift) * w->scale_bytes, &x, rows,
                sums);
}

/* A group that is computed together, a block of each member in turn: `count` panels, `apart` from each other, as memory
 * streams, or one panel with `count` passes of `rows` rows of x. */
struct turns {
    size_t first; /* panel */
    size_t apart;
    size_t rows;
    size_t count;
};

/* Computes one turn (`several` is 0; sums in registers) or several. */
CPU_INLINE void gemv_turns(const struct codec codec, const struct layout *w, const struct cpu_matmul *call,
                           struct act_panel act, const size_t rows, const int several, const struct turns turns)
{
    const uint8_t *panel = (const uint8_t *)call->w.packed + turns.first * w->panel_bytes;
    const size_t first = act.first;
    vf sums[TURNS][PASS][VECTORS];
    memset(sums, 0, (several ? TURNS : 1) * sizeof(sums[0]));
    for (size_t b = 0; b < w->blocks; b++) {
        if (!several) {
            add(codec, w, panel, act, rows, b, sums[0]);
            continue;
        }
        CPU_NO_UNROLL
        for (size_t t = 0; t < turns.count; t++) {
            act.first = first + t * turns.rows;
            add(codec, w, panel + t * turns.apart * w->panel_bytes, act, rows, b, sums[t]);
        }
    }
    for (size_t t = 0; t < turns.count; t++) {
        const size_t from = first + t * turns.rows, j = (turns.first + t * turns.apart) * PANEL_ROWS;
        for (size_t r = 0; r < least(rows, call->m - from); r++)
            finish_row(call, from + r, j, PANEL_ROWS, (const float *)sums[t][r]);
    }
}

/* Computes panels begin .. end. */
CPU_INLINE void gemv(const struct codec codec, const struct layout *w, const struct cpu_matmul *call, size_t begin,
                     size_t end)
{
    const size_t apart = (end - begin + w->streams.count - 1) / w->streams.count;
    struct act_panel act = {.x = &call->act_q8, .blocks = call->k / CPU_BLOCK};
    struct act_sums sums[BLOCKS_MOST];
    struct minimum_sums minima[BLOCKS_MOST / 8];
    if (call->m == 1) {
        for (size_t b = 0; codec.bits == 0 && b < act.blocks; b++)
            sums[b] = act_sums_of(load32(act.x->q + b * CPU_BLOCK), act.x->scale[b]);
        for (size_t b = 0; codec.bits == 0 && codec.traits.minimum && b < act.blocks / 8; b++) {
            float of[16];
            for (size_t i = 0; i < 16; i++)
                of[i] = codec.traits.fine ? sums[8 * b + i / 2].sum[1 + i % 2] : sums[8 * b + i % 8].sum[0];
            minima[b] = minimum_sums_of(of, codec.traits.fine ? 16 : 8);
        }
        act.sums = sums;
        act.minima = minima;
        for (size_t at = begin; at < begin + apart; at++)
            gemv_turns(codec, w, call, act, 1, 1, (struct turns){at, apart, 0, (end - at + apart - 1) / apart});
        return;
    }
    for (size_t at = begin; at < end; at++) {
        const size_t most = codec.bits == 0 ? SMALL : PASS;
        /* With few registers, sums of several passes are in memory and read W from the L1 cache. */
        if (VECTORS > 1 && (codec.bits == 0 || call->m > SMALL)) {
            gemv_turns(codec, w, call, act, most, 1, (struct turns){at, 0, most, (call->m + most - 1) / most});
            continue;
        }
        for (act.first = 0; act.first < call->m; act.first += PASS) {
            if (VECTORS > 1 || call->m - act.first <= SMALL || (codec.bits == 0 && codec.traits.fine))
                gemv_turns(codec, w, call, act, SMALL, 0, (struct turns){at, 0, 0, 1});
            else
                gemv_turns(codec, w, call, act, PASS, 0, (struct turns){at, 0, 0, 1});
        }
    }
}

/* Offsets of the blocks and the scales in the panels of a type, and how they are read with one row of x. */
static struct layout layout_of(const struct cpu_matmul *call)
{
    const struct panel_format format = cpu_panel_format(call->w.type);
    const size_t bytes = format.block_bytes * PANEL_ROWS;
    return (struct layout){
        .panel_bytes = cpu_panel_bytes(&format, call->k),
        .blocks = call->k / format.block_values,
        .block_bytes = bytes,
        .codes_at = format.planar                     ? 0
                    : format.half_at == PANEL_NO_HALF ? PANEL_WORD
                                                      : PANEL_HALF,
        .scales_at = format.planar ? cpu_panel_scales_at(&format, call->k) : 0,
        .scale_bytes = format.planar ? PANEL_HALF : bytes,
        .scale_shift = format.planar == 128 ? 2 : 0,
        .streams = call->m == 1 && call->w.streams.count != 0 ? call->w.streams
                   : format.block_values == 256               ? (struct cpu_streams){STREAMS_256, (uint16_t)bytes}
                                                              : (struct cpu_streams){STREAMS, AHEAD},
    };
}

/* A GEMV per arrangement of codes. */
#define GEMV(name, ...)                                                                                                \
    void CPU_NAME(gemv_packed_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                         \
    {                                                                                                                  \
        const struct codec codec = __VA_ARGS__;                                                                        \
        const struct layout w = layout_of(call);                                                                       \
        gemv(codec, &w, call, begin / PANEL_ROWS, end / PANEL_ROWS);                                                   \
    }
#define GEMV_256(ID, name) GEMV(name, {.traits = traits_##name})
GEMV(4, {.bits = 4})
GEMV(4_minimum, {.bits = 4, .traits.minimum = 1})
GEMV(8, {.bits = 8})
CPU_K_TYPES(GEMV_256)
