/* SPDX-License-Identifier: Apache-2.0 */
/* Where the arrays of rounded activations lie in one piece of memory: tiles, scales, sums, digits. */
#include "config.h"

#include "kernels.h"

static size_t tiles_of(size_t m, size_t k)
{
    return m < CPU_TILE_FROM ? 0 : (m + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS * (k / CPU_BLOCK);
}

size_t cpu_rows8_bytes(size_t m, size_t k)
{
    return tiles_of(m, k) * sizeof(struct cpu_tile) + m * (k / CPU_BLOCK) * 2 * sizeof(float) + m * k;
}

void cpu_rows8_place(void *memory, size_t m, size_t k, struct cpu_rows8 *out_rows)
{
    const size_t tiles = tiles_of(m, k);

    out_rows->tiles = tiles == 0 ? NULL : memory;
    out_rows->rows = m;
    out_rows->scale = (float *)((struct cpu_tile *)memory + tiles);
    out_rows->sum = out_rows->scale + m * (k / CPU_BLOCK);
    out_rows->q = (int8_t *)(out_rows->sum + m * (k / CPU_BLOCK));
}
