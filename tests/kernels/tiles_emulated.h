/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements of the tile instructions, which plugins/cpu/kernels/amx/tiles.h includes for tests on machines without
 * AMX. */
#ifndef KERNELS_TILES_EMULATED_H
#define KERNELS_TILES_EMULATED_H

#include "simd_flush.h"

struct tile_state {
    struct tile_shapes shapes;
    uint8_t data[8][16][64];
};
static _Thread_local struct tile_state tile_state;

#define TILE_FUNCTION static inline __attribute__((unused)) void

TILE_FUNCTION tiles_begin(const struct tile_shapes *shapes)
{
    memset(&tile_state, 0, sizeof(tile_state));
    tile_state.shapes = *shapes;
}

TILE_FUNCTION tiles_end(void)
{
    memset(&tile_state, 0, sizeof(tile_state));
}

TILE_FUNCTION tile_zero(int t)
{
    memset(tile_state.data[t], 0, sizeof(tile_state.data[t]));
}

TILE_FUNCTION tile_load(int t, const void *base, size_t stride)
{
    tile_zero(t);
    for (size_t r = 0; r < tile_state.shapes.rows[t]; r++)
        memcpy(tile_state.data[t][r], (const char *)base + r * stride, tile_state.shapes.row_bytes[t]);
}

TILE_FUNCTION tile_store(int t, void *base, size_t stride)
{
    for (size_t r = 0; r < tile_state.shapes.rows[t]; r++)
        memcpy((char *)base + r * stride, tile_state.data[t][r], tile_state.shapes.row_bytes[t]);
}

/* Traps on shapes that do not match. */
TILE_FUNCTION tile_check(int sums, int a, int b)
{
    const struct tile_shapes *s = &tile_state.shapes;
    if (s->palette != 1 || s->rows[sums] != s->rows[a] || s->row_bytes[sums] != s->row_bytes[b] ||
        s->row_bytes[a] / 4 != s->rows[b] || s->rows[a] == 0 || s->rows[b] == 0)
        __builtin_trap();
}

/* Four signed bytes each, in 32 bits. */
TILE_FUNCTION tile_dot8(int sums, int a, int b)
{
    const struct tile_shapes *s = &tile_state.shapes;
    tile_check(sums, a, b);
    for (size_t r = 0; r < s->rows[sums]; r++) {
        for (size_t at = 0; at < s->row_bytes[sums]; at += 4) {
            int32_t sum;
            memcpy(&sum, tile_state.data[sums][r] + at, 4);
            for (size_t l = 0; l < s->row_bytes[a]; l++)
                sum += (int8_t)tile_state.data[a][r][l] * (int8_t)tile_state.data[b][l / 4][at + l % 4];
            memcpy(tile_state.data[sums][r] + at, &sum, 4);
        }
    }
}

TILE_FUNCTION tile_pair(const uint8_t *pair, float *out_even, float *out_odd)
{
    uint32_t even, odd;
    memcpy(&odd, pair, 4);
    even = odd << 16;
    odd &= 0xffff0000u;
    memcpy(out_even, &even, 4);
    memcpy(out_odd, &odd, 4);
}

/* Pairs of BF16: even and odd ones are summed separately, each fused, and both are added to the sum. */
TILE_FUNCTION tile_dot16(int sums, int a, int b)
{
    const struct tile_shapes *s = &tile_state.shapes;
    tile_check(sums, a, b);
    for (size_t r = 0; r < s->rows[sums]; r++) {
        for (size_t n = 0; n < s->row_bytes[sums] / 4u; n++) {
            float sum, part[2] = {0, 0};
            memcpy(&sum, tile_state.data[sums][r] + 4 * n, 4);
            for (size_t l = 0; l < s->row_bytes[a] / 4u; l++) {
                float x[2], w[2];
                tile_pair(tile_state.data[a][r] + 4 * l, &x[0], &x[1]);
                tile_pair(tile_state.data[b][l] + 4 * n, &w[0], &w[1]);
                for (int i = 0; i < 2; i++)
                    part[i] = simd_flush(__builtin_fmaf(simd_flush(x[i]), simd_flush(w[i]), part[i]));
            }
            sum = simd_flush(simd_flush(sum) + simd_flush(part[0] + part[1]));
            memcpy(tile_state.data[sums][r] + 4 * n, &sum, 4);
        }
    }
}

#endif
