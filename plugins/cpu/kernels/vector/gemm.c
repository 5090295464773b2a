/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMM of act_q8 for all weight types: 16 rows of W with 16 blocks of k are unpacked to a panel (gemm_fill.h), which
 * stays in the L1 cache while all rows of x are multiplied with it, four at a time (gemm_core.c; of aarch64 in neon/).
 */
#include "finish.h"
#include "gemm_core.h"
#include "gemm_fill.h"

#define SHORT_ROWS 32u  /* rows of x up to which panels are short, so that prefetches are small */
#define SHORT_BLOCKS 8u /* blocks of a short panel */
#define FINISH_AHEAD 8u /* rows of y that are prefetched */

/* Memory to prefetch. */
struct ahead {
    const char *next;
    const char *end;
    size_t each; /* bytes per tile */
};

/*
 * Returns the part of the next 16 rows of W that corresponds to blocks first .. first + count of this panel. A panel
 * reads 16 streams, which the hardware prefetcher does not follow; adjacent rows are one stream. The prefetch is spread
 * over the tiles, since requests issued together stall the processor (doc/benchmark.md, prefetch of weight rows).
 * Harmless past the end of a matrix.
 */
static struct ahead next_panel(const struct gemm_rows *w, size_t blocks, size_t first, size_t count, size_t tiles)
{
    const size_t from = w->bytes * first / blocks, to = w->bytes * (first + count) / blocks;
    return (struct ahead){w->next + from, w->next + to, ((to - from) / LINE / tiles + 1) * LINE};
}

/* Prefetches the next bytes with one tile. */
static void prefetch_piece(struct ahead *ahead)
{
    const size_t left = (size_t)(ahead->end - ahead->next), bytes = least(ahead->each, left);
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(ahead->next + at, 0, 2);
    ahead->next += bytes;
}

/* Multiplies CPU_TILE_ROWS rows of x with a panel. */
static void multiply_tile(const struct gemm_recipe *recipe, const struct gemm_panel *panel, const struct cpu_tile *x,
                          size_t count, float (*sums)[PANEL_ROWS])
{
    recipe->core(panel, x, count, sums);
    if (recipe->minimum == MINIMUM_BLOCK)
        CPU_NAME(minima_block)(panel, x, count, sums);
    else if (recipe->minimum == MINIMUM_HALF)
        CPU_NAME(minima_half)(panel, x, count, sums);
}

/* Describes 16 rows of W from j on. Rows past the end repeat the last row; their results are not stored. */
static struct gemm_rows rows_from(const struct cpu_matmul *call, size_t j, size_t end)
{
    struct gemm_rows from = {.w = &call->w, .bytes = PANEL_ROWS * call->w.stride[0]};
    for (size_t r = 0; r < PANEL_ROWS; r++)
        from.rows[r] = least(j + r, end - 1);
    if (call->w.packed != NULL) {
        const struct panel_format format = cpu_panel_format(call->w.type);
        from.bytes = cpu_panel_bytes(&format, call->k);
        from.panel = (const uint8_t *)call->w.packed + j / PANEL_ROWS * from.bytes;
        from.scales = from.panel + cpu_panel_scales_at(&format, call->k);
        from.next = (const char *)from.panel + from.bytes;
    } else {
        from.next = (const char *)call->w.plane[0] + j * call->w.stride[0] + from.bytes;
    }
    return from;
}

static void fill_panel(gemm_fill_fn *fill, const struct gemm_rows *from, size_t first, size_t count,
                       struct gemm_panel *out)
{
    fill(from, first, count, out);
#if defined(__ARM_FEATURE_MATMUL_INT8)
    CPU_NAME(zip_panel)(out, count * (BLOCK_BYTES / WORD_BYTES));
#endif
}

/* Stores the results of 16 rows of W from j on, or fewer before `end`, with rows i .. i + rows of x. */
static void finish_band(const struct cpu_matmul *call, size_t i, size_t rows, size_t j, size_t end,
                        float (*sums)[PANEL_ROWS])
{
    for (size_t r = 0; r < rows && r < FINISH_AHEAD; r++)
        finish_ahead(call, i + r, j);
    for (size_t r = 0; r < rows; r++) {
        if (r + FINISH_AHEAD < rows)
            finish_ahead(call, i + r + FINISH_AHEAD, j);
        finish_row(call, i + r, j, least(PANEL_ROWS, end - j), sums[r]);
    }
}

