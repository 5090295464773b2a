/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of many rows of activations rounded to 8 bits, AMX: panels of 16 rows of W as vector/gemm.h has them, whose
 * runs are the rows of a tile already, with 16 rows of x, which are read where they lie. Since scales belong to 32
 * values, or to 16, a tile of sums holds as many products and is then scaled in vectors; four are under way at a time.
 * Digits are brought to their values first, so that nothing is taken back from the sums. Few rows, and types without
 * panels, are what AVX-512 makes of them. Bound: operations. No speed is stated: no processor that has AMX was there.
 */
#include "plugins/cpu/kernels/amx/tiles.h"
#include "plugins/cpu/kernels/vector/finish.h"
#include "plugins/cpu/kernels/vector/gemm_core.h"

#define FROM 9u     /* rows of x; fewer fill too little of a tile */
#define TILE 16u    /* rows of x and of W */
#define X_ROWS 512u /* rows of x per pass over a panel: their sums, 32 KiB, stay in the second cache */
#define TOGETHER 4u /* tiles of sums */
#define UNITS_MOST (2u * PANEL_BLOCKS)

/* What the cores of a recipe say about its panels. */
struct kind {
    gemm_core_fn *core;
    int center;      /* digits are so much above their value */
    uint32_t factor; /* factors beside the scale of 256: 0, 1 for 32 values, 2 for 16 */
};

static struct kind kind_of(gemm_core_fn *core)
{
    static const struct kind kinds[] = {
        {CPU_NAME(core_narrow0), 0, 0}, {CPU_NAME(core_narrow8), 8, 0}, {CPU_NAME(core_narrow16), 16, 0},
        {CPU_NAME(core_wide), 128, 0},  {CPU_NAME(core_super0), 0, 1},  {CPU_NAME(core_super16), 16, 1},
        {CPU_NAME(core_fine0), 0, 2},   {CPU_NAME(core_fine4), 4, 2},   {CPU_NAME(core_fine32), 32, 2},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].core == core)
            return kinds[i];
    }
    return (struct kind){NULL, 0, 0};
}

/* A panel as tiles read it: `values` digits share a scale. */
struct units {
    struct gemm_panel panel;
    float scale[UNITS_MOST][PANEL_ROWS];
    size_t values;
    size_t count;
};

static void lower_digits(uint8_t *digits, size_t bytes, int center)
{
    const __m512i less = _mm512_set1_epi8((char)center);
    for (size_t at = 0; at < bytes; at += 64)
        _mm512_storeu_si512(digits + at, _mm512_sub_epi8(_mm512_loadu_si512(digits + at), less));
}

/* After `blocks` blocks of a panel have been filled. */
static void make_units(const struct kind *kind, size_t blocks, struct units *out)
{
    const struct gemm_panel *panel = &out->panel;
    const size_t each = kind->factor == 2 ? 2 : 1;
    lower_digits(out->panel.digits, blocks * BLOCK_BYTES, kind->center);
    out->values = CPU_BLOCK / each;
    out->count = blocks * each;
    for (size_t u = 0; u < out->count; u++) {
        const size_t b = u / each;
        const __m512 d = _mm512_loadu_ps(panel->d[kind->factor ? b / 8 : b]);
        const __m512 factor = kind->factor ? _mm512_loadu_ps(panel->factor[b][u % each]) : _mm512_set1_ps(1);
        _mm512_storeu_ps(out->scale[u], _mm512_mul_ps(d, factor));
    }
}

/* Tiles 0 .. 3 are sums, 4 and 5 hold `rows` rows of x, 6 and 7 weights. */
static void shape(size_t rows, size_t values)
{
    struct tile_shapes shapes = {.palette = 1};
    for (size_t t = 0; t < 8; t++) {
        shapes.rows[t] = (uint8_t)(t < 6 ? rows : values / 4);
        shapes.row_bytes[t] = (uint16_t)(t == 4 || t == 5 ? values : 64);
    }
    tiles_begin(&shapes);
}

