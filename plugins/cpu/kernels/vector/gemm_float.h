/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMM of floats for all weight types, of F32 and of pairs of BF16: two vectors of rows of W are decoded, CHUNK words
 * at a time, and transposed so that a vector holds one word of each row; all rows of x are multiplied with that panel,
 * a tile at a time: one broadcast word of x per two products. Staged activations make a tile one stream. Bound:
 * operations. Measured: doc/benchmark.md, F32 matmul. The file that includes this defines
 *
 * gemm_word: 4 bytes of a row of W or of x, a float or two BF16.
 *
 * TILE_X: rows of x of a tile, an even divisor of X_ROWS.
 *
 * read_words(gemm, row, at, count, out): returns words at .. at + count of a row of W, in place or decoded to `out`.
 *
 * add_product(w, x, acc): adds the products of a word of each row of W with the word x.
 */
#ifndef CPU_VECTOR_GEMM_FLOAT_H
#define CPU_VECTOR_GEMM_FLOAT_H

#include "finish.h"
#include "gemm32.h"

#define W_ROWS (2u * VN)
#define CHUNK 256u                      /* words of k: a panel of 16 KiB, or 32 with vectors of 16 */
#define X_ROWS (VN == 16 ? 528u : 264u) /* rows of x per panel: CHUNK words of each stay in the L2 cache */
#define PANELS (64u / W_ROWS)           /* panels per block of x in the L2 cache */

/* A call, its decoder, and its staged activations: chunks of k, in each chunk tile after tile. */
struct gemm {
    const struct cpu_matmul *call;
    decode_fn *decode; /* of F32 */
    const gemm_word *x;
    size_t words;  /* of a row */
    size_t staged; /* rows of x, those of whole tiles */
};

CPU_INLINE const void *read_words(const struct gemm *gemm, size_t row, size_t at, size_t count, gemm_word *out);
CPU_INLINE vf add_product(vf w, gemm_word x, vf acc);

CPU_INLINE vf load_words(const gemm_word *words)
{
    vf v;
    memcpy(&v, words, sizeof(v));
    return v;
}

/* Decodes words at .. at + count of W_ROWS rows from j on; rows past the end repeat the last, their results are not
 * stored. */
static void fill(const struct gemm *gemm, size_t j, size_t end, size_t at, size_t count, gemm_word (*panel)[W_ROWS])
{
    gemm_word decoded[8][CHUNK];
    for (size_t r = 0; r < W_ROWS; r += 8) {
        const void *rows[8];
        size_t l = 0;
        for (size_t i = 0; i < 8; i++)
            rows[i] = read_words(gemm, least(j + r + i, end - 1), at, count, decoded[i]);
        for (; l + 8 <= count; l += 8)
            transpose8(rows, l, panel[l] + r, W_ROWS);
        for (; l < count; l++) {
            for (size_t i = 0; i < 8; i++)
                memcpy(&panel[l][r + i], (const char *)rows[i] + 4 * l, 4);
        }
    }
}

/* Adds products of `count` words with `rows` (a constant) rows of a tile of x to `sums`. A chunk is summed separately
 * first: a single sum over 8192 values or more exceeds the operator's tolerance. */
