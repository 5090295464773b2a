/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the kernels: padding of the last tile of act_q8, for every ISA. */
#ifndef CPU_KERNELS_TILE_H
#define CPU_KERNELS_TILE_H

#include "activations.h"

#include <string.h>

/* Pads the last tile with zeros after the last row. */
static inline void tile_end_row(const struct cpu_act_q8 *rows, size_t r, size_t blocks)
{
    if (rows->tiles == NULL || r + 1 != rows->rows)
        return;
    for (size_t b = 0; b < blocks; b++) {
        struct cpu_tile *tile = cpu_tile_of(rows, blocks, r / CPU_TILE_ROWS, b);
        for (size_t lane = r % CPU_TILE_ROWS + 1; lane < CPU_TILE_ROWS; lane++) {
            for (size_t c = 0; c < 8; c++)
                memset(tile->q[c][lane], 0, 4);
            for (size_t i = 0; i < 3; i++) {
                memset(&tile->minus[i][lane], 0, sizeof(tile->minus[i][lane]));
                tile->sum[i][lane] = 0;
            }
            tile->scale[lane] = 0;
        }
    }
}

#endif