/* Where rows of x begin. */
struct rows {
    const int8_t *q;
    size_t stride;
    const struct cpu_tile *tiles; /* with their scales */
    size_t tiles_stride;
    size_t count;
};

/* Products of units u .. u + TOGETHER, or of unit u alone. */
CPU_INLINE void four_products(const struct units *w, const struct rows *x, size_t u, int32_t (*out)[TILE][TILE])
{
    const int8_t *q = x->q + u * w->values;
    const uint8_t *digits = w->panel.digits + u * w->values * PANEL_ROWS;
    const size_t bytes = w->values * PANEL_ROWS;
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    tile_load(4, q, x->stride);
    tile_load(6, digits, 64);
    tile_dot8(0, 4, 6);
    tile_load(5, q + w->values, x->stride);
    tile_load(7, digits + bytes, 64);
    tile_dot8(1, 5, 7);
    tile_load(4, q + 2 * w->values, x->stride);
    tile_load(6, digits + 2 * bytes, 64);
    tile_dot8(2, 4, 6);
    tile_load(5, q + 3 * w->values, x->stride);
    tile_load(7, digits + 3 * bytes, 64);
    tile_dot8(3, 5, 7);
    tile_store(0, out[0], 64);
    tile_store(1, out[1], 64);
    tile_store(2, out[2], 64);
    tile_store(3, out[3], 64);
}

CPU_INLINE void one_product(const struct units *w, const struct rows *x, size_t u, int32_t (*out)[TILE])
{
    tile_zero(0);
    tile_load(4, x->q + u * w->values, x->stride);
    tile_load(6, w->panel.digits + u * w->values * PANEL_ROWS, 64);
    tile_dot8(0, 4, 6);
    tile_store(0, out, 64);
}

/* Adds `count` (a constant) units' products, times both scales, to the sums. */
CPU_INLINE void add_scaled(const struct units *w, const struct rows *x, size_t u, const size_t count,
                           int32_t (*dot)[TILE][TILE], float (*sums)[PANEL_ROWS])
{
    __m512 scale[TOGETHER];
    CPU_UNROLL
    for (size_t i = 0; i < count; i++)
        scale[i] = _mm512_loadu_ps(w->scale[u + i]);
    for (size_t r = 0; r < x->count; r++) {
        const struct cpu_tile *tiles = x->tiles + r / CPU_TILE_ROWS * x->tiles_stride;
        __m512 sum = _mm512_loadu_ps(sums[r]);
        CPU_UNROLL
        for (size_t i = 0; i < count; i++) {
            const struct cpu_tile *tile = tiles + (u + i) * w->values / CPU_BLOCK;
            const __m512 value = _mm512_cvtepi32_ps(_mm512_loadu_si512(dot[i][r]));
            sum = _mm512_fmadd_ps(_mm512_mul_ps(value, _mm512_set1_ps(tile->scale[r % CPU_TILE_ROWS])), scale[i], sum);
        }
        _mm512_storeu_ps(sums[r], sum);
    }
}

/* Up to 16 rows of x with a panel. */
static void pass(const struct units *w, const struct rows *x, float (*sums)[PANEL_ROWS])
{
    int32_t dot[TOGETHER][TILE][TILE];
    size_t u = 0;
    for (; u + TOGETHER <= w->count; u += TOGETHER) {
        four_products(w, x, u, dot);
        add_scaled(w, x, u, TOGETHER, dot, sums);
    }
    for (; u < w->count; u++) {
        one_product(w, x, u, dot[0]);
        add_scaled(w, x, u, 1, dot, sums);
    }
}

static void minima(uint32_t minimum, const struct gemm_panel *panel, const struct rows *x, size_t blocks,
                   float (*sums)[PANEL_ROWS])
{
    for (size_t r = 0; r < x->count && minimum != MINIMUM_NONE; r += CPU_TILE_ROWS) {
        const struct cpu_tile *tiles = x->tiles + r / CPU_TILE_ROWS * x->tiles_stride;
        if (minimum == MINIMUM_BLOCK)
            CPU_NAME(minima_block)(panel, tiles, blocks, sums + r);
        else
            CPU_NAME(minima_half)(panel, tiles, blocks, sums + r);
    }
}

