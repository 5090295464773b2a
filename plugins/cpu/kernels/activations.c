/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory layout of staged activations, each in one allocation. act_q8: tiles, codes, scales, sums: kernels may
 * read a block past the last code. act_f32: tiles of the ISA's height, which divides CPU_ACT_F32_ROWS.
 */
#include "config.h"

#include "activations.h"

static size_t tiles_of(size_t m, size_t k)
{
    return m < CPU_TILE_FROM ? 0 : (m + CPU_TILE_ROWS - 1) / CPU_TILE_ROWS * (k / CPU_BLOCK);
}

size_t cpu_act_q8_bytes(size_t m, size_t k)
{
    return tiles_of(m, k) * sizeof(struct cpu_tile) + m * (k / CPU_BLOCK) * 2 * sizeof(float) + m * k;
}

void cpu_act_q8_map(void *memory, size_t m, size_t k, struct cpu_act_q8 *out_rows)
{
    const size_t tiles = tiles_of(m, k);

    out_rows->tiles = tiles == 0 ? NULL : memory;
    out_rows->rows = m;
    out_rows->q = (int8_t *)((struct cpu_tile *)memory + tiles);
    out_rows->scale = (float *)(void *)(out_rows->q + m * k);
    out_rows->sum = out_rows->scale + m * (k / CPU_BLOCK);
}

size_t cpu_act_f32_bytes(size_t m, size_t k)
{
    return (m + CPU_ACT_F32_ROWS - 1) / CPU_ACT_F32_ROWS * CPU_ACT_F32_ROWS * k * sizeof(float);
}
