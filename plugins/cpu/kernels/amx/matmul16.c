/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMM of act_bf16 with weights of every type, AMX. A panel of ROWS_MOST rows of W with CHUNK values of each is decoded
 * to BF16 (decode.h) and stays in the L2 cache while all rows of x are multiplied with it, 32 at a time: two tiles of
 * weights and two of x give four tiles of sums, which are loaded and stored once per chunk. W needs no transposition: x
 * was transposed when it was staged, and the result is transposed at the end.
 *
 * INT8 tiles serve activations with one scale for a row (gemm8_row.c). With a scale for each block of 32, a tile
 * product takes as long for 32 values as for 64, and vector instructions would have to scale its sums after each, which
 * takes longer than the products. BF16 also loses less than rounding x to 8 bits. Bound: operations, 512 multiply-adds
 * a cycle.
 */
#include "decode.h"
#include "panels.h"
#include "plugins/cpu/kernels/vector/finish.h"

#define W_TILES 16u /* tiles of a panel */
#define ROWS_MOST (W_TILES * TILE_ROWS)
#define STEPS 8u
#define CHUNK (STEP * STEPS)
#define X_TILES 16u /* tiles of x per panel: their sums take 256 KiB */
#define X_ROWS (X_TILES * TILE_ROWS)
#define ROW_BYTES (CHUNK / 32 * 34) /* bytes of a chunk of a row, of the widest packed type */
#define TILE_BYTES sizeof(weight_tile)

/* Decoder of a weight type, and tiles of W per step: 2 for F16, which then has half as many steps. */
struct decoder16 {
    decode16_fn *decode;
    size_t parts;
};

struct panel {
    weight_tile tile[W_TILES][STEPS];
};

/* Sums of 16 rows of W with 16 of x, [W][x], in squares of two by two tiles [tile of W][tile of x]. */
typedef float sum_tile[TILE_ROWS][TILE_ROWS];
typedef sum_tile sum_square[2][2];

/* Bytes that each step prefetches, so that a square prefetches the sums of the next square, and a row of squares the
 * next two tiles of x. */
#define SUMS_PREFETCH (sizeof(sum_square) / STEPS)
#define X_PREFETCH (2 * TILE_BYTES / (W_TILES / 2))

/* A block of the result: rows j .. j + count of W with rows i .. i + rows of x. */
struct block {
    const struct cpu_matmul *call;
    size_t j, count;
    size_t i, rows;
};

static size_t tiles_of(size_t rows)
{
    return (rows + TILE_ROWS - 1) / TILE_ROWS;
}

/* Prefetches part of a row, which the hardware prefetcher does not follow. Harmless past the end of a matrix. */
CPU_INLINE void prefetch_row(const struct cpu_matmul *call, size_t j, size_t at, size_t count)
{
    const size_t stride = call->w.stride[0];
    const char *row = (const char *)call->w.plane[0] + j * stride;
    for (size_t p = stride * at / call->k; p < stride * (at + count) / call->k; p += LINE)
        __builtin_prefetch(row + p);
}

/* Decodes values at .. at + count of the block's rows of W in place, in pairs of tiles. Rows past the end repeat the
 * last row; their results are not stored. */
static void fill_rows(const struct decoder16 *type, const struct block *block, size_t at, size_t count,
                      struct panel *out)
{
    const struct cpu_matmul *call = block->call;
    for (size_t r = 0; r < (tiles_of(block->count) + 1) / 2 * 2 * TILE_ROWS; r++) {
        prefetch_row(call, block->j + r + ROWS_AHEAD, at, count);
        type->decode(&call->w, block->j + least(r, block->count - 1), at, count, out->tile[r / TILE_ROWS],
                     r % TILE_ROWS);
    }
}

/* Decodes a chunk of packed weights: unpacks 16 rows at a time, then decodes them. */
static void fill_panels(const struct decoder16 *type, const struct block *block, size_t at, size_t count,
                        struct panel *out)
{
    uint8_t codes[TILE_ROWS][ROW_BYTES], halves[TILE_ROWS][CHUNK / 16];
    const struct cpu_matmul *call = block->call;
    const struct cpu_matrix rows = {
        .plane = {codes, halves}, .stride = {sizeof(codes[0]), sizeof(halves[0])}, .type = call->w.type};
    for (size_t t = 0; t < (tiles_of(block->count) + 1) / 2 * 2; t++) {
        const size_t j = block->j + least(t, tiles_of(block->count) - 1) * TILE_ROWS;
        panel_to_rows(&call->w, call->k, j / PANEL_ROWS, at, count, codes[0], sizeof(codes[0]), halves[0],
                      sizeof(halves[0]));
        for (size_t r = 0; r < TILE_ROWS; r++)
            type->decode(&rows, r, 0, count, out->tile[t], r);
    }
}

