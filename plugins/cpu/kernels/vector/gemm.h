/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the 8-bit GEMM: the panel, 16 rows of weights of any type in one layout, so that a handful of cores serves
 * all types. Rows are interleaved by 4 codes: one instruction multiplies 8 or 16 rows with the same 4 codes of x. A
 * block of 32 is 8 words of 64 bytes; word c holds codes 4c .. 4c + 3 of row 0, then of row 1 and so on.
 *
 * Codes are unsigned, with the zero point `center`. Cores start a sum at -`center` times the sum of x, so that 16-bit
 * sums have the size of true products: 16 pairs of codes within +-16, or 8 within +-32, reach 32512 and fit, whatever
 * the intermediate sums are.
 */
#ifndef CPU_VECTOR_GEMM_H
#define CPU_VECTOR_GEMM_H

#include "plugins/cpu/kernels/panels/panels.h"
#include "unpack.h"

#define PANEL_BLOCKS CPU_TILE_BLOCKS
#define X_ROWS 512u /* rows of x per panel: their sums, 32 KiB, stay in the L2 cache */
#define WORD_BYTES 64u
#define BLOCK_BYTES (8u * WORD_BYTES)

#ifdef CPU_DOT32
typedef float gemm_factor;
#else
typedef int32_t gemm_factor; /* the number twice in 16 bits: the operand of a multiply-add */
#endif

struct gemm_panel {
    /* Cores of signed codes: magnitudes and signed codes, word by word. */
    _Alignas(LINE) uint8_t codes[2 * PANEL_BLOCKS * BLOCK_BYTES];
    gemm_factor factor[PANEL_BLOCKS][2][PANEL_ROWS]; /* integer scales of sums of 32 (or twice 16) */
    float d[PANEL_BLOCKS][PANEL_ROWS];               /* scale of a block, or d[b / 8] of eight */
    float m[PANEL_BLOCKS][2][PANEL_ROWS];            /* minima: [b][0] of a block, or both halves */
};

/* 16 rows of W: in place, or packed. */
struct gemm_rows {
    const struct cpu_matrix *w;
    const uint8_t *panel;  /* NULL: rows in place */
    const uint8_t *scales; /* scales of the panel, planar types */
    const char *next;      /* the following 16 rows in memory */
    size_t bytes;          /* bytes of 16 rows */
    size_t rows[PANEL_ROWS];
};

/* Fills a panel with blocks first .. first + count. */
typedef void gemm_fill_fn(const struct gemm_rows *w, size_t first, size_t count, struct gemm_panel *out);

/* Adds products of a panel with CPU_TILE_ROWS rows of x to `sums`. */
typedef void gemm_core_fn(const struct gemm_panel *panel, const struct cpu_tile *x, size_t count,
                          float (*sums)[PANEL_ROWS]);

/* Blocks first .. first + count of a product of `bands` panels, up to ROW_BANDS. */
#define ROW_BANDS (VN == PANEL_ROWS ? 2u : 1u)
struct gemm_chunk {
    const struct cpu_matmul *call;
    size_t first, count, bands;
    size_t span; /* blocks that share a scale of W: integers are summed over them, or over all if there are fewer */
};

/* Adds products of the panels with rows of x from i on that have one scale each, as many as the recipe's `height` or
 * fewer before m. Sums of the next panel are X_ROWS further. */
typedef void gemm_row_core_fn(const struct gemm_chunk *chunk, const struct gemm_panel *panel, size_t i,
                              float (*sums)[PANEL_ROWS]);

#define MINIMUM_NONE 0u
#define MINIMUM_BLOCK 1u /* one m for 32 weights */
#define MINIMUM_HALF 2u  /* one for 16 */

/* How GEMM computes a type. */
struct gemm_recipe {
    gemm_fill_fn *fill;
    gemm_core_fn *core;
    uint32_t minimum;
    size_t height;              /* rows of x of a core */
    gemm_row_core_fn *row_core; /* in place of `core` if rows of x have one scale, else NULL */
    size_t span;                /* of `row_core` */
};

/* Computes all m rows of the columns begin .. end. */
void CPU_NAME(gemm)(const struct gemm_recipe recipe, const struct cpu_matmul *call, size_t begin, size_t end);

#if !defined(CPU_BUILD_NEON)

/* Loads the 16 bytes at `offset` of 8 rows, transposed: four vectors of one dword of each row. */
CPU_INLINE void load_transposed(const uint8_t *const rows[8], size_t offset, __m256i v[4])
{
    CPU_UNROLL
    for (size_t r = 0; r < 4; r++)
        v[r] = load_pair16(rows[r] + offset, rows[r + 4] + offset);
    __m256i a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpacklo_epi32(v[2], v[3]);
    __m256i c = _mm256_unpackhi_epi32(v[0], v[1]), d = _mm256_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm256_unpacklo_epi64(a, b);
    v[1] = _mm256_unpackhi_epi64(a, b);
    v[2] = _mm256_unpacklo_epi64(c, d);
    v[3] = _mm256_unpackhi_epi64(c, d);
}

/* Loads eight halves, one of each row. */
CPU_INLINE __m128i eight_halves(const uint8_t *const rows[8], size_t offset)
{
    uint16_t half[8];
    CPU_UNROLL
    for (size_t r = 0; r < 8; r++)
        memcpy(&half[r], rows[r] + offset, 2);
    __m128i v = _mm_cvtsi32_si128(half[0]), w = _mm_cvtsi32_si128(half[4]);
    v = _mm_insert_epi16(v, half[1], 1);
    w = _mm_insert_epi16(w, half[5], 1);
    v = _mm_insert_epi16(v, half[2], 2);
    w = _mm_insert_epi16(w, half[6], 2);
    v = _mm_insert_epi16(v, half[3], 3);
    w = _mm_insert_epi16(w, half[7], 3);
    return _mm_unpacklo_epi64(v, w);
}

#endif

/* Returns the start of 16 rows in a plane. */
CPU_INLINE void panel_rows(const struct cpu_matrix *w, size_t plane, const size_t rows[PANEL_ROWS],
                           const uint8_t *out[PANEL_ROWS])
{
    for (size_t r = 0; r < PANEL_ROWS; r++)
        out[r] = (const uint8_t *)w->plane[plane] + rows[r] * w->stride[plane];
}

#endif
