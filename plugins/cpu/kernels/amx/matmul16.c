/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matmul of many rows of activations in BF16 with weights in BF16 or F16, AMX. A panel is 32 rows of W, STEPS x 32
 * values of each, in two columns of tiles; two tiles of x, 16 rows each, pass over it together: four tiles of sums,
 * which are read and written once for a panel. A weight in F16 becomes the sum of two BF16, which is exact, and takes
 * two products. Bound: operations. No speed is stated: no processor that has AMX was there.
 */
#include "plugins/cpu/kernels/amx/tiles.h"
#include "plugins/cpu/kernels/vector/finish.h"
#include "plugins/cpu/kernels/vector/gemm.h"

#define W_ROWS 32u
#define STEP 32u    /* values of a row of a tile */
#define STEPS 8u    /* of a panel */
#define X_ROWS 256u /* rows of x per pass over a panel */
#define CHUNK (STEP * STEPS)

/* Tiles 0 .. 3 are sums, [row of x][column of W]; 4 and 5 hold x, 6 and 7 weights. */
static const struct tile_shapes shapes = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

/* Of each step two tiles: pair l of 16 rows; the same once more where a weight is the sum of two. */
struct panel {
    uint32_t high[STEPS][2][16][16];
    uint32_t low[STEPS][2][16][16];
};

/* Values of eight rows, `count` of them and zeros up to whole steps, turned. */
static void turn(const uint16_t (*rows)[CHUNK], size_t count, size_t r, uint32_t (*out)[2][16][16])
{
    const uint8_t *from[8];
    for (size_t i = 0; i < 8; i++)
        from[i] = (const uint8_t *)rows[i];
    for (size_t at = 0; at < (count + STEP - 1) / STEP * 64; at += 16) {
        __m256i v[4];
        load_transposed(from, at, v);
        CPU_UNROLL
        for (size_t c = 0; c < 4; c++)
            _mm256_storeu_si256((__m256i *)&out[at / 64][r / 16][at % 64 / 4 + c][r % 16], v[c]);
    }
}

CPU_INLINE uint16_t upper(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

/* The upper 16 bits of a weight, and what is left, which has three bits. */
CPU_INLINE void split(const uint16_t *from, size_t count, uint16_t *high, uint16_t *low)
{
    for (size_t l = 0; l < count; l++) {
        const float value = half_to_float(from + l);
        const uint32_t bits = (uint32_t)upper(value) << 16;
        float most;
        memcpy(&most, &bits, sizeof(most));
        high[l] = upper(value);
        low[l] = upper(value - most);
    }
}

/* Values at .. at + count of W_ROWS rows from j on; rows past the end repeat the last, whose results nobody stores. */
CPU_INLINE void fill(const int half, const struct cpu_matmul *call, size_t j, size_t end, size_t at, size_t count,
                     struct panel *out)
{
    for (size_t r = 0; r < W_ROWS; r += 8) {
        uint16_t high[8][CHUNK], low[8][CHUNK];
        for (size_t i = 0; i < 8; i++) {
            const size_t row = least(j + r + i, end - 1), over = (STEP - count % STEP) % STEP;
            const uint16_t *from = (const uint16_t *)((const char *)call->w.plane[0] + row * call->w.stride[0]) + at;
            if (half)
                split(from, count, high[i], low[i]);
            else
                memcpy(high[i], from, count * sizeof(*from));
            memset(high[i] + count, 0, over * sizeof(*from));
            if (half)
                memset(low[i] + count, 0, over * sizeof(*from));
        }
        turn((const uint16_t(*)[CHUNK])high, count, r, out->high);
        if (half)
            turn((const uint16_t(*)[CHUNK])low, count, r, out->low);
    }
}

/* Both tiles of x with a step of the weights. */
CPU_INLINE void products(const uint32_t (*w)[16][16])
{
    tile_load(6, w[0], 64);
    tile_load(7, w[1], 64);
    tile_dot16(0, 4, 6);
    tile_dot16(1, 4, 7);
    tile_dot16(2, 5, 6);
    tile_dot16(3, 5, 7);
}

/* Adds the products of `steps` steps with 32 rows of x to `sums`. */
CPU_INLINE void square(const int half, const struct panel *panel, const uint16_t *x, size_t stride, size_t steps,
                       float (*sums)[W_ROWS])
{
    tile_load(0, sums[0], sizeof(sums[0]));
    tile_load(1, sums[0] + 16, sizeof(sums[0]));
    tile_load(2, sums[16], sizeof(sums[0]));
    tile_load(3, sums[16] + 16, sizeof(sums[0]));
    for (size_t s = 0; s < steps; s++, x += STEP) {
        tile_load(4, x, 2 * stride);
        tile_load(5, x + 16 * stride, 2 * stride);
        products(panel->high[s]);
        if (half)
            products(panel->low[s]);
    }
    tile_store(0, sums[0], sizeof(sums[0]));
    tile_store(1, sums[0] + 16, sizeof(sums[0]));
    tile_store(2, sums[16], sizeof(sums[0]));
    tile_store(3, sums[16] + 16, sizeof(sums[0]));
}

/* Rows i .. i + rows of x with up to W_ROWS rows of W from j on. The last rows of x are there in full (CPU_ROWS16). */
CPU_INLINE void block(const int half, const struct cpu_matmul *call, size_t i, size_t rows, size_t j, size_t end)
{
    const size_t stride = cpu_row16(call->k);
    float sums[X_ROWS][W_ROWS];
    struct panel panel;
    memset(sums, 0, cpu_row16(rows) * sizeof(sums[0]));
    for (size_t at = 0; at < call->k; at += CHUNK) {
        const size_t count = least(CHUNK, call->k - at);
        fill(half, call, j, end, at, count, &panel);
        for (size_t r = 0; r < rows; r += 32)
            square(half, &panel, call->x16 + (i + r) * stride + at, stride, (count + STEP - 1) / STEP, sums + r);
    }
    for (size_t r = 0; r < rows; r++)
        finish_row(call, i + r, j, least(W_ROWS, end - j), sums[r]);
}

CPU_INLINE void matmul16(const int half, const struct cpu_matmul *call, size_t begin, size_t end)
{
    tiles_begin(&shapes);
    for (size_t i = 0; i < call->m; i += X_ROWS) {
        for (size_t j = begin; j < end; j += W_ROWS)
            block(half, call, i, least(X_ROWS, call->m - i), j, end);
    }
    tiles_end();
}

void cpu_matmul16_bf16_amx(const struct cpu_matmul *call, size_t begin, size_t end)
{
    matmul16(0, call, begin, end);
}

void cpu_matmul16_f16_amx(const struct cpu_matmul *call, size_t begin, size_t end)
{
    matmul16(1, call, begin, end);
}