/* Prefetches a part of the next sums and of the next rows of x with each step: stores of sums that miss the L1 cache
 * take as long as the products, and new rows of x come from the L3 cache. */
CPU_INLINE void prefetch_step(const char *sums, const char *x)
{
    CPU_UNROLL
    for (size_t at = 0; at < SUMS_PREFETCH; at += LINE)
        __builtin_prefetch(sums + at, 1, 3);
    CPU_UNROLL
    for (size_t at = 0; at < X_PREFETCH; at += LINE)
        __builtin_prefetch(x + at, 0, 2);
}

/* Operands of a square: two rows of tiles of W, and one or two rows of tiles of x, x_stride elements apart. */
struct steps {
    const weight_tile *w0;
    const weight_tile *w1;
    const uint16_t *x;
    size_t x_stride;
    const char *next; /* rows of x to prefetch */
    size_t count;
};

/* Adds the products of all steps to tiles 0 .. 3, [tile of W][tile of x]; 4 and 5 hold weights, 6 and 7 x. `wide`
 * (tiles of x) and `parts` (tiles of W per step) are constant.
 */
CPU_INLINE void multiply_steps(const struct steps *steps, const size_t wide, const size_t parts, const char *sums)
{
    const char *w0 = (const char *)steps->w0, *x = (const char *)steps->x, *next = steps->next;
    const size_t to_w1 = (size_t)((const char *)steps->w1 - w0), to_x1 = steps->x_stride * sizeof(*steps->x);
    for (const char *end = x + steps->count * TILE_BYTES; x != end; x += TILE_BYTES) {
        prefetch_step(sums, next);
        sums += SUMS_PREFETCH;
        next += X_PREFETCH;
        tile_load(6, x, LINE);
        if (wide == 2)
            tile_load(7, x + to_x1, LINE);
        CPU_UNROLL
        for (size_t p = 0; p < parts; p++, w0 += TILE_BYTES) {
            tile_load(4, w0, LINE);
            tile_load(5, w0 + to_w1, LINE);
            tile_dot16(0, 4, 6);
            tile_dot16(2, 5, 6);
            if (wide == 2) {
                tile_dot16(1, 4, 7);
                tile_dot16(3, 5, 7);
            }
        }
    }
}

/* Adds the products of a chunk to the sums of earlier chunks, or to zero for the first. */
CPU_INLINE void multiply_square(const struct steps *steps, const size_t wide, const size_t parts, int first,
                                sum_square *sums)
{
    if (first) {
        tile_zero(0);
        tile_zero(1);
        tile_zero(2);
        tile_zero(3);
    } else {
        tile_load(0, sums[0][0][0], LINE);
        tile_load(2, sums[0][1][0], LINE);
        if (wide == 2) {
            tile_load(1, sums[0][0][1], LINE);
            tile_load(3, sums[0][1][1], LINE);
        }
    }
    multiply_steps(steps, wide, parts, (const char *)(sums + 1));
    tile_store(0, sums[0][0][0], LINE);
    tile_store(2, sums[0][1][0], LINE);
    if (wide == 2) {
        tile_store(1, sums[0][0][1], LINE);
        tile_store(3, sums[0][1][1], LINE);
    }
}

/* Multiplies all rows of x of a block with one panel. */
CPU_INLINE void accumulate(const struct block *block, const struct panel *panel, size_t at, size_t count,
                           const size_t parts, sum_square (*sums)[W_TILES / 2])
{
    const size_t row = cpu_act_bf16_row(block->call->k), tiles = tiles_of(block->rows);
    struct steps steps = {.x_stride = TILE_ROWS * row, .count = (count + STEP - 1) / STEP};
    for (size_t u = 0; u < tiles; u += 2, sums++) {
        steps.x = block->call->act_bf16 + (block->i + u * TILE_ROWS) * row + at * TILE_ROWS;
        for (size_t t = 0; t < tiles_of(block->count); t += 2) {
            steps.next = (const char *)(steps.x + (2 + t / (W_TILES / 2)) * steps.x_stride) +
                         t % (W_TILES / 2) / 2 * STEPS * X_PREFETCH;
            steps.w0 = panel->tile[t];
            steps.w1 = panel->tile[t + 1];
            if (u + 1 < tiles)
                multiply_square(&steps, 2, parts, at == 0, *sums + t / 2);
            else
                multiply_square(&steps, 1, parts, at == 0, *sums + t / 2);
        }
    }
}

