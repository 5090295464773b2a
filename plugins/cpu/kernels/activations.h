/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations in the forms that the CPU's matmuls read beside plain rows of F32: rounded to 8 bits, arranged in F32,
 * rounded to BF16. Memory for them is the caller's.
 */
#ifndef CPU_KERNELS_ACTIVATIONS_H
#define CPU_KERNELS_ACTIVATIONS_H

#include <stddef.h>
#include <stdint.h>

/* ---- rounded to 8 bits ---- */

/* Values that share a scale when activations are rounded to 8 bits. */
#define CPU_BLOCK 32u

#define CPU_TILE_ROWS 4u
#define CPU_TILE_FROM 2u /* fewest rows of x of which tiles are made */

/* A block of CPU_TILE_ROWS rounded rows, as the matmuls of many rows read it: in one stream, four digits at a time. */
struct cpu_tile {
    int8_t q[8][CPU_TILE_ROWS][4];      /* q[c][r]: digits 4c .. 4c + 3 of row r */
    int16_t minus[3][CPU_TILE_ROWS][2]; /* minus the sums of digits 4c and 4c + 1, and of 4c + 2 and 4c + 3: of the
                                           whole block, of its first 16, of its last 16 */
    float scale[CPU_TILE_ROWS];
    float sum[3][CPU_TILE_ROWS]; /* scale times the sum of the digits: whole, first 16, last 16 */
};

/* Activations [m, k] rounded to 8 bits, k a multiple of CPU_BLOCK; q [m, k], scale and sum [m, k / CPU_BLOCK].
 * A block stands for scale * q[i]; sum is scale times the sum of its q, which formats with an offset need.
 * tiles say the same once more, where cpu_tile_of has them; NULL: not made. */
struct cpu_rows8 {
    int8_t *q;
    float *scale;
    float *sum;
    struct cpu_tile *tiles;
    size_t rows; /* m; matters where there are tiles: the last of them is filled up with zeros */
};

#define CPU_TILE_BLOCKS 16u /* of each row of tiles that lie together */

/* Tiles of a row of tiles that follow the one of block b, it included, without another's between. */
static inline size_t cpu_tiles_together(size_t blocks, size_t b)
{
    const size_t first = b / CPU_TILE_BLOCKS * CPU_TILE_BLOCKS;
    return (blocks - first < CPU_TILE_BLOCKS ? blocks : first + CPU_TILE_BLOCKS) - b;
}

/*
 * The tile of block b, of `blocks` in a row, of rows CPU_TILE_ROWS t and on: [runs of CPU_TILE_BLOCKS blocks, m /
 * CPU_TILE_ROWS rounded up, blocks of the run]. A panel of weights that is as many blocks long meets all rows of x in
 * the order in which they lie, which the processor's own prefetch follows (over rows that lie apart: a tenth slower).
 */
static inline struct cpu_tile *cpu_tile_of(const struct cpu_rows8 *rows, size_t blocks, size_t t, size_t b)
{
    const size_t first = b / CPU_TILE_BLOCKS * CPU_TILE_BLOCKS, count = b - first + cpu_tiles_together(blocks, b);
    return rows->tiles + first * ((rows->rows + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS) + t * count + (b - first);
}

/* Bytes of the arrays for m rows of k values, and the arrays in that much memory; tiles from CPU_TILE_FROM rows on. */
size_t cpu_rows8_bytes(size_t m, size_t k);
void cpu_rows8_place(void *memory, size_t m, size_t k, struct cpu_rows8 *out_rows);

/* Rounds rows begin .. end of x [m, k] to nearest, scale = max / 127. */
typedef void cpu_quantize_fn(const float *x, size_t stride, size_t k, const struct cpu_rows8 *out, size_t begin,
                             size_t end);

/* ---- arranged in F32 ---- */

/* Rows of x in F32 from which on matmul wants them arranged: for fewer it reads them as they lie. */
#define CPU_ROWS32_FROM 6u

/* The same where weights are F16 or BF16, which come as they are to three rows at a time, from memory for the first. */
#define CPU_HALVES32_FROM 10u

/* A unit in which rows are arranged. */
#define CPU_ROWS32 12u

/* Bytes that m rows of k values take when they are arranged, as each level's matmul of many rows reads them. */
size_t cpu_rows32_bytes(size_t m, size_t k);

/* Arranges rows begin .. end of x [rows, k]; `begin` is a multiple of CPU_ROWS32, and so is `end` or it is `rows`. */
typedef void cpu_arrange_fn(const float *x, size_t stride, size_t rows, size_t k, float *out, size_t begin, size_t end);

/* ---- rounded to BF16 ---- */

/* Rows of x in BF16 begin at multiples of so many elements, and are there in multiples of so many. */
#define CPU_ROWS16 32u

/* Rows of x from which on products of BF16 are faster with quantized weights, where a level has them. */
#define CPU_ROWS16_FROM 24u

/* Elements of a row of k values in BF16, and bytes of m rows. */
static inline size_t cpu_row16(size_t k)
{
    return (k + CPU_ROWS16 - 1) / CPU_ROWS16 * CPU_ROWS16;
}

static inline size_t cpu_rows16_bytes(size_t m, size_t k)
{
    return cpu_row16(m) * cpu_row16(k) * sizeof(uint16_t);
}

/* Rounds rows begin .. end of x [m, k] to the nearest BF16, zeros after each row, in the order in which the level's
 * matmul16 reads them; `begin` is a multiple of CPU_ROWS16, and so is `end` or it is m. Rows from m on may hold
 * anything.
 */
typedef void cpu_round16_fn(const float *x, size_t stride, size_t k, uint16_t *out, size_t begin, size_t end);

#endif
