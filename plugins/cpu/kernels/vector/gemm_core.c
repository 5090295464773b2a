/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cores of the 8-bit GEMM: a panel of 16 rows of W, a lane each (lanes.h), with 4 rows of x. Bound: operations.
 * With dot-product instructions one multiplies and adds 4 codes of every row in 32 bits, whatever their width. AVX2: up
 * to 6 bits take one multiplication and one 16-bit addition per 32 products, and widening, once per 32 or 16 codes,
 * multiplies by the integer scale; 8-bit codes take sign, maddubs, madd and a 32-bit addition (multiplying in 16 bits,
 * or two nibbles, was no faster). Measured: doc/benchmark.md, GEMM cores.
 */
#include "gemm_core.h"
#include "lanes.h"
#if defined(__ARM_FEATURE_MATMUL_INT8)
#include "neon_i8mm.h"
#endif

#define ROWS CPU_TILE_ROWS

/* Sums of a tile: 8 accumulators, 2 vectors of W and a broadcast fit 16 registers. */
typedef vi tile_sums[ROWS][VECTORS];
typedef vf tile_floats[ROWS][VECTORS];

/* Sets the initial sums, which correct the zero point `center`, from sum `part` of the tile. */
CPU_INLINE void start_sums(const int center, const struct cpu_tile *x, const size_t part, tile_sums sums)
{
    CPU_UNROLL
    for (size_t i = 0; i < ROWS * VECTORS; i++)
        sums[i / VECTORS][i % VECTORS] = start_of(center, &x->minus[part][i / VECTORS]);
}

#if !defined(__ARM_FEATURE_MATMUL_INT8)
/* Adds products of word c of a block. `ordered` (a constant): row after row of x. */
CPU_INLINE void add_word(const int ordered, const uint8_t *codes, const struct cpu_tile *x, const size_t c,
                         tile_sums sums)
{
    vi w[VECTORS];
    CPU_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        w[v] = load_word(codes + c * WORD_BYTES, v);
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++) {
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            sums[r][v] = add_products_of(sums[r][v], w[v], x->q[c], r);
        if (ordered)
            fix_order(sums[r]);
    }
}

/* Multiplies words from .. from + steps of a block. */
CPU_INLINE void products(const int center, const uint8_t *codes, const struct cpu_tile *x, const size_t part,
                         const size_t from, const size_t steps, tile_sums sums)
{
    start_sums(center, x, part, sums);
    CPU_UNROLL
    for (size_t c = from; c < from + steps; c++)
        add_word(1, codes, x, c, sums);
}
#endif

/* Multiplies both halves of a block in turn: eight independent chains of additions hide the latency. */
CPU_INLINE void add_halves(const uint8_t *codes, const struct cpu_tile *x, tile_sums first, tile_sums last)
{
    CPU_UNROLL
    for (size_t c = 0; c < 4; c++) {
        const vi low = load_word(codes + c * WORD_BYTES, 0), high = load_word(codes + (c + 4) * WORD_BYTES, 0);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            first[r][0] = add_products_of(first[r][0], low, x->q[c], r);
            last[r][0] = add_products_of(last[r][0], high, x->q[c + 4], r);
        }
    }
}

/* Multiplies a block of integer scales per 32 codes. */
CPU_INLINE void products32(const int center, const uint8_t *codes, const struct cpu_tile *x, tile_sums sums)
{
    tile_sums last;
    if (VECTORS > 1) {
        products(center, codes, x, 0, 0, 8, sums);
        return;
    }
    start_sums(center, x, 0, sums);
    start_sums(0, x, 0, last);
    add_halves(codes, x, sums, last);
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++)
        sums[r][0] += last[r][0];
}

CPU_INLINE void load_sums(float (*from)[PANEL_ROWS], tile_floats sums)
{
    CPU_UNROLL
    for (size_t i = 0; i < ROWS * VECTORS; i++)
        sums[i / VECTORS][i % VECTORS] = v_load(from[i / VECTORS] + i % VECTORS * VN);
}

