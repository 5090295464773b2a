/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages act_bf16 for the AMX matmul: [m / 16, k / 32] tiles, of which row p holds values 2p and 2p + 1 of a step of
 * each of 16 rows of x. Subnormal numbers become zeros, as products treat them. Bound: operations, some 6 per 16
 * values.
 */
#include "decode.h"
#include "plugins/cpu/kernels/vector/gemm.h"

/* Rounds 32 values of a row, `count` of them and zeros. */
CPU_INLINE __m512i round_step(const float *x, size_t count)
{
    float part[STEP] = {0};
    if (count >= STEP)
        return simd_cvtne2ps(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x));
    memcpy(part, x, count * sizeof(*x));
    return simd_cvtne2ps(_mm512_loadu_ps(part + 16), _mm512_loadu_ps(part));
}

/* Rounds one tile of up to 16 rows; missing rows become zeros. */
static void round_tile(const float *x, size_t stride, size_t rows, size_t count, uint16_t *out)
{
    weight_tile step = {{0}};
    for (size_t r = 0; r < rows; r++)
        _mm512_storeu_si512(step[r], round_step(x + r * stride, count));
    for (size_t h = 0; h < 2; h++) {
        const uint8_t *from[8];
        for (size_t l = 0; l < 8; l++)
            from[l] = (const uint8_t *)step[8 * h + l];
        CPU_UNROLL
        for (size_t c = 0; c < TILE_ROWS; c += 4) {
            __m256i v[4];
            load_transposed(from, 4 * c, v);
            CPU_UNROLL
            for (size_t l = 0; l < 4; l++)
                _mm256_storeu_si256((__m256i *)(out + (c + l) * STEP + 16 * h), v[l]);
        }
    }
}

void cpu_round16_amx(const float *x, size_t stride, size_t k, uint16_t *out, size_t begin, size_t end)
{
    const size_t row = cpu_act_bf16_row(k);
    for (size_t r = begin; r < end; r += TILE_ROWS) {
        for (size_t l = 0; l < k; l += STEP)
            round_tile(x + r * stride + l, stride, least(TILE_ROWS, end - r), k - l, out + r * row + l * TILE_ROWS);
    }
}
