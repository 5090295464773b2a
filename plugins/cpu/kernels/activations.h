/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staged activations, which matmuls read instead of plain F32 rows: act_q8 (rounded to 8 bits), act_f32 (tiles of F32),
 * act_bf16 (rounded to BF16). The caller owns their memory.
 */
#ifndef CPU_KERNELS_ACTIVATIONS_H
#define CPU_KERNELS_ACTIVATIONS_H

#include <stddef.h>
#include <stdint.h>

/* ---- act_q8 ---- */

/* Values of a block of act_q8, which share a scale. */
#define CPU_BLOCK 32u

#define CPU_TILE_ROWS 4u
#define CPU_TILE_FROM 2u /* rows of x from which on tiles are made */

/* Rows of x from which on they are rounded with one scale each, if that is allowed: with fewer, weights have to come
 * from memory, and integer sums over more than a block save no time. */
#define CPU_ACT_Q8_ROW_FROM 17u

/* The negated sum of codes of a row, which corrects zero points of weights, as the ISA adds it to its sums. */
union cpu_tile_sum {
    int16_t minus[2]; /* sums in 16 bits: of codes 4c and 4c + 1, and of 4c + 2 and 4c + 3 */
    int32_t minus8;   /* AVX-512: 8 times the whole sum, the initial value of sums for the zero point 8 */
};

/* A block of CPU_TILE_ROWS rounded rows, interleaved by 4 codes, which GEMM reads as one stream. */
struct cpu_tile {
    int8_t q[8][CPU_TILE_ROWS][4];              /* q[c][r]: codes 4c .. 4c + 3 of row r */
    union cpu_tile_sum minus[3][CPU_TILE_ROWS]; /* of the whole block, of its first 16, of its last 16 */
    float scale[CPU_TILE_ROWS];
    float sum[3][CPU_TILE_ROWS]; /* scale * sum of codes: whole, first 16, last 16 */
};

/* Activations [m, k] rounded to 8 bits, k a multiple of CPU_BLOCK; q [m, k], scale and sum [m, k / CPU_BLOCK]. A value
 * is scale * q[i]; sum is scale * sum of q, which corrects zero points and minima. `tiles` hold the same codes
 * interleaved (cpu_tile_of); NULL: not made. */
struct cpu_act_q8 {
    int8_t *q;
    float *scale;
    float *sum;
    struct cpu_tile *tiles;
    size_t rows; /* m; the last tile is padded with zeros */
};

#define CPU_TILE_BLOCKS 16u /* of a row of tiles that are adjacent in memory */

/* Returns the number of tiles from block b on, itself included, that are adjacent in memory. */
static inline size_t cpu_tiles_together(size_t blocks, size_t b)
{
    const size_t first = b / CPU_TILE_BLOCKS * CPU_TILE_BLOCKS;
    return (blocks - first < CPU_TILE_BLOCKS ? blocks : first + CPU_TILE_BLOCKS) - b;
}

/*
 * Returns the tile of block b of `blocks` for rows CPU_TILE_ROWS t and on. Order: [spans of CPU_TILE_BLOCKS blocks, m /
 * CPU_TILE_ROWS rounded up, blocks of the span]. A panel of as many blocks reads the tiles of all rows sequentially,
 * which the hardware prefetcher follows (rows far apart: 10 % slower).
 */
static inline struct cpu_tile *cpu_tile_of(const struct cpu_act_q8 *rows, size_t blocks, size_t t, size_t b)
{
    const size_t first = b / CPU_TILE_BLOCKS * CPU_TILE_BLOCKS, count = b - first + cpu_tiles_together(blocks, b);
    return rows->tiles + first * ((rows->rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS) + t * count + (b - first);
}

/* Bytes of act_q8 for m rows of k values, and its arrays in that memory; tiles from CPU_TILE_FROM rows on. */
size_t cpu_act_q8_bytes(size_t m, size_t k);
void cpu_act_q8_map(void *memory, size_t m, size_t k, struct cpu_act_q8 *out_rows);

/* Rounds rows begin .. end of x [m, k] to nearest, scale = max / 127: of each block (quantize), or of the whole row
 * (quantize_rows), which all of its blocks get. */
typedef void cpu_quantize_fn(const float *x, size_t stride, size_t k, const struct cpu_act_q8 *out, size_t begin,
                             size_t end);

/* ---- act_f32 ---- */

/* Rows of x from which on matmul stages act_f32, more with weights in F16 and BF16 (products.c); fewer rows are read in
 * place. */
#define CPU_ACT_F32_FROM 6u

/* Rows are staged in multiples of this. */
#define CPU_ACT_F32_ROWS 12u

/* Bytes of act_f32 for m rows of k values, as the GEMM of each ISA reads them. */
size_t cpu_act_f32_bytes(size_t m, size_t k);

/* Arranges rows begin .. end of x [rows, k]; `begin` is a multiple of CPU_ACT_F32_ROWS, and so is `end` or it is
 * `rows`. */
typedef void cpu_arrange_fn(const float *x, size_t stride, size_t rows, size_t k, float *out, size_t begin, size_t end);

/* ---- act_bf16 ---- */

/* Row stride and row count of act_bf16 are multiples of this. */
#define CPU_ACT_BF16_ROWS 32u

/* Rows of x from which on matmul stages act_bf16 on ISAs with BF16 products: CPU_ACT_BF16_FROM with quantized weights,
 * CPU_ACT_BF16_FROM_HALF with F16 and BF16. */
#define CPU_ACT_BF16_FROM 24u
#define CPU_ACT_BF16_FROM_HALF 10u

/* Elements of a row of k values in act_bf16, and bytes of m rows. */
static inline size_t cpu_act_bf16_row(size_t k)
{
    return (k + CPU_ACT_BF16_ROWS - 1) / CPU_ACT_BF16_ROWS * CPU_ACT_BF16_ROWS;
}

static inline size_t cpu_act_bf16_bytes(size_t m, size_t k)
{
    return cpu_act_bf16_row(m) * cpu_act_bf16_row(k) * sizeof(uint16_t);
}

/* Rounds rows begin .. end of x [rows, k] to the nearest BF16, padded with zeros, in the order that the ISA's GEMM
 * reads. `begin` is a multiple of CPU_ACT_BF16_ROWS, and so is `end` or it is `rows`. Later rows are undefined. */
typedef void cpu_round16_fn(const float *x, size_t stride, size_t rows, size_t k, uint16_t *out, size_t begin,
                            size_t end);

#endif
