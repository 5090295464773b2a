/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of many rows of activations rounded to 8 bits, for all types of weights: 16 rows of W become a panel for 16
 * blocks of k at a time (gemm_fill.h), which stays in the first cache while all rows of x pass over it, four or eight
 * at a time (the cores in gemm_core.c of each level).
 */
#include "finish.h"
#include "gemm_core.h"
#include "gemm_fill.h"

#define X_ROWS 512u /* rows of x per pass over a panel: their sums, 32 KiB, stay in the second cache */

#define FEW_ROWS 32u  /* rows of x up to which panels are short, so that what is asked for comes in small parts */
#define FEW_BLOCKS 8u /* blocks of a panel then */
#define LINE 64u
#define FINISH_AHEAD 8u /* rows of y that are asked for before their turn */

#define RECIPE(name, core, minimum) ((struct gemm_recipe){fill_##name, CPU_NAME(core), minimum})

/* Planar types up to 4 bits have digits that the narrow cores hold, others go as bytes. */
static struct gemm_recipe planar_recipe(uint32_t type)
{
    const uint32_t bits = ACCEL_PLANAR_BITS(type), scheme = ACCEL_PLANAR_SCHEME(type);
    if (cpu_weight_of(type) < 0 || scheme > ACCEL_SCHEME_ASYMMETRIC)
        return (struct gemm_recipe){NULL, NULL, 0};
    if (scheme == ACCEL_SCHEME_SYMMETRIC)
        return bits <= 4 ? RECIPE(planar, core_narrow8, MINIMUM_NONE) : RECIPE(planar8, core_wide, MINIMUM_NONE);
    return bits <= 4 ? RECIPE(planar_a, core_narrow0, MINIMUM_BLOCK) : RECIPE(planar8_a, core_wide, MINIMUM_BLOCK);
}

struct gemm_recipe CPU_NAME(gemm_recipe)(uint32_t type)
{
    switch (type) {
    case ACCEL_Q8_0:
        return RECIPE(q8_0, core_wide, MINIMUM_NONE);
    case ACCEL_Q8_G32:
        return RECIPE(q8_g32, core_wide, MINIMUM_NONE);
    case ACCEL_Q8_G128:
        return RECIPE(q8_g128, core_wide, MINIMUM_NONE);
    case ACCEL_Q4_0:
        return RECIPE(q4_0, core_narrow8, MINIMUM_NONE);
    case ACCEL_Q4_1:
        return RECIPE(q4_1, core_narrow0, MINIMUM_BLOCK);
    case ACCEL_Q4_G32:
        return RECIPE(q4_g32, core_narrow8, MINIMUM_NONE);
    case ACCEL_Q4_G128:
        return RECIPE(q4_g128, core_narrow8, MINIMUM_NONE);
    case ACCEL_Q5_0:
        return RECIPE(q5_0, core_narrow16, MINIMUM_NONE);
    case ACCEL_Q5_1:
        return RECIPE(q5_1, core_narrow16, MINIMUM_BLOCK);
    case ACCEL_MXFP4:
        return RECIPE(mxfp4, core_narrow16, MINIMUM_NONE);
    case ACCEL_Q2_K:
        return RECIPE(q2_k, core_fine0, MINIMUM_HALF);
    case ACCEL_Q3_K:
        return RECIPE(q3_k, core_fine4, MINIMUM_NONE);
    case ACCEL_Q4_K:
        return RECIPE(q4_k, core_super0, MINIMUM_BLOCK);
    case ACCEL_Q5_K:
        return RECIPE(q5_k, core_super16, MINIMUM_BLOCK);
    case ACCEL_Q6_K:
        return RECIPE(q6_k, core_fine32, MINIMUM_NONE);
    case ACCEL_IQ4_NL:
        return RECIPE(iq4_nl, core_wide, MINIMUM_NONE);
    case ACCEL_IQ4_XS:
        return RECIPE(iq4_xs, core_wide, MINIMUM_NONE);
    default:
        return planar_recipe(type);
    }
}

/* Memory that will be wanted, and how much of it is asked for before each tile. */
struct ahead {
    const char *next;
    const char *end;
    size_t each;
};

/*
 * The next 16 rows of W, as large a part of them as blocks first .. first + count are of these: a panel reads 16
 * streams, which the processor's own prefetch does not follow: not asked for, filling panels takes 3 % of a prompt of
 * 512 tokens instead of 1.5, and a large part of the time with few rows. Rows follow one another, so that this is one
 * stream. It is asked for in as many pieces as there are tiles: all at once the requests wait for one another, and the
 * processor with them (a quarter to a third of the speed with 4 to 16 rows). Past the end of a matrix it does nothing.
 */
