/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounding of activations to 8 bits, blocks of 32.
 * Layout: see struct cpu_rows8. Tile: one block in registers. Bound: bytes of x.
 */
#include "plugins/cpu/kernels/tile.h"
#include "vec.h"

CPU_INLINE void quantize_block(const float *x, int8_t *q, float *out_scale, float *out_sum)
{
    vf v[CPU_BLOCK / VN], most = v_set(0);
    CPU_UNROLL
    for (size_t i = 0; i < CPU_BLOCK / VN; i++) {
        v[i] = v_load(x + i * VN);
        most = v_max(most, v_abs(v[i]));
    }
    float largest = v_most(most), scale = largest / 127.0f;
    /* Below this the reciprocal is infinite; such a block is as good as zero. */
    vf inverse = v_set(largest > 1e-36f ? 127.0f / largest : 0);
    vi sums = {0};
    CPU_UNROLL
    for (size_t i = 0; i < CPU_BLOCK / VN; i++) {
        typedef int8_t bytes __attribute__((vector_size(VN)));
        vi whole = __builtin_convertvector(v_round(v[i] * inverse), vi);
        bytes narrow = __builtin_convertvector(whole, bytes);
        memcpy(q + i * VN, &narrow, sizeof(narrow));
        sums += whole;
    }
    int32_t sum = 0;
    for (size_t i = 0; i < VN; i++)
        sum += sums[i];
    *out_scale = scale;
    *out_sum = scale * (float)sum;
}

void CPU_NAME(quantize)(const float *x, size_t stride, size_t k, const struct cpu_rows8 *out, size_t begin, size_t end)
{
    size_t blocks = k / CPU_BLOCK;
    for (size_t r = begin; r < end; r++) {
        for (size_t b = 0; b < blocks; b++)
            quantize_block(x + r * stride + b * CPU_BLOCK, out->q + r * k + b * CPU_BLOCK, out->scale + r * blocks + b,
                           out->sum + r * blocks + b);
        tile_put_row(out, r, blocks);
    }
}