CPU_INLINE void store_sums(tile_floats sums, float (*to)[PANEL_ROWS])
{
    CPU_UNROLL
    for (size_t i = 0; i < ROWS * VECTORS; i++)
        v_store(to[i / VECTORS] + i % VECTORS * VN, sums[i / VECTORS][i % VECTORS]);
}

/* Adds integer sums * scales of x * scales of the 16 rows. */
CPU_INLINE void add_block(tile_sums dot, const float *scale, const float *d, tile_floats sums)
{
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++) {
        CPU_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            sums[r][v] = v_fma(to_floats(dot[r][v]) * scale[r], v_load(d + v * VN), sums[r][v]);
    }
}

/* A scale per 32 codes. */
CPU_INLINE void core_narrow(const int center, const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                            float (*sums)[PANEL_ROWS])
{
    tile_floats total;
    load_sums(sums, total);
    for (size_t b = 0; b < count; b++) {
        tile_sums dot;
        products32(center, panel->codes + b * BLOCK_BYTES, x + b, dot);
        CPU_UNROLL
        for (size_t i = 0; i < ROWS * VECTORS; i++)
            dot[i / VECTORS][i % VECTORS] = wide_sums(dot[i / VECTORS][i % VECTORS]);
        add_block(dot, x[b].scale, panel->d[b], total);
    }
    store_sums(total, sums);
}

CPU_INLINE factor load_factor(const gemm_factor *from, const size_t v)
{
    factor by;
    memcpy(&by, from + v * VN, sizeof(by));
    return by;
}

/* Adds a block with `scales` integer scales: one for 32 codes, two, or none if codes were multiplied with theirs. */
CPU_INLINE void super_block(const int center, const size_t scales, const struct gemm_panel *panel, size_t b,
                            const struct cpu_tile *x, tile_floats part)
{
    const uint8_t *codes = panel->codes + b * BLOCK_BYTES;
    scaled value[ROWS][VECTORS];
    tile_sums first, last;
    if (scales == 2 && VECTORS == 1) {
        start_sums(center, x, 1, first);
        start_sums(center, x, 2, last);
        add_halves(codes, x, first, last);
    } else if (scales == 2) {
        products(center, codes, x, 1, 0, 4, first);
    } else {
        products32(center, codes, x, first);
    }
    CPU_UNROLL
    for (size_t i = 0; i < ROWS * VECTORS && scales != 0; i++)
        value[i / VECTORS][i % VECTORS] =
            scaled_of(first[i / VECTORS][i % VECTORS], load_factor(panel->factor[b][0], i % VECTORS));
    if (scales == 2 && VECTORS > 1)
        products(center, codes, x, 2, 4, 4, last);
    CPU_UNROLL
    for (size_t i = 0; i < ROWS * VECTORS; i++) {
        const size_t r = i / VECTORS, v = i % VECTORS;
        if (scales == 2)
            value[r][v] = add_scaled(value[r][v], last[r][v], load_factor(panel->factor[b][1], v));
        part[r][v] =
            v_fma(scales == 0 ? to_floats(first[r][v]) : scaled_floats(value[r][v]), v_set(x->scale[r]), part[r][v]);
    }
}

/* Integer scales and a scale per 256. */
CPU_INLINE void core_super(const int center, const size_t scales, const struct gemm_panel *panel,
                           const struct cpu_tile *x, size_t count, float (*sums)[PANEL_ROWS])
{
    for (size_t at = 0; at < count; at += 8) {
        tile_floats part, total;
        CPU_UNROLL
        for (size_t i = 0; i < ROWS * VECTORS; i++)
            part[i / VECTORS][i % VECTORS] = v_set(0);
        for (size_t b = at; b < at + 8; b++) {
#if !defined(CPU_BUILD_AVX512)
            /* Forces `part` into memory: in registers it evicts the sums of a block. */
            __asm__ volatile("" : : "r"(part) : "memory");
#endif
            super_block(center, scales, panel, b, x + b, part);
        }
        load_sums(sums, total);
        CPU_UNROLL
        for (size_t i = 0; i < ROWS * VECTORS; i++)
            total[i / VECTORS][i % VECTORS] =
                v_fma(part[i / VECTORS][i % VECTORS], v_load(panel->d[at / 8] + i % VECTORS * VN),
                      total[i / VECTORS][i % VECTORS]);
        store_sums(total, sums);
    }
}

