/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8-bit GEMM cores, AVX2 with VNNI: multiply 16 rows of W (two vectors of 8) with 4 rows of x. One VPDPBUSD multiplies
 * 4 codes of 8 rows with 4 of x and adds them in 32 bits, which cannot overflow for codes up to 8 bits. Bound:
 * operations; 8 accumulators, 2 vectors of W and a broadcast fit the 16 registers. Measured: doc/benchmark.md, GEMM
 * cores.
 */
#include "plugins/cpu/kernels/vector/gemm_core.h"

#define ROWS CPU_TILE_ROWS

/* Multiplies words from .. from + steps (4 codes each) of a block with x. The accumulators start at minus the zero
 * point `center` times the sum of x that is entry `part` of the tile. */
CPU_INLINE void multiply_words(const int center, const uint8_t *codes, const struct cpu_tile *x, size_t part,
                               const size_t from, const size_t steps, __m256i acc[ROWS][2])
{
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++)
        acc[r][0] = acc[r][1] =
            center ? _mm256_madd_epi16(broadcast4(x->minus[part][r]), _mm256_set1_epi16((int16_t)center))
                   : _mm256_setzero_si256();
    CPU_UNROLL
    for (size_t c = from; c < from + steps; c++) {
        const __m256i w0 = load_256(codes + c * WORD_BYTES), w1 = load_256(codes + c * WORD_BYTES + 32);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            const __m256i q = broadcast4(x->q[c][r]);
            acc[r][0] = _mm256_dpbusd_avx_epi32(acc[r][0], w0, q);
            acc[r][1] = _mm256_dpbusd_avx_epi32(acc[r][1], w1, q);
        }
    }
}

/* Accumulates types with a scale per 32 codes. */
CPU_INLINE void core_narrow(const int center, const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                            float (*sums)[PANEL_ROWS])
{
    for (size_t b = 0; b < count; b++) {
        __m256i acc[ROWS][2];
        multiply_words(center, panel->codes + b * BLOCK_BYTES, x + b, 0, 0, 8, acc);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++)
            add_scaled(acc[r], _mm256_broadcast_ss(&x[b].scale[r]), panel->d[b], sums[r]);
    }
}

/* Accumulates types with a scale per 256 codes and an integer scale per 32, or per 16 (`fine`). */
CPU_INLINE void core_super(const int center, const int fine, const struct gemm_panel *panel, const struct cpu_tile *x,
                           size_t count, float (*sums)[PANEL_ROWS])
{
    for (size_t at = 0; at < count; at += 8) {
        float part[ROWS][PANEL_ROWS] = {{0}};
        for (size_t b = at; b < at + 8; b++) {
            const uint8_t *codes = panel->codes + b * BLOCK_BYTES;
            const size_t parts = fine ? 2 : 1;
            for (size_t h = 0; h < parts; h++) {
                __m256i acc[ROWS][2];
                multiply_words(center, codes, x + b, fine ? 1 + h : 0, 4 * h, fine ? 4 : 8, acc);
                CPU_UNROLL
                for (size_t r = 0; r < ROWS; r++)
                    add_scaled(acc[r], _mm256_broadcast_ss(&x[b].scale[r]), panel->factor[b][h], part[r]);
            }
        }
        for (size_t r = 0; r < ROWS; r++) {
            CPU_UNROLL
            for (size_t i = 0; i < PANEL_ROWS; i += 8) {
                const __m256 d = _mm256_loadu_ps(panel->d[at / 8] + i), sum = _mm256_loadu_ps(part[r] + i);
                _mm256_storeu_ps(sums[r] + i, _mm256_fmadd_ps(sum, d, _mm256_loadu_ps(sums[r] + i)));
            }
        }
    }
}

#include "plugins/cpu/kernels/vector/core_list.h"

CORE(core_wide, core_narrow(128, panel, x, count, sums))