/* Multiplies one band of 16 rows of W from j on, or ROW_BANDS if rows of x have one scale, or fewer before `end`, with
 * rows i .. i + rows of x. */
static void multiply_bands(const struct gemm_recipe *recipe, const struct cpu_matmul *call, size_t i, size_t rows,
                           size_t j, size_t end)
{
    const size_t blocks = call->k / CPU_BLOCK, step = rows <= SHORT_ROWS ? SHORT_BLOCKS : PANEL_BLOCKS;
    const size_t tiles = (rows + recipe->height - 1) / recipe->height;
    const size_t bands = recipe->row_core == NULL ? 1 : least(ROW_BANDS, (end - j + PANEL_ROWS - 1) / PANEL_ROWS);
    float sums[ROW_BANDS][X_ROWS][PANEL_ROWS];
    struct gemm_panel panel[ROW_BANDS];
    struct gemm_rows from[ROW_BANDS];
    for (size_t b = 0; b < bands; b++) {
        from[b] = rows_from(call, j + b * PANEL_ROWS, end);
        memset(sums[b], 0, (rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS * CPU_TILE_ROWS * sizeof(sums[b][0]));
    }
    for (size_t first = 0; first < blocks; first += step) {
        const size_t count = least(step, blocks - first);
        const struct gemm_chunk chunk = {call, first, count, bands, recipe->span};
        const struct cpu_tile *x = cpu_tile_of(&call->act_q8, blocks, i / CPU_TILE_ROWS, first);
        const size_t x_stride = first % CPU_TILE_BLOCKS + cpu_tiles_together(blocks, first);
        struct ahead ahead[ROW_BANDS] = {{0}};
        for (size_t b = 0; b < bands; b++) {
            fill_panel(recipe->fill, &from[b], first, count, &panel[b]);
            ahead[b] = next_panel(&from[bands - 1], blocks, first, count, tiles);
            ahead[b].next += b * from[b].bytes, ahead[b].end += b * from[b].bytes;
        }
        for (size_t r = 0; r < rows; r += recipe->height, x += x_stride) {
            for (size_t b = 0; b < bands; b++)
                prefetch_piece(&ahead[b]);
            if (recipe->row_core != NULL)
                recipe->row_core(&chunk, panel, i + r, sums[0] + r);
            else
                multiply_tile(recipe, panel, x, count, sums[0] + r);
        }
    }
    for (size_t b = 0; b < bands; b++)
        finish_band(call, i, rows, j + b * PANEL_ROWS, end, sums[b]);
}

void CPU_NAME(gemm)(const struct gemm_recipe recipe, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const size_t together = (recipe.row_core == NULL ? 1 : ROW_BANDS) * PANEL_ROWS;
    for (size_t i = 0; i < call->m; i += X_ROWS) {
        for (size_t j = begin; j < end; j += together)
            multiply_bands(&recipe, call, i, least(X_ROWS, call->m - i), j, end);
    }
}

/* ---- types ---- */

#define FILL(name, body)                                                                                               \
    static void fill_##name(const struct gemm_rows *w, size_t first, size_t count, struct gemm_panel *out)             \
    {                                                                                                                  \
        body;                                                                                                          \
    }
#define RECIPE(name, core, minimum) ((struct gemm_recipe){fill_##name, CPU_NAME(core), minimum, CPU_TILE_ROWS, NULL, 0})
#define GEMM(name, core, minimum, body)                                                                                \
    FILL(name, body)                                                                                                   \
    void CPU_NAME(gemm8_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                               \
    {                                                                                                                  \
        CPU_NAME(gemm)(RECIPE(name, core, minimum), call, begin, end);                                                 \
    }

GEMM(q8_0, core_wide, MINIMUM_NONE, fill_block32(block32_q8_0, w, first, count, out))
GEMM(q8_g32, core_wide, MINIMUM_NONE, fill_block32(block32_q8_g32, w, first, count, out))
GEMM(q8_g128, core_wide, MINIMUM_NONE, fill_block32(block32_q8_g128, w, first, count, out))
GEMM(q4_0, core_narrow8, MINIMUM_NONE, fill_block32(block32_q4_0, w, first, count, out))
GEMM(q4_1, core_narrow0, MINIMUM_BLOCK, fill_block32(block32_q4_1, w, first, count, out))
GEMM(q4_g32, core_narrow8, MINIMUM_NONE, fill_block32(block32_q4_g32, w, first, count, out))
GEMM(q4_g128, core_narrow8, MINIMUM_NONE, fill_block32(block32_q4_g128, w, first, count, out))
GEMM(q5_0, core_narrow16, MINIMUM_NONE, fill_staged(traits_q5_0, 16, -16, w->w, w->rows, first, count, out))
GEMM(q5_1, core_narrow16, MINIMUM_BLOCK, fill_staged(traits_q5_1, 16, 0, w->w, w->rows, first, count, out))
GEMM(mxfp4, core_narrow16, MINIMUM_NONE, fill_staged(traits_mxfp4, 16, -16, w->w, w->rows, first, count, out))

/* Types that are unpacked to signed codes. */
#define GEMM_SIGNED(name)                                                                                              \
    GEMM(name, core_wide, MINIMUM_NONE, fill_staged(traits_##name, 0, 0, w->w, w->rows, first, count, out))
GEMM_SIGNED(iq4_nl)
GEMM_SIGNED(iq4_xs)
GEMM_SIGNED(iq3_s)
GEMM_SIGNED(iq3_xxs)
GEMM_SIGNED(iq2_xxs)
GEMM_SIGNED(iq1_s)
GEMM_SIGNED(tq2_0)
GEMM_SIGNED(tq1_0)

GEMM(q2_k, core_fine0, MINIMUM_HALF, fill_super(traits_q2_k, 0, w, first, count, out))
GEMM(q3_k, core_fine4, MINIMUM_NONE, fill_super(traits_q3_k, 4, w, first, count, out))
GEMM(q4_k, core_super0, MINIMUM_BLOCK, fill_super(traits_q4_k, 0, w, first, count, out))
GEMM(q5_k, core_super16, MINIMUM_BLOCK, fill_super(traits_q5_k, 16, w, first, count, out))
GEMM(q6_k, core_fine32, MINIMUM_NONE, fill_super(traits_q6_k, 32, w, first, count, out))

/* Planar types: codes of up to 4 bits, and of 8. */
#define GEMM_PLANAR(name, core, minimum, asymmetric, wide)                                                             \
    FILL(name, fill_narrow(asymmetric, w->w, w->rows, first, count, out))                                              \
    FILL(name##_wide, wide)                                                                                            \
    void CPU_NAME(gemm8_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                               \
    {                                                                                                                  \
        const struct gemm_recipe up_to_4 = RECIPE(name, core, minimum),                                                \
                                 of_8 = RECIPE(name##_wide, core_wide, minimum);                                       \
        CPU_NAME(gemm)(ACCEL_PLANAR_BITS(call->w.type) <= 4 ? up_to_4 : of_8, call, begin, end);                       \
    }

GEMM_PLANAR(planar, core_narrow8, MINIMUM_NONE, 0, fill_block32(block32_of(w->w), w, first, count, out))
GEMM_PLANAR(planar_a, core_narrow0, MINIMUM_BLOCK, 1,
            fill_staged(traits_planar_a, 0, 0, w->w, w->rows, first, count, out))

/* Rows of x that have one scale; planar: of 8 bits only. */
#define GEMM_ROW(name, fill, span)                                                                                     \
    void CPU_NAME(gemm8_row_##name)(const struct cpu_matmul *call, size_t begin, size_t end)                           \
    {                                                                                                                  \
        const struct gemm_recipe recipe = {fill, NULL, MINIMUM_NONE, CPU_TILE_ROWS, CPU_NAME(core_row), span};         \
        CPU_NAME(gemm)(recipe, call, begin, end);                                                                      \
    }

GEMM_ROW(q8_g128, fill_q8_g128, block32_q8_g128.group_blocks)
GEMM_ROW(planar, fill_planar_wide, block32_of(&call->w).group_blocks)