#ifdef CPU_DOT32
#if defined(CPU_DOT_SIGNED)
#define SIGNED_CENTER 0
#else
#define SIGNED_CENTER 128
#endif

CPU_INLINE void core_signed(const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                            float (*sums)[PANEL_ROWS])
{
    core_narrow(SIGNED_CENTER, panel, x, count, sums);
}
#else
/* Adds products of block b of signed codes, stored as magnitudes and signed codes: the sign of a code is applied to x.
 */
CPU_INLINE void add_signed(const struct gemm_panel *panel, size_t b, const struct cpu_tile *x, tile_sums dot)
{
    const __m256i ones = _mm256_set1_epi16(1);
    CPU_UNROLL
    for (size_t c = 0; c < 8; c++) {
        const uint8_t *size = panel->codes + 2 * (b * BLOCK_BYTES + c * WORD_BYTES);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            const __m256i four = (__m256i)broadcast4(x->q[c][r]);
            CPU_UNROLL
            for (size_t v = 0; v < VECTORS; v++) {
                const __m256i turned = _mm256_sign_epi8(four, (__m256i)load_word(size + WORD_BYTES, v));
                const __m256i pairs = _mm256_maddubs_epi16((__m256i)load_word(size, v), turned);
                dot[r][v] += (vi)_mm256_madd_epi16(pairs, ones);
            }
            fix_order(dot[r]);
        }
    }
}

CPU_INLINE void core_signed(const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                            float (*sums)[PANEL_ROWS])
{
    tile_floats total;
    load_sums(sums, total);
    for (size_t b = 0; b < count; b++) {
        tile_sums dot = {{{0}}};
        add_signed(panel, b, x + b, dot);
        add_block(dot, x[b].scale, panel->d[b], total);
    }
    store_sums(total, sums);
}
#endif

/* ---- rows of x that have one scale ---- */

/* Sums that live through a loop over blocks: with an order forced on them, gcc keeps them in memory between blocks,
 * which on AVX-VNNI takes a fifth of the time. On aarch64 it would hold all codes in registers else (lanes.h). */
#if defined(CPU_BUILD_NEON)
#define ROW_ORDERED 1
#else
#define ROW_ORDERED 0
#endif

/* Adds the products of block b of signed codes of `bands` panels with a tile. */
CPU_INLINE void add_signed_block(const struct gemm_panel *panel, const size_t bands, size_t b, const struct cpu_tile *x,
                                 tile_sums dot[ROW_BANDS])
{
#if !defined(CPU_DOT32)
    (void)bands;
    add_signed(panel, b, x, dot[0]);
#elif defined(__ARM_FEATURE_MATMUL_INT8)
    (void)bands;
    tile_sums block;
    products32(0, panel->codes + b * BLOCK_BYTES, x, block);
    CPU_UNROLL
    for (size_t i = 0; i < ROWS * VECTORS; i++)
        dot[0][i / VECTORS][i % VECTORS] += block[i / VECTORS][i % VECTORS];
#else
    CPU_UNROLL
    for (size_t c = 0; c < 8; c++) {
        CPU_UNROLL
        for (size_t p = 0; p < bands; p++)
            add_word(ROW_ORDERED, panel[p].codes + b * BLOCK_BYTES, x, c, dot[p]);
    }
#endif
}

/* Sets the initial sums of `count` blocks of a tile, which correct the zero point of signed codes. */
CPU_INLINE void start_row(const struct cpu_tile *x, size_t count, tile_sums dot)
{
    typedef int32_t four __attribute__((vector_size(4 * ROWS)));
    four start = {0};
#if defined(CPU_DOT32) && !defined(CPU_DOT_SIGNED)
    for (size_t b = 0; b < count; b++) {
        four minus;
        memcpy(&minus, x[b].minus[0], sizeof(minus));
#if defined(CPU_BUILD_AVX512)
        start += minus * (SIGNED_CENTER / 8);
#else
        start += ((minus >> 16) + (minus << 16 >> 16)) * SIGNED_CENTER;
#endif
    }
#else
    (void)x, (void)count;
#endif
    CPU_UNROLL
    for (size_t i = 0; i < ROWS * VECTORS; i++)
        dot[i / VECTORS][i % VECTORS] = v_set_word(start[i / VECTORS]);
}

