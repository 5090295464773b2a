/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where activations lie that were brought into another form, in one piece of memory. Rounded to 8 bits: tiles, scales,
 * sums, digits. In F32: tiles of rows, of one level's height, which divides CPU_ROWS32.
 */
#include "config.h"

#include "activations.h"

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

size_t cpu_rows32_bytes(size_t m, size_t k)
{
    return (m + CPU_ROWS32 - 1) / CPU_ROWS32 * CPU_ROWS32 * k * sizeof(float);
}
