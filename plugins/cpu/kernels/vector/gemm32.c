/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMM of F32 activations for all weight types: two vectors of rows of W are decoded, CHUNK values at a time, and
 * transposed so that a vector holds one value of each row; all rows of x are multiplied with that panel, a tile at a
 * time: one broadcast value of x per two multiply-adds. act_f32 makes a tile one stream. Tile: 2 vectors x 6 rows, 12
 * sums in 16 registers, or x 12 rows with 32 registers. Bound: operations, two multiply-adds a cycle. Measured:
 * doc/benchmark.md, F32 matmul.
 */
#include "gemm32.h"
#include "finish.h"

#define W_ROWS (2u * VN)
#define CHUNK 256u /* of k: a panel of 16 KiB, or 32 with vectors of 16 */
#if defined(CPU_BUILD_NEON) || defined(CPU_BUILD_AVX512)
#define TILE_X 12u
#else
#define TILE_X 6u
#endif
#define X_ROWS 264u           /* rows of x per panel: CHUNK values of each stay in the L2 cache */
#define PANELS (64u / W_ROWS) /* panels per block of x in the L2 cache */
#define LINE 64u

/* Transposes eight rows of eight values, `stride` apart, to eight vectors W_ROWS apart. */
static void transpose8(const float *from, size_t stride, float *to)
{
    __m256 v[8], w[8];
    CPU_UNROLL
    for (size_t i = 0; i < 8; i++)
        v[i] = _mm256_loadu_ps(from + i * stride);
    CPU_UNROLL
    for (size_t i = 0; i < 8; i += 2) {
        w[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        w[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    CPU_UNROLL
    for (size_t i = 0; i < 8; i += 4) {
        v[i] = _mm256_shuffle_ps(w[i], w[i + 2], 0x44);
        v[i + 1] = _mm256_shuffle_ps(w[i], w[i + 2], 0xee);
        v[i + 2] = _mm256_shuffle_ps(w[i + 1], w[i + 3], 0x44);
        v[i + 3] = _mm256_shuffle_ps(w[i + 1], w[i + 3], 0xee);
    }
    CPU_UNROLL
    for (size_t i = 0; i < 4; i++) {
        _mm256_storeu_ps(to + i * W_ROWS, _mm256_permute2f128_ps(v[i], v[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * W_ROWS, _mm256_permute2f128_ps(v[i], v[i + 4], 0x31));
    }
}

/* Decodes values at .. at + count of W_ROWS rows from j on; rows past the end repeat the last, their results are not
 * stored. */
static void fill(decode_fn *decode, const struct cpu_matmul *call, size_t j, size_t end, size_t at, size_t count,
                 float (*panel)[W_ROWS])
{
    float rows[8][CHUNK];
    for (size_t r = 0; r < W_ROWS; r += 8) {
        for (size_t i = 0; i < 8; i++)
            decode(&call->w, least(j + r + i, end - 1), at, count, rows[i]);
        size_t l = 0;
        for (; l + 8 <= count; l += 8)
            transpose8(rows[0] + l, CHUNK, panel[l] + r);
        for (; l < count; l++) {
            for (size_t i = 0; i < 8; i++)
                panel[l][r + i] = rows[i][l];
        }
    }
}

/* Adds products of `count` values with `rows` (a constant) rows of a tile of x to `sums`. A chunk is summed separately
 * first: a single sum over 8192 values or more exceeds the operator's tolerance. */
CPU_INLINE void tile(const float (*panel)[W_ROWS], const float *x, size_t count, const size_t rows,
                     float (*sums)[W_ROWS])
{
    vf acc[TILE_X][2];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        acc[r][0] = acc[r][1] = v_set(0);
    for (size_t l = 0; l < count; l++, x += TILE_X) {
        const vf w0 = v_load(panel[l]), w1 = v_load(panel[l] + VN);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const vf value = v_set(x[r]);
            acc[r][0] = v_fma(w0, value, acc[r][0]);
            acc[r][1] = v_fma(w1, value, acc[r][1]);
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

static struct ahead next_panel(const struct cpu_matmul *call, size_t j, size_t at, size_t rows)
{
    const size_t stride = call->w.stride[0], to = stride * least(call->k, at + CHUNK) / call->k;
    const size_t from = stride * at / call->k, tiles = (rows + TILE_X - 1) / TILE_X;
    const size_t lines = W_ROWS * ((to - from) / LINE + 1);
    return (struct ahead){(const char *)call->w.plane[0] + j * stride, stride, from, to, from, (lines - 1) / tiles + 1};
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
static void accumulate(const float (*panel)[W_ROWS], const float *x, size_t count, size_t rows, struct ahead ahead,
                       float (*sums)[W_ROWS])
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
static void block(decode_fn *decode, const struct cpu_matmul *call, size_t i, size_t rows, size_t j, size_t end)
{
    const size_t arranged = (call->m + CPU_ACT_F32_ROWS - 1) / CPU_ACT_F32_ROWS * CPU_ACT_F32_ROWS;
    const size_t panels = least(PANELS, (end - j + W_ROWS - 1) / W_ROWS);
    float sums[PANELS][X_ROWS][W_ROWS], panel[CHUNK][W_ROWS];
    for (size_t p = 0; p < panels; p++)
        memset(sums[p], 0, (rows + TILE_X - 1) / TILE_X * TILE_X * sizeof(sums[p][0]));
    for (size_t at = 0; at < call->k; at += CHUNK) {
        const size_t count = least(CHUNK, call->k - at);
        const float *x = call->act_f32 + at * arranged + i * count;
        for (size_t p = 0; p < panels; p++) {
            const int more = p + 1 < panels, last = at + count == call->k;
            const struct ahead ahead = next_panel(call,
                                                  j + (more   ? (p + 1) * W_ROWS
                                                       : last ? panels * W_ROWS
                                                              : 0),
                                                  more   ? at
                                                  : last ? 0
                                                         : at + count,
                                                  rows);
            fill(decode, call, j + p * W_ROWS, end, at, count, panel);
            accumulate((const float(*)[W_ROWS])panel, x, count, rows, ahead, sums[p]);
        }
    }
    for (size_t p = 0; p < panels; p++) {
        const size_t at = j + p * W_ROWS;
        for (size_t r = 0; r < rows; r++)
            finish_row(call, i + r, at, least(W_ROWS, end - at), sums[p][r]);
    }
}

void CPU_NAME(gemm32)(decode_fn *decode, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const size_t blocks = (call->m + X_ROWS - 1) / X_ROWS, units = (call->m + CPU_ACT_F32_ROWS - 1) / CPU_ACT_F32_ROWS;
    const size_t step = (units + blocks - 1) / blocks * CPU_ACT_F32_ROWS;
    for (size_t i = 0; i < call->m; i += step) {
        for (size_t j = begin; j < end; j += PANELS * W_ROWS)
            block(decode, call, i, least(step, call->m - i), j, end);
    }
}

/* Stores a tile of x: values l of its rows are adjacent. Missing rows repeat the last; their results are not stored. */
static void arrange_tile(const float *x, size_t stride, size_t rows, size_t count, float *out)
{
    const float *from[TILE_X];
    for (size_t r = 0; r < TILE_X; r++)
        from[r] = x + least(r, rows - 1) * stride;
    for (size_t l = 0; l < count; l++, out += TILE_X) {
        CPU_UNROLL
        for (size_t r = 0; r < TILE_X; r++)
            out[r] = from[r][l];
    }
}

/* Order: chunks of k, in each chunk tile after tile. */
void CPU_NAME(arrange)(const float *x, size_t stride, size_t rows, size_t k, float *out, size_t begin, size_t end)
{
    const size_t arranged = (rows + CPU_ACT_F32_ROWS - 1) / CPU_ACT_F32_ROWS * CPU_ACT_F32_ROWS;
    for (size_t at = 0; at < k; at += CHUNK) {
        const size_t count = least(CHUNK, k - at);
        for (size_t r = begin; r < end; r += TILE_X)
            arrange_tile(x + r * stride + at, stride, least(TILE_X, end - r), count, out + at * arranged + r * count);
    }
}
