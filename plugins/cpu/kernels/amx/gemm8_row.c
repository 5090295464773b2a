/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMM of act_q8 with one scale for a row and of weights of 8 bits, AMX: a core of vector/gemm.c, which fills the
 * panels. 16 words of a panel are a tile of W, and 64 codes of 16 rows of x a tile of x: neither is arranged again. A
 * tile product adds 64 products to each of 256 sums. Tiles sum integers over the blocks that share a scale of W, up to
 * those of a panel, and the sums are then scaled in the order of AVX-512: results have the same bits. Tile: 2 tiles of
 * x by 2 panels, with one load for each product. Bound: operations, 1024 multiply-adds a cycle with a scale for 512
 * weights; with one for 64, scaling takes longer than the products. Not measured on a processor.
 */
#define CPU_DOT_SIGNED /* panels hold signed codes: tiles have products of them */
#include "plugins/cpu/kernels/vector/gemm_fill.h"
#include "tiles.h"

#define SQUARE (2 * TILE_ROWS)

/* Sums of 16 rows of x with a panel. */
typedef int32_t dot_tile[TILE_ROWS][PANEL_ROWS];

/* 16 rows of x. The last tile begins so that it ends with the last row: its first `done` rows are those of the tile
 * before. There are CPU_ACT_Q8_ROW_FROM rows or more. */
struct x_tile {
    const int8_t *q;
    size_t done;
    float scale[TILE_ROWS];
};

static struct x_tile x_tile_of(const struct cpu_matmul *call, size_t i)
{
    const size_t begin = least(i, call->m - TILE_ROWS);
    struct x_tile x = {.q = call->act_q8.q + begin * call->k, .done = i - begin};
    for (size_t r = 0; r < TILE_ROWS; r++)
        x.scale[r] = call->act_q8.scale[(begin + r) * (call->k / CPU_BLOCK)];
    return x;
}

/* Multiplies blocks from .. to of `tiles` tiles of x and of `bands` panels, two blocks at a time. A block after the
 * last one is zero in the panel, and any codes in x. */
static void multiply_span(const struct x_tile x[2], size_t tiles, size_t stride, const struct gemm_panel *panel,
                          size_t bands, size_t from, size_t to, dot_tile dot[2][2])
{
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    for (size_t b = from; b < to; b += 2) {
        tile_load(4, x[0].q + b * CPU_BLOCK, stride);
        tile_load(6, panel[0].codes + b * BLOCK_BYTES, WORD_BYTES);
        tile_dot8(0, 4, 6);
        if (tiles == 2) {
            tile_load(5, x[1].q + b * CPU_BLOCK, stride);
            tile_dot8(1, 5, 6);
        }
        if (bands == 2) {
            tile_load(7, panel[1].codes + b * BLOCK_BYTES, WORD_BYTES);
            tile_dot8(2, 4, 7);
            if (tiles == 2)
                tile_dot8(3, 5, 7);
        }
    }
    tile_store(0, dot[0][0], WORD_BYTES);
    tile_store(1, dot[0][1], WORD_BYTES);
    tile_store(2, dot[1][0], WORD_BYTES);
    tile_store(3, dot[1][1], WORD_BYTES);
}

/* Adds integer sums * scales of x * scales of the 16 rows of W, in the order of the vector core. */
static void add_dots(dot_tile dot, const struct x_tile *x, const float *d, float (*sums)[PANEL_ROWS])
{
    const vf by = v_load(d);
    for (size_t r = x->done; r < TILE_ROWS; r++, sums++) {
        vi integers;
        memcpy(&integers, dot[r], sizeof(integers));
        v_store(sums[0], v_fma(to_floats(integers) * x->scale[r], by, v_load(sums[0])));
    }
}

static void multiply_square(const struct gemm_chunk *chunk, const struct gemm_panel *panel, size_t i,
                            float (*sums)[PANEL_ROWS])
{
    const struct cpu_matmul *call = chunk->call;
    const size_t tiles = i + TILE_ROWS < call->m ? 2 : 1;
    struct x_tile x[2];
    for (size_t t = 0; t < tiles; t++) {
        x[t] = x_tile_of(call, i + t * TILE_ROWS);
        x[t].q += chunk->first * CPU_BLOCK;
    }
    for (size_t from = 0, to; from < chunk->count; from = to) {
        _Alignas(LINE) dot_tile dot[ROW_BANDS][2];
        to = from + least(chunk->span, chunk->count - from);
        multiply_span(x, tiles, call->k, panel, chunk->bands, from, to, dot);
        for (size_t p = 0; p < chunk->bands; p++) {
            for (size_t t = 0; t < tiles; t++)
                add_dots(dot[p][t], &x[t], panel[p].d[from], sums + p * X_ROWS + t * TILE_ROWS);
        }
    }
}

static void fill_signed(const struct gemm_rows *w, size_t first, size_t count, struct gemm_panel *out)
{
    fill_block32(block32_of(w->w), w, first, count, out);
    memset(out->codes + count * BLOCK_BYTES, 0, BLOCK_BYTES);
}

#define GEMM_ROW(ID, name)                                                                                             \
    void cpu_gemm8_row_##name##_amx(const struct cpu_matmul *call, size_t begin, size_t end)                           \
    {                                                                                                                  \
        const struct gemm_recipe recipe = {                                                                            \
            fill_signed, NULL, MINIMUM_NONE, SQUARE, multiply_square, block32_of(&call->w).group_blocks};              \
        tiles_begin(&tiles_whole);                                                                                     \
        CPU_NAME(gemm)(recipe, call, begin, end);                                                                      \
        tiles_end();                                                                                                   \
    }
CPU_GEMM_ROW_TYPES(GEMM_ROW)
