/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8-bit GEMM cores, AVX-512 with VNNI: 16 rows of W (a lane each) with 4 rows of x, the halves of a block in separate
 * sums, for eight independent chains of additions. One instruction multiplies and adds 4 codes of 16 rows in 32 bits,
 * whatever their width. Bound: operations. Measured: doc/benchmark.md, GEMM cores.
 */
#include "plugins/cpu/kernels/vector/gemm_core.h"

#define ROWS CPU_TILE_ROWS

/* Sums products of both halves of a block for every row of x; `center` is the zero point. */
CPU_INLINE void products(const int center, const uint8_t *codes, const struct cpu_tile *x, __m512i acc[ROWS][2])
{
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++) {
        CPU_UNROLL
        for (size_t h = 0; h < 2; h++)
            acc[r][h] = center ? _mm512_madd_epi16(broadcast4(x->minus[1 + h][r]), _mm512_set1_epi16((int16_t)center))
                               : _mm512_setzero_si512();
    }
    CPU_UNROLL
    for (size_t c = 0; c < 4; c++) {
        const __m512i low = _mm512_loadu_si512(codes + c * WORD_BYTES);
        const __m512i high = _mm512_loadu_si512(codes + (c + 4) * WORD_BYTES);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            acc[r][0] = _mm512_dpbusd_epi32(acc[r][0], low, broadcast4(x->q[c][r]));
            acc[r][1] = _mm512_dpbusd_epi32(acc[r][1], high, broadcast4(x->q[c + 4][r]));
        }
    }
}

/* A scale per 32 codes. */
CPU_INLINE void core_narrow(const int center, const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                            float (*sums)[PANEL_ROWS])
{
    __m512 total[ROWS];
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++)
        total[r] = _mm512_loadu_ps(sums[r]);
    for (size_t b = 0; b < count; b++) {
        const __m512 d = _mm512_loadu_ps(panel->d[b]);
        __m512i acc[ROWS][2];
        products(center, panel->codes + b * BLOCK_BYTES, x + b, acc);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            const __m512 dot = _mm512_cvtepi32_ps(_mm512_add_epi32(acc[r][0], acc[r][1]));
            total[r] = _mm512_fmadd_ps(_mm512_mul_ps(dot, _mm512_set1_ps(x[b].scale[r])), d, total[r]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++)
        _mm512_storeu_ps(sums[r], total[r]);
}

/* An integer scale per 32 codes, or two, and a scale per 256. */
CPU_INLINE void super_block(const int center, const int fine, const struct gemm_panel *panel, size_t b,
                            const struct cpu_tile *x, __m512 part[ROWS])
{
    const __m512 first = _mm512_loadu_ps(panel->factor[b][0]), last = _mm512_loadu_ps(panel->factor[b][1]);
    __m512i acc[ROWS][2];
    products(center, panel->codes + b * BLOCK_BYTES, x, acc);
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++) {
        __m512 dot;
        if (fine)
            dot = _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[r][0]), first,
                                  _mm512_mul_ps(_mm512_cvtepi32_ps(acc[r][1]), last));
        else
            dot = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(acc[r][0], acc[r][1])), first);
        part[r] = _mm512_fmadd_ps(dot, _mm512_set1_ps(x->scale[r]), part[r]);
    }
}

CPU_INLINE void core_super(const int center, const int fine, const struct gemm_panel *panel, const struct cpu_tile *x,
                           size_t count, float (*sums)[PANEL_ROWS])
{
    for (size_t at = 0; at < count; at += 8) {
        const __m512 d = _mm512_loadu_ps(panel->d[at / 8]);
        __m512 part[ROWS];
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++)
            part[r] = _mm512_setzero_ps();
        for (size_t b = at; b < at + 8; b++)
            super_block(center, fine, panel, b, x + b, part);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++)
            _mm512_storeu_ps(sums[r], _mm512_fmadd_ps(part[r], d, _mm512_loadu_ps(sums[r])));
    }
}

#include "plugins/cpu/kernels/vector/core_list.h"

CORE(core_wide, core_narrow(128, panel, x, count, sums))