static struct ahead part_ahead(const struct gemm_rows *w, size_t blocks, size_t first, size_t count, size_t rows)
{
    const size_t tiles = (rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS;
    const size_t from = w->bytes * first / blocks, to = w->bytes * (first + count) / blocks;
    return (struct ahead){w->next + from, w->next + to, ((to - from) / LINE / tiles + 1) * LINE};
}

static void ask_piece(struct ahead *ahead)
{
    const size_t left = (size_t)(ahead->end - ahead->next), bytes = least(ahead->each, left);
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(ahead->next + at, 0, 2);
    ahead->next += bytes;
}

/* All rows of x of a pass over one panel; tiles of a row of them are x_stride from those of the next. */
static void pass(const struct gemm_recipe *recipe, const struct gemm_panel *panel, const struct cpu_tile *x,
                 size_t x_stride, size_t count, size_t rows, struct ahead ahead, float (*sums)[PANEL_ROWS])
{
    for (size_t r = 0; r < rows; r += CPU_TILE_ROWS, x += x_stride, sums += CPU_TILE_ROWS) {
        ask_piece(&ahead);
        recipe->core(panel, x, count, sums);
        if (recipe->minimum == MINIMUM_BLOCK)
            CPU_NAME(minima_block)(panel, x, count, sums);
        else if (recipe->minimum == MINIMUM_HALF)
            CPU_NAME(minima_half)(panel, x, count, sums);
    }
}

/* Rows past the end repeat the last; nobody stores their results. */
static struct gemm_rows rows_from(const struct cpu_matmul *call, size_t j, size_t end)
{
    struct gemm_rows from = {.w = &call->w, .bytes = PANEL_ROWS * call->w.stride[0]};
    for (size_t r = 0; r < PANEL_ROWS; r++)
        from.rows[r] = least(j + r, end - 1);
    if (call->w.panels != NULL) {
        const struct panel_form form = cpu_panel_form(call->w.type);
        from.bytes = cpu_panel_bytes(&form, call->k);
        from.panel = (const uint8_t *)call->w.panels + j / PANEL_ROWS * from.bytes;
        from.scales = from.panel + cpu_panel_scales_at(&form, call->k);
        from.next = (const char *)from.panel + from.bytes;
    } else {
        from.next = (const char *)call->w.plane[0] + j * call->w.stride[0] + from.bytes;
    }
    return from;
}

/* Rows j .. of W, 16 of them or those before `end`, with rows i .. i + rows of x. */
static void band(const struct gemm_recipe *recipe, const struct cpu_matmul *call, size_t i, size_t rows, size_t j,
                 size_t end)
{
    const size_t blocks = call->k / CPU_BLOCK, step = rows <= FEW_ROWS ? FEW_BLOCKS : PANEL_BLOCKS;
    float sums[X_ROWS][PANEL_ROWS];
    struct gemm_panel panel;
    const struct gemm_rows from = rows_from(call, j, end);
    memset(sums, 0, (rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS * CPU_TILE_ROWS * sizeof(sums[0]));
    for (size_t first = 0; first < blocks; first += step) {
        const size_t count = least(step, blocks - first);
        recipe->fill(&from, first, count, &panel);
#if defined(__ARM_FEATURE_MATMUL_INT8)
        CPU_NAME(zip_panel)(&panel, count * (BLOCK_BYTES / RUN_BYTES));
#endif
        const struct ahead ahead = part_ahead(&from, blocks, first, count, rows);
        pass(recipe, &panel, cpu_tile_of(&call->x8, blocks, i / CPU_TILE_ROWS, first),
             first % CPU_TILE_BLOCKS + cpu_tiles_together(blocks, first), count, rows, ahead, sums);
    }
    for (size_t r = 0; r < rows && r < FINISH_AHEAD; r++)
        finish_ahead(call, i + r, j);
    for (size_t r = 0; r < rows; r++) {
        if (r + FINISH_AHEAD < rows)
            finish_ahead(call, i + r + FINISH_AHEAD, j);
        finish_row(call, i + r, j, least(PANEL_ROWS, end - j), sums[r]);
    }
}

int CPU_NAME(gemm8)(const struct cpu_matmul *call, uint32_t type, size_t begin, size_t end)
{
    const struct gemm_recipe recipe = CPU_NAME(gemm_recipe)(type);
    if (recipe.fill == NULL)
        return 0;
    for (size_t i = 0; i < call->m; i += X_ROWS) {
        for (size_t j = begin; j < end; j += PANEL_ROWS)
            band(&recipe, call, i, least(X_ROWS, call->m - i), j, end);
    }
    return 1;
}