CPU_INLINE void tile(const gemm_word (*panel)[W_ROWS], const gemm_word *x, size_t count, const size_t rows,
                     float (*sums)[W_ROWS])
{
    vf acc[TILE_X][2];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        acc[r][0] = acc[r][1] = v_set(0);
    for (size_t l = 0; l < count; l++, x += TILE_X) {
        const vf w0 = load_words(panel[l]), w1 = load_words(panel[l] + VN);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            acc[r][0] = add_product(w0, x[r], acc[r][0]);
            acc[r][1] = add_product(w1, x[r], acc[r][1]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++) {
        v_store(sums[r], v_load(sums[r]) + acc[r][0]);
        v_store(sums[r] + VN, v_load(sums[r] + VN) + acc[r][1]);
    }
}

/* Part of W to prefetch for the next panel: bytes from .. to of W_ROWS rows, spread over the tiles. Harmless past the
 * end of a matrix. */
struct ahead {
    const char *row;
    size_t stride;
    size_t from;
    size_t to;
    size_t at;
    size_t lines; /* cache lines per tile */
};

static struct ahead next_panel(const struct gemm *gemm, size_t j, size_t at, size_t rows)
{
    const struct cpu_matrix *w = &gemm->call->w;
    const size_t stride = w->stride[0], to = stride * least(gemm->words, at + CHUNK) / gemm->words;
    const size_t from = stride * at / gemm->words, tiles = (rows + TILE_X - 1) / TILE_X;
    const size_t lines = W_ROWS * ((to - from) / LINE + 1);
    return (struct ahead){(const char *)w->plane[0] + j * stride, stride, from, to, from, (lines - 1) / tiles + 1};
}

static void prefetch_piece(struct ahead *ahead)
{
    for (size_t i = 0; i < ahead->lines; i++) {
        __builtin_prefetch(ahead->row + ahead->at, 0, 2);
        ahead->at += LINE;
        if (ahead->at < ahead->to)
            continue;
        ahead->row += ahead->stride;
        ahead->at = ahead->from;
    }
}

/* Multiplies all rows of x with one panel. */
static void accumulate(const gemm_word (*panel)[W_ROWS], const gemm_word *x, size_t count, size_t rows,
                       struct ahead ahead, float (*sums)[W_ROWS])
{
    for (; rows > TILE_X / 2; rows -= least(rows, TILE_X), x += TILE_X * count, sums += TILE_X) {
        prefetch_piece(&ahead);
        tile(panel, x, count, TILE_X, sums);
    }
    if (rows == 0)
        return;
    prefetch_piece(&ahead);
    if (rows > 2)
        tile(panel, x, count, TILE_X / 2, sums);
    else
        tile(panel, x, count, 2, sums);
}

/* Multiplies rows i .. i + rows of x with up to PANELS panels of W, from row j on. */
static void block(const struct gemm *gemm, size_t i, size_t rows, size_t j, size_t end)
{
    const size_t panels = least(PANELS, (end - j + W_ROWS - 1) / W_ROWS);
    float sums[PANELS][X_ROWS][W_ROWS];
    gemm_word panel[CHUNK][W_ROWS];
    for (size_t p = 0; p < panels; p++)
        memset(sums[p], 0, (rows + TILE_X - 1) / TILE_X * TILE_X * sizeof(sums[p][0]));
    for (size_t at = 0; at < gemm->words; at += CHUNK) {
        const size_t count = least(CHUNK, gemm->words - at);
        const gemm_word *x = gemm->x + at * gemm->staged + i * count;
        for (size_t p = 0; p < panels; p++) {
            const int more = p + 1 < panels, last = at + count == gemm->words;
            const struct ahead ahead = next_panel(gemm,
                                                  j + (more   ? (p + 1) * W_ROWS
                                                       : last ? panels * W_ROWS
                                                              : 0),
                                                  more   ? at
                                                  : last ? 0
                                                         : at + count,
                                                  rows);
            fill(gemm, j + p * W_ROWS, end, at, count, panel);
            accumulate((const gemm_word(*)[W_ROWS])panel, x, count, rows, ahead, sums[p]);
        }
    }
    for (size_t p = 0; p < panels; p++) {
        const size_t at = j + p * W_ROWS;
        for (size_t r = 0; r < rows; r++)
            finish_row(gemm->call, i + r, at, least(W_ROWS, end - at), sums[p][r]);
    }
}

static void multiply(const struct gemm *gemm, size_t begin, size_t end)
{
    const size_t m = gemm->call->m, blocks = (m + X_ROWS - 1) / X_ROWS, tiles = (m + TILE_X - 1) / TILE_X;
    const size_t step = (tiles + blocks - 1) / blocks * TILE_X;
    for (size_t i = 0; i < m; i += step) {
        for (size_t j = begin; j < end; j += PANELS * W_ROWS)
            block(gemm, i, least(step, m - i), j, end);
    }
}

#endif