/* Rows j .. of W, 16 of them or those before `end`, with rows i .. i + rows of x. */
static void band(const struct gemm_recipe *recipe, const struct kind *kind, const struct cpu_matmul *call, size_t i,
                 size_t rows, size_t j, size_t end)
{
    const size_t blocks = call->k / CPU_BLOCK;
    float sums[X_ROWS][PANEL_ROWS];
    struct units units;
    size_t from[PANEL_ROWS];
    /* Rows past the end repeat the last; nobody stores their results. */
    for (size_t r = 0; r < PANEL_ROWS; r++)
        from[r] = least(j + r, end - 1);
    memset(sums, 0, (rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS * CPU_TILE_ROWS * sizeof(sums[0]));
    for (size_t first = 0; first < blocks; first += PANEL_BLOCKS) {
        const size_t count = least(PANEL_BLOCKS, blocks - first);
        recipe->fill(&call->w, from, first, count, &units.panel);
        make_units(kind, count, &units);
        for (size_t r = 0; r < rows; r += TILE) {
            const struct rows x = {call->x8.q + (i + r) * call->k + first * CPU_BLOCK, call->k,
                                   cpu_tile_of(&call->x8, blocks, (i + r) / CPU_TILE_ROWS, first), count,
                                   least(TILE, rows - r)};
            if (r == 0 || x.count < TILE)
                shape(x.count, units.values);
            pass(&units, &x, sums + r);
            minima(recipe->minimum, &units.panel, &x, count, sums + r);
        }
    }
    for (size_t r = 0; r < rows; r++)
        finish_row(call, i + r, j, least(PANEL_ROWS, end - j), sums[r]);
}

/* Returns 0 and does nothing where rows are few, or the type has no panels. */
static int many_rows(const struct cpu_matmul *call, uint32_t type, size_t begin, size_t end)
{
    if (call->m < FROM || call->x8.tiles == NULL)
        return 0;
    const struct gemm_recipe recipe = CPU_NAME(gemm_recipe)(type);
    const struct kind kind = kind_of(recipe.core);
    if (recipe.fill == NULL || kind.core == NULL)
        return 0;
    for (size_t i = 0; i < call->m; i += X_ROWS) {
        for (size_t j = begin; j < end; j += PANEL_ROWS)
            band(&recipe, &kind, call, i, least(X_ROWS, call->m - i), j, end);
    }
    tiles_end();
    return 1;
}

#define MATMUL8(name, type)                                                                                            \
    void cpu_matmul8_##name##_amx(const struct cpu_matmul *call, size_t begin, size_t end)                             \
    {                                                                                                                  \
        if (!many_rows(call, type, begin, end))                                                                        \
            CPU_NAME(matmul8_##name)(call, begin, end);                                                                \
    }

MATMUL8(q8_0, ACCEL_Q8_0)
MATMUL8(q4_0, ACCEL_Q4_0)
MATMUL8(q4_1, ACCEL_Q4_1)
MATMUL8(q8_g32, ACCEL_Q8_G32)
MATMUL8(q8_g128, ACCEL_Q8_G128)
MATMUL8(q4_g32, ACCEL_Q4_G32)
MATMUL8(q4_g128, ACCEL_Q4_G128)
MATMUL8(q5_0, ACCEL_Q5_0)
MATMUL8(q5_1, ACCEL_Q5_1)
MATMUL8(q2_k, ACCEL_Q2_K)
MATMUL8(q3_k, ACCEL_Q3_K)
MATMUL8(q4_k, ACCEL_Q4_K)
MATMUL8(q5_k, ACCEL_Q5_K)
MATMUL8(q6_k, ACCEL_Q6_K)
MATMUL8(iq4_nl, ACCEL_IQ4_NL)
MATMUL8(iq4_xs, ACCEL_IQ4_XS)
MATMUL8(mxfp4, ACCEL_MXFP4)
MATMUL8(planar, call->w.type)