/* Transposes the sums of 16 rows of x, and stores their results. */
static void finish(const struct block *block, size_t u, sum_square (*sums)[W_TILES / 2])
{
    float transposed[TILE_ROWS][ROWS_MOST];
    for (size_t t = 0; t < tiles_of(block->count); t++) {
        const void *rows[TILE_ROWS];
        for (size_t r = 0; r < TILE_ROWS; r++)
            rows[r] = sums[u / 2][t / 2][t % 2][u % 2][r];
        CPU_UNROLL
        for (size_t r = 0; r < TILE_ROWS; r += 8) {
            transpose8(rows + r, 0, transposed[0] + t * TILE_ROWS + r, ROWS_MOST);
            transpose8(rows + r, 8, transposed[8] + t * TILE_ROWS + r, ROWS_MOST);
        }
    }
    for (size_t r = 0; r < least(TILE_ROWS, block->rows - u * TILE_ROWS); r++)
        finish_row(block->call, block->i + u * TILE_ROWS + r, block->j, block->count, transposed[r]);
}

static void multiply(const struct decoder16 *type, const struct block *block)
{
    const size_t k = block->call->k, chunk = CHUNK / type->parts;
    _Alignas(LINE) sum_square sums[X_TILES / 2][W_TILES / 2];
    _Alignas(LINE) struct panel panel;
    for (size_t at = 0; at < k; at += chunk) {
        const size_t count = least(chunk, k - at);
        (block->call->w.packed == NULL ? fill_rows : fill_panels)(type, block, at, count, &panel);
        if (type->parts == 1)
            accumulate(block, &panel, at, count, 1, sums);
        else
            accumulate(block, &panel, at, count, 2, sums);
    }
    for (size_t u = 0; u < tiles_of(block->rows); u++)
        finish(block, u, sums);
}

static void matmul16(decode16_fn *decode, size_t parts, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const struct decoder16 type = {decode, parts};
    tiles_begin(&tiles_whole);
    for (size_t i = 0; i < call->m; i += X_ROWS) {
        for (size_t j = begin; j < end; j += ROWS_MOST) {
            const struct block block = {call, j, least(ROWS_MOST, end - j), i, least(X_ROWS, call->m - i)};
            multiply(&type, &block);
        }
    }
    tiles_end();
}

/* The decoder of a type, and its matmul. */
#define MATMUL16(name, parts, decoder)                                                                                 \
    static void decode16_##name(const struct cpu_matrix *w, size_t j, size_t at, size_t count, weight_tile *out,       \
                                size_t r)                                                                              \
    {                                                                                                                  \
        decoder;                                                                                                       \
    }                                                                                                                  \
    void cpu_gemm16_##name##_amx(const struct cpu_matmul *call, size_t begin, size_t end)                              \
    {                                                                                                                  \
        matmul16(decode16_##name, parts, call, begin, end);                                                            \
    }

#define MATMUL16_HALF(name, type) MATMUL16(name, (type) == ACCEL_F16 ? 2 : 1, decode_##name(w, j, at, count, out, r))
#define MATMUL16_PLAIN(name, type) MATMUL16(name, 1, decode_block32(block32_##name, w, j, at, count, out, r))
#define MATMUL16_UNPACKED(name, type) MATMUL16(name, 1, decode_traits(traits_##name, w, j, at, count, out, r))
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    CPU_CODE_##code(CPU_NOTHING, MATMUL16_HALF, CPU_NOTHING, MATMUL16_PLAIN, MATMUL16_UNPACKED, name, ACCEL_##ID)
#include <accel/quant/formats.def>
#define MATMUL16_OWN(ID, name) MATMUL16_PLAIN(name, ACCEL_##ID)
CPU_PLANAR_OWN(MATMUL16_OWN)
MATMUL16_UNPACKED(planar, )
MATMUL16_UNPACKED(planar_a, )
MATMUL16(codebook, 1, decode_codebook16(w, j, at, count, out, r))

void cpu_round16_amx(const float *x, size_t stride, size_t rows, size_t k, uint16_t *out, size_t begin, size_t end)
{
    simd_round_tiles(TILE_ROWS, SIZE_MAX, x, stride, rows, k, out, begin, end);
}

void cpu_fill_amx(struct cpu_kernels *table)
{
#define CPU_KERNEL(type, slot, name)
#define CPU_KERNEL16(type, slot, name) table->slot = cpu_##name##_amx;
#include "plugins/cpu/kernels/kernels.def"
}