CPU_INLINE void core_rows(const struct gemm_chunk *chunk, const size_t bands, const struct gemm_panel *panel, size_t i,
                          float (*sums)[PANEL_ROWS])
{
    const struct cpu_matmul *call = chunk->call;
    const struct cpu_tile *x = cpu_tile_of(&call->act_q8, call->k / CPU_BLOCK, i / CPU_TILE_ROWS, chunk->first);
    tile_floats total[ROW_BANDS];
    CPU_UNROLL
    for (size_t p = 0; p < bands; p++)
        load_sums(sums + p * X_ROWS, total[p]);
    for (size_t from = 0, to; from < chunk->count; from = to) {
        tile_sums dot[ROW_BANDS];
        to = from + least(chunk->span, chunk->count - from);
        CPU_UNROLL
        for (size_t p = 0; p < bands; p++)
            start_row(x + from, to - from, dot[p]);
        for (size_t b = from; b < to; b++)
            add_signed_block(panel, bands, b, x + b, dot);
        CPU_UNROLL
        for (size_t p = 0; p < bands; p++)
            add_block(dot[p], x->scale, panel[p].d[from], total[p]);
    }
    CPU_UNROLL
    for (size_t p = 0; p < bands; p++)
        store_sums(total[p], sums + p * X_ROWS);
}

void CPU_NAME(core_row)(const struct gemm_chunk *chunk, const struct gemm_panel *panel, size_t i,
                        float (*sums)[PANEL_ROWS])
{
    if (chunk->bands == 1)
        core_rows(chunk, 1, panel, i, sums);
    else
        core_rows(chunk, ROW_BANDS, panel, i, sums);
}

/* Adds m times the sums of x, of blocks or of both halves. */
CPU_INLINE void minima(const size_t halves, const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                       float (*sums)[PANEL_ROWS])
{
    tile_floats total;
    load_sums(sums, total);
    for (size_t b = 0; b < count; b++) {
        CPU_UNROLL
        for (size_t i = 0; i < halves; i++) {
            const float *sum = x[b].sum[halves == 1 ? 0 : 1 + i];
            CPU_UNROLL
            for (size_t v = 0; v < VECTORS; v++) {
                const vf m = v_load(panel->m[b][i] + v * VN);
                CPU_UNROLL
                for (size_t r = 0; r < ROWS; r++)
                    total[r][v] = v_fma(m, v_set(sum[r]), total[r][v]);
            }
        }
    }
    store_sums(total, sums);
}

/* ---- the cores of gemm_core.h ---- */

#define CORE(name, body)                                                                                               \
    void CPU_NAME(name)(const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,                        \
                        float(*sums)[PANEL_ROWS])                                                                      \
    {                                                                                                                  \
        body;                                                                                                          \
    }

CORE(core_narrow0, core_narrow(0, panel, x, count, sums))
CORE(core_narrow8, core_narrow(8, panel, x, count, sums))
CORE(core_narrow16, core_narrow(16, panel, x, count, sums))
CORE(core_super0, core_super(0, 1, panel, x, count, sums))
CORE(core_super16, core_super(16, 1, panel, x, count, sums))
CORE(core_fine0, core_super(0, is_folded(ACCEL_Q2_K) ? 0 : 2, panel, x, count, sums))
CORE(core_fine4,
     is_folded(ACCEL_Q3_K) ? core_super(128, 0, panel, x, count, sums) : core_super(4, 2, panel, x, count, sums))
CORE(core_fine32, core_super(32, 2, panel, x, count, sums))
CORE(minima_block, minima(1, panel, x, count, sums))
CORE(minima_half, minima(2, panel, x, count, sums))
CORE(core_wide, core_signed(panel, x, count, sums))
