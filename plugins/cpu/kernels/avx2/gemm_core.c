/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8-bit GEMM cores, AVX2: 16 rows of W (two vectors of 4 codes of 8 rows) with 4 rows of x. Bound: operations. Codes of
 * up to 6 bits take one multiplication (maddubs) and one 16-bit addition per 32 products; widening, once per 32 or 16
 * codes, multiplies by the integer scale. 8-bit codes take sign, maddubs, madd and a 32-bit addition; multiplying in 16
 * bits, or two nibbles, was no faster. Measured: doc/benchmark.md, GEMM cores.
 */
#include "plugins/cpu/kernels/vector/gemm_core.h"

#define ROWS CPU_TILE_ROWS

/* Forbids reordering of the sums: the compiler would hold all products, in memory. */
CPU_INLINE void fix_order(__m256i acc[ROWS][2], size_t r)
{
    __asm__ volatile("" : "+x"(acc[r][0]), "+x"(acc[r][1]));
}

/* Adds products of `steps` words in 16 bits; sum `part` of the tile corrects the zero point `center`, a power of two.
 */
CPU_INLINE void products(const int center, const uint8_t *codes, const struct cpu_tile *x, size_t part, size_t from,
                         const size_t steps, __m256i acc[ROWS][2])
{
    if (center) {
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++)
            acc[r][0] = acc[r][1] = _mm256_slli_epi16(broadcast4(x->minus[part][r]), __builtin_ctz((unsigned)center));
    }
    CPU_UNROLL
    for (size_t c = from; c < from + steps; c++) {
        const __m256i w0 = load_256(codes + c * WORD_BYTES), w1 = load_256(codes + c * WORD_BYTES + 32);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            const __m256i four = broadcast4(x->q[c][r]);
            const __m256i p0 = _mm256_maddubs_epi16(w0, four), p1 = _mm256_maddubs_epi16(w1, four);
            acc[r][0] = c == from && !center ? p0 : _mm256_add_epi16(acc[r][0], p0);
            acc[r][1] = c == from && !center ? p1 : _mm256_add_epi16(acc[r][1], p1);
            fix_order(acc, r);
        }
    }
}

CPU_INLINE void core_narrow(const int center, const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                            float (*sums)[PANEL_ROWS])
{
    const __m256i ones = _mm256_set1_epi16(1);
    for (size_t b = 0; b < count; b++) {
        __m256i acc[ROWS][2];
        products(center, panel->codes + b * BLOCK_BYTES, x + b, 0, 0, 8, acc);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            const __m256i dot[2] = {_mm256_madd_epi16(acc[r][0], ones), _mm256_madd_epi16(acc[r][1], ones)};
            add_scaled(dot, _mm256_broadcast_ss(&x[b].scale[r]), panel->d[b], sums[r]);
        }
    }
}

/* Adds the sums of one block, times integer scales and the scales of x, to `part`. */
CPU_INLINE void super_block(const int center, const int fine, const struct gemm_panel *panel, size_t b,
                            const struct cpu_tile *x, float (*part)[PANEL_ROWS])
{
    const uint8_t *codes = panel->codes + b * BLOCK_BYTES;
    __m256i acc[ROWS][2], first[ROWS][2];
    if (fine) {
        products(center, codes, x, 1, 0, 4, acc);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            first[r][0] = _mm256_madd_epi16(acc[r][0], load_256(panel->factor[b][0]));
            first[r][1] = _mm256_madd_epi16(acc[r][1], load_256(panel->factor[b][0] + 8));
        }
        products(center, codes, x, 2, 4, 4, acc);
    } else {
        products(center, codes, x, 0, 0, 8, acc);
    }
    CPU_UNROLL
    for (size_t r = 0; r < ROWS; r++) {
        const __m256 scale = _mm256_broadcast_ss(&x->scale[r]);
        CPU_UNROLL
        for (size_t h = 0; h < 2; h++) {
            __m256i dot = _mm256_madd_epi16(acc[r][h], load_256(panel->factor[b][fine] + 8 * h));
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
        float storage[ROWS][PANEL_ROWS] = {{0}}, (*part)[PANEL_ROWS] = storage;
        const float *d = panel->d[at / 8];
#if defined(__clang__)
        /* Forces `part` into memory: in registers it evicts the sums of a block, and a third of the speed is lost. */
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

/* Sums products of 32 signed codes: the sign of a code is applied to x. */
CPU_INLINE void wide_products(const uint8_t *codes, const struct cpu_tile *x, __m256i ones, __m256i acc[ROWS][2])
{
    CPU_UNROLL
    for (size_t c = 0; c < 8; c++, codes += 2 * WORD_BYTES) {
        const __m256i size[2] = {load_256(codes), load_256(codes + 32)};
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            const __m256i four = broadcast4(x->q[c][r]);
            CPU_UNROLL
            for (size_t h = 0; h < 2; h++) {
                const __m256i turned = _mm256_sign_epi8(four, load_256(codes + WORD_BYTES + 32 * h));
                const __m256i dot = _mm256_madd_epi16(_mm256_maddubs_epi16(size[h], turned), ones);
                acc[r][h] = c == 0 ? dot : _mm256_add_epi32(acc[r][h], dot);
            }
            fix_order(acc, r);
        }
    }
}

void CPU_NAME(core_wide)(const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                         float (*sums)[PANEL_ROWS])
{
    const __m256i ones = _mm256_set1_epi16(1);
    for (size_t b = 0; b < count; b++) {
        __m256i acc[ROWS][2];
        wide_products(panel->codes + 2 * b * BLOCK_BYTES, x + b, ones, acc);
        CPU_UNROLL
        for (size_t r = 0; r < ROWS; r++)
            add_scaled(acc[r], _mm256_broadcast_ss(&x[b].scale[r]), panel->d[b], sums[r]);
    }
}

#include "plugins/cpu/kernels/vector/core_list.h"
