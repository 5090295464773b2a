/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the 8-bit GEMM: instantiates the cores that gemm_core.h declares from functions of the ISA that includes
 * this, for codes with zero point `center`:
 *     core_narrow(center, panel, x, count, sums)         a scale per 32 codes
 *     core_super(center, scales, panel, x, count, sums)  `scales` integer scales per 32 codes, and a scale per 256
 * core_wide is the ISA's own.
 */
#ifndef CPU_VECTOR_CORE_LIST_H
#define CPU_VECTOR_CORE_LIST_H

#include "gemm_core.h"

#define MINIMA_VECTORS (PANEL_ROWS / VN)

/* Adds m times the sums of x, of blocks or of both halves. */
CPU_INLINE void minima(const size_t halves, const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                       float (*sums)[PANEL_ROWS])
{
    vf acc[CPU_TILE_ROWS][MINIMA_VECTORS];
    CPU_UNROLL
    for (size_t i = 0; i < CPU_TILE_ROWS * MINIMA_VECTORS; i++)
        acc[i / MINIMA_VECTORS][i % MINIMA_VECTORS] = v_load(sums[i / MINIMA_VECTORS] + i % MINIMA_VECTORS * VN);
    for (size_t b = 0; b < count; b++) {
        CPU_UNROLL
        for (size_t i = 0; i < halves; i++) {
            const float *sum = x[b].sum[halves == 1 ? 0 : 1 + i];
            CPU_UNROLL
            for (size_t v = 0; v < MINIMA_VECTORS; v++) {
                const vf m = v_load(panel->m[b][i] + v * VN);
                CPU_UNROLL
                for (size_t r = 0; r < CPU_TILE_ROWS; r++)
                    acc[r][v] = v_fma(m, v_set(sum[r]), acc[r][v]);
            }
        }
    }
    CPU_UNROLL
    for (size_t i = 0; i < CPU_TILE_ROWS * MINIMA_VECTORS; i++)
        v_store(sums[i / MINIMA_VECTORS] + i % MINIMA_VECTORS * VN, acc[i / MINIMA_VECTORS][i % MINIMA_VECTORS]);
}

#define CORE(name, body)                                                                                               \
    void CPU_NAME(name)(const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,                        \
                        float(*sums)[PANEL_ROWS])                                                                      \
    {                                                                                                                  \
        body;                                                                                                          \
    }

CORE(core_narrow0, core_narrow(0, panel, x, count, sums))
CORE(core_narrow8, core_narrow(8, panel, x, count, sums))
CORE(core_narrow16, core_narrow(16, panel, x, count, sums))
CORE(core_super0, core_super(0, 1, panel, x, count, sums))
CORE(core_super16, core_super(16, 1, panel, x, count, sums))
CORE(core_fine0, core_super(0, is_folded(ACCEL_Q2_K) ? 0 : 2, panel, x, count, sums))
CORE(core_fine4, core_super(4, 2, panel, x, count, sums))
CORE(core_fine32, core_super(32, 2, panel, x, count, sums))
CORE(minima_block, minima(1, panel, x, count, sums))
CORE(minima_half, minima(2, panel, x, count, sums))

#endif
