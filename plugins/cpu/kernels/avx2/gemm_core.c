/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cores of the 8-bit matmul of many rows, AVX2: 16 rows of W (two vectors of four digits of 8 rows) with 4 of x.
 * Bound: operations. Digits of up to 6 bits take one multiplication (maddubs) and one addition of 16 bits for 32
 * products; widening, once for 32 or 16 digits, multiplies by the factor at the same time. Digits of 8 bits take sign,
 * maddubs, madd and an addition of 32 bits; multiplying in 16 bits, or two halves of 4 bits, was no faster.
 *
 * Measured on a shared Zen 3 server (least of 20000 short runs), Gmac/s of a core with everything in the first cache:
 * 115 to 132 up to 5 bits, 111 to 121 with factors for 16, of 165 that maddubs and addition reach alone (the
 * multiplications alone: 205); 69 for 8 bits, of 83 for its four instructions alone.
 */
#include "plugins/cpu/kernels/vector/gemm_core.h"

#define ROWS CPU_TILE_ROWS

/* Keeps the order in which products are added: the compiler would hold them all, in memory. */
CPU_INLINE void keep(__m256i acc[ROWS][2], size_t r)
{
    __asm__ volatile("" : "+x"(acc[r][0]), "+x"(acc[r][1]));
}

/* 16-bit sums of `steps` runs; sum `part` of the tile takes the center, a power of two, back. */
CPU_INLINE void products(const int center, const uint8_t *digits, const struct cpu_tile *x, size_t part, size_t from,
                         const size_t steps, __m256i acc[ROWS][2])
{
    if (center) {
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++)
            acc[r][0] = acc[r][1] = _mm256_slli_epi16(broadcast4(x->minus[part][r]), __builtin_ctz((unsigned)center));
    }
    CPU_UNROLL
    for (size_t c = from; c < from + steps; c++) {
        const __m256i w0 = load_run(digits + c * RUN_BYTES), w1 = load_run(digits + c * RUN_BYTES + 32);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            const __m256i four = broadcast4(x->q[c][r]);
            const __m256i p0 = _mm256_maddubs_epi16(w0, four), p1 = _mm256_maddubs_epi16(w1, four);
            acc[r][0] = c == from && !center ? p0 : _mm256_add_epi16(acc[r][0], p0);
            acc[r][1] = c == from && !center ? p1 : _mm256_add_epi16(acc[r][1], p1);
            keep(acc, r);
        }
    }
}

CPU_INLINE void core_narrow(const int center, const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                            float (*sums)[PANEL_ROWS])
{
    const __m256i ones = _mm256_set1_epi16(1);
    for (size_t b = 0; b < count; b++) {
        __m256i acc[ROWS][2];
        products(center, panel->digits + b * BLOCK_BYTES, x + b, 0, 0, 8, acc);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            const __m256i dot[2] = {_mm256_madd_epi16(acc[r][0], ones), _mm256_madd_epi16(acc[r][1], ones)};
            add_scaled(dot, _mm256_broadcast_ss(&x[b].scale[r]), panel->d[b], sums[r]);
        }
    }
}

/* One block whose sums, times factors and x's scales, are added to `part`. */
CPU_INLINE void super_block(const int center, const int fine, const struct gemm_panel *panel, size_t b,
                            const struct cpu_tile *x, float (*part)[PANEL_ROWS])
{
    const uint8_t *digits = panel->digits + b * BLOCK_BYTES;
    __m256i acc[ROWS][2], first[ROWS][2];
    if (fine) {
        products(center, digits, x, 1, 0, 4, acc);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            first[r][0] = _mm256_madd_epi16(acc[r][0], load_run(panel->factor[b][0]));
            first[r][1] = _mm256_madd_epi16(acc[r][1], load_run(panel->factor[b][0] + 8));
        }
        products(center, digits, x, 2, 4, 4, acc);
    } else {
        products(center, digits, x, 0, 0, 8, acc);
    }
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++) {
        const __m256 scale = _mm256_broadcast_ss(&x->scale[r]);
        CPU_UNROLL
        for (size_t h = 0; h < 2; h++) {
            __m256i dot = _mm256_madd_epi16(acc[r][h], load_run(panel->factor[b][fine] + 8 * h));
            if (fine)
                dot = _mm256_add_epi32(dot, first[r][h]);
            const __m256 sum = _mm256_loadu_ps(part[r] + 8 * h);
            _mm256_storeu_ps(part[r] + 8 * h, _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), scale, sum));
        }
    }
}

CPU_INLINE void core_super(const int center, const int fine, const struct gemm_panel *panel, const struct cpu_tile *x,
                           size_t count, float (*sums)[PANEL_ROWS])
{
    for (size_t at = 0; at < count; at += 8) {
        float room[ROWS][PANEL_ROWS] = {{0}}, (*part)[PANEL_ROWS] = room;
        const float *d = panel->d[at / 8];
#if defined(__clang__)
        /* Stays in memory: in registers it pushes out the sums of a block, and a third of the speed is lost. */
        __asm__ volatile("" : "+r"(part) : : "memory");
#endif
        for (size_t b = at; b < at + 8; b++)
            super_block(center, fine, panel, b, x + b, part);
        CPU_UNROLL
        for (size_t i = 0; i < ROWS * PANEL_ROWS; i += 8) {
            float *sum = sums[i / PANEL_ROWS] + i % PANEL_ROWS;
            const __m256 more = _mm256_loadu_ps(part[i / PANEL_ROWS] + i % PANEL_ROWS);
            _mm256_storeu_ps(sum, _mm256_fmadd_ps(more, _mm256_loadu_ps(d + i % PANEL_ROWS), _mm256_loadu_ps(sum)));
        }
    }
}

/* Sums of 32 signed digits: the sign of a digit goes over to x. */
CPU_INLINE void wide_products(const uint8_t *digits, const struct cpu_tile *x, __m256i ones, __m256i acc[ROWS][2])
{
    CPU_UNROLL
    for (size_t c = 0; c < 8; c++, digits += 2 * RUN_BYTES) {
        const __m256i size[2] = {load_run(digits), load_run(digits + 32)};
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            const __m256i four = broadcast4(x->q[c][r]);
            CPU_UNROLL
            for (size_t h = 0; h < 2; h++) {
                const __m256i turned = _mm256_sign_epi8(four, load_run(digits + RUN_BYTES + 32 * h));
                const __m256i dot = _mm256_madd_epi16(_mm256_maddubs_epi16(size[h], turned), ones);
                acc[r][h] = c == 0 ? dot : _mm256_add_epi32(acc[r][h], dot);
            }
            keep(acc, r);
        }
    }
}

void CPU_NAME(core_wide)(const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                         float (*sums)[PANEL_ROWS])
{
    const __m256i ones = _mm256_set1_epi16(1);
    for (size_t b = 0; b < count; b++) {
        __m256i acc[ROWS][2];
        wide_products(panel->digits + 2 * b * BLOCK_BYTES, x + b, ones, acc);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++)
            add_scaled(acc[r], _mm256_broadcast_ss(&x[b].scale[r]), panel->d[b], sums[r]);
    }
}

#include "plugins/cpu/kernels/vector/core_list.h"
