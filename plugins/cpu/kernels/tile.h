/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the kernels: how a rounded block of one row goes into its tile. */
#ifndef CPU_KERNELS_TILE_H
#define CPU_KERNELS_TILE_H

#include "kernels.h"

#include <string.h>

/* Minus the sums of digits 0 and 1, and of 2 and 3, of every four in `half` (0 or 1) of a block. */
static inline void tile_minus(const int8_t *q, size_t half, int16_t out[2])
{
    int sums[2] = {0, 0};
    for (size_t i = 16 * half; i < 16 * half + 16; i++)
        sums[i / 2 % 2] -= q[i];
    out[0] = (int16_t)sums[0];
    out[1] = (int16_t)sums[1];
}

/* Block b of row r, of which there are `blocks`, from the arrays of rows to the tiles. */
static inline void tile_put(const struct cpu_rows8 *rows, size_t r, size_t b, size_t blocks)
{
    const size_t lane = r % CPU_TILE_ROWS;
    const float scale = rows->scale[r * blocks + b];
    const int8_t *q = rows->q + (r * blocks + b) * CPU_BLOCK;
    struct cpu_tile *tile = &rows->tiles[r / CPU_TILE_ROWS * blocks + b];
    for (size_t c = 0; c < 8; c++)
        memcpy(tile->q[c][lane], q + 4 * c, 4);
    tile_minus(q, 0, tile->minus[1][lane]);
    tile_minus(q, 1, tile->minus[2][lane]);
    for (size_t i = 0; i < 2; i++)
        tile->minus[0][lane][i] = (int16_t)(tile->minus[1][lane][i] + tile->minus[2][lane][i]);
    for (size_t i = 0; i < 3; i++)
        tile->sum[i][lane] = scale * (float)-(tile->minus[i][lane][0] + tile->minus[i][lane][1]);
    tile->scale[lane] = scale;
}

/* All blocks of row r; after the last row zeros fill up its tile. */
static inline void tile_put_row(const struct cpu_rows8 *rows, size_t r, size_t blocks)
{
    if (rows->tiles == NULL)
        return;
    const size_t lanes = r % CPU_TILE_ROWS + 1;
    struct cpu_tile *tiles = rows->tiles + r / CPU_TILE_ROWS * blocks;
    for (size_t b = 0; b < blocks; b++) {
        tile_put(rows, r, b, blocks);
        for (size_t lane = lanes; r + 1 == rows->rows && lane < CPU_TILE_ROWS; lane++) {
            for (size_t c = 0; c < 8; c++)
                memset(tiles[b].q[c][lane], 0, 4);
            for (size_t i = 0; i < 3; i++) {
                memset(tiles[b].minus[i][lane], 0, 4);
                tiles[b].sum[i][lane] = 0;
            }
            tiles[b].scale[lane] = 0;
        }
    }
}

#endif
