/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row kernels in plain C: norms, softmax, rotary positions, rounding to 8 bits, cache rows.
 * Layout: rows in place. Tile: one row. Bound: bytes. Sums in double; references of the vector kernels.
 */
#include "scalar.h"

#include "plugins/cpu/kernels/tile.h"

#include <accel/quant/format.h>
#include <accel/quant/half.h>
#include <math.h>
#include <string.h>

/* The scalar matmul reads x in place; staging is for callers that do not distinguish ISAs. */
void cpu_rms_norm_scalar(const float *x, const float *weight, const float *bias, float epsilon, size_t n, float *y,
                         size_t begin, size_t end)
{
    (void)bias;
    for (size_t r = begin; r < end; r++) {
        const float *row = x + r * n;
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)row[i] * row[i];
        float factor = (float)(1 / sqrt(sum / (double)n + epsilon));
        for (size_t i = 0; i < n; i++)
            y[r * n + i] = row[i] * factor * weight[i];
    }
}

void cpu_layer_norm_scalar(const float *x, const float *weight, const float *bias, float epsilon, size_t n, float *y,
                           size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) {
        const float *row = x + r * n;
        double sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++)
            sum += row[i];
        double mean = sum / (double)n;
        for (size_t i = 0; i < n; i++)
            squares += (row[i] - mean) * (row[i] - mean);
        double factor = 1 / sqrt(squares / (double)n + epsilon);
        for (size_t i = 0; i < n; i++)
            y[r * n + i] = (float)((row[i] - mean) * factor) * weight[i] + (bias ? bias[i] : 0);
    }
}

void cpu_softmax_scalar(const float *x, size_t n, float *y, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) {
        const float *row = x + r * n;
        float most = row[0];
        double sum = 0;
        for (size_t i = 1; i < n; i++)
            most = row[i] > most ? row[i] : most;
        for (size_t i = 0; i < n; i++) {
            y[r * n + i] = expf(row[i] - most);
            sum += y[r * n + i];
        }
        for (size_t i = 0; i < n; i++)
            y[r * n + i] = (float)(y[r * n + i] / sum);
    }
}

/* Rotates pairs lo .. lo + count of every head of one token. */
static void turn(const struct cpu_rotary *call, size_t token, size_t lo, size_t count, const float *cosine,
                 const float *sine)
{
    size_t step = call->pairing == ACCEL_PAIR_HALVES ? 1 : 2;
    size_t apart = call->pairing == ACCEL_PAIR_HALVES ? call->pairs : 1;
    for (size_t h = 0; h < call->heads; h++) {
        size_t at = (token * call->heads + h) * call->size + lo * step;
        for (size_t i = 0; i < count; i++) {
            float a = call->x[at + i * step], b = call->x[at + i * step + apart];
            call->y[at + i * step] = a * cosine[i] - b * sine[i];
            call->y[at + i * step + apart] = b * cosine[i] + a * sine[i];
        }
    }
}

#define PAIRS 64u

void cpu_rotary_scalar(const struct cpu_rotary *call, size_t begin, size_t end)
{
    for (size_t t = begin; t < end; t++) {
        for (size_t lo = 0; lo < call->pairs; lo += PAIRS) {
            float cosine[PAIRS], sine[PAIRS];
            size_t count = call->pairs - lo < PAIRS ? call->pairs - lo : PAIRS;
            for (size_t i = 0; i < count; i++) {
                float angle = (float)call->position[t] * call->frequency[lo + i];
                cosine[i] = cosf(angle) * call->scale;
                sine[i] = sinf(angle) * call->scale;
            }
            turn(call, t, lo, count, cosine, sine);
        }
        for (size_t h = 0; h < call->heads && call->x != call->y; h++) {
            size_t at = (t * call->heads + h) * call->size + 2 * call->pairs;
            memcpy(call->y + at, call->x + at, (call->size - 2 * call->pairs) * sizeof(float));
        }
    }
}

/* Returns the negated sums of codes 0 and 1, and of 2 and 3, of every four in `half` (0 or 1) of a block. */
static void tile_minus(const int8_t *q, size_t half, int16_t out[2])
{
    int sums[2] = {0, 0};
    for (size_t i = 16 * half; i < 16 * half + 16; i++)
        sums[i / 2 % 2] -= q[i];
    out[0] = (int16_t)sums[0];
    out[1] = (int16_t)sums[1];
}

/* Copies block b of row r, of `blocks`, to its tile. */
static void tile_put(const struct cpu_act_q8 *rows, size_t r, size_t b, size_t blocks)
{
    const size_t lane = r % CPU_TILE_ROWS;
    const float scale = rows->scale[r * blocks + b];
    const int8_t *q = rows->q + (r * blocks + b) * CPU_BLOCK;
    struct cpu_tile *tile = cpu_tile_of(rows, blocks, r / CPU_TILE_ROWS, b);
    for (size_t c = 0; c < 8; c++)
        memcpy(tile->q[c][lane], q + 4 * c, 4);
    tile_minus(q, 0, tile->minus[1][lane].minus);
    tile_minus(q, 1, tile->minus[2][lane].minus);
    for (size_t i = 0; i < 2; i++)
        tile->minus[0][lane].minus[i] = (int16_t)(tile->minus[1][lane].minus[i] + tile->minus[2][lane].minus[i]);
    for (size_t i = 0; i < 3; i++)
        tile->sum[i][lane] = scale * (float)-(tile->minus[i][lane].minus[0] + tile->minus[i][lane].minus[1]);
    tile->scale[lane] = scale;
}

/* Rounds row r of x, `group` values under a scale. */
static void quantize_row(const float *x, size_t k, size_t group, const struct cpu_act_q8 *out, size_t r)
{
    const size_t blocks = k / CPU_BLOCK;
    float most = 0;
    for (size_t b = 0; b < blocks; b++) {
        int8_t *q = out->q + r * k + b * CPU_BLOCK;
        int32_t sum = 0;
        most = b * CPU_BLOCK % group == 0 ? 0 : most;
        for (size_t i = 0; b * CPU_BLOCK % group == 0 && i < group; i++)
            most = fabsf(x[b * CPU_BLOCK + i]) > most ? fabsf(x[b * CPU_BLOCK + i]) : most;
        /* Below this the reciprocal is infinite; such a group is rounded to zero. */
        float inverse = most > 1e-36f ? 127.0f / most : 0;
        for (size_t i = 0; i < CPU_BLOCK; i++) {
            q[i] = (int8_t)rintf(x[b * CPU_BLOCK + i] * inverse);
            sum += q[i];
        }
        out->scale[r * blocks + b] = most / 127.0f;
        out->sum[r * blocks + b] = most / 127.0f * (float)sum;
        if (out->tiles != NULL)
            tile_put(out, r, b, blocks);
    }
    tile_end_row(out, r, blocks);
}

void cpu_quantize_scalar(const float *x, size_t stride, size_t k, const struct cpu_act_q8 *out, size_t begin,
                         size_t end)
{
    for (size_t r = begin; r < end; r++)
        quantize_row(x + r * stride, k, CPU_BLOCK, out, r);
}

void cpu_quantize_rows_scalar(const float *x, size_t stride, size_t k, const struct cpu_act_q8 *out, size_t begin,
                              size_t end)
{
    for (size_t r = begin; r < end; r++)
        quantize_row(x + r * stride, k, k, out, r);
}

/* Writes one row to a slot. */
static void write_slot(const float *x, const struct cpu_cache *cache, size_t slot)
{
    char *to = (char *)(uintptr_t)cache->data + slot * cache->stride;
    void *planes[ACCEL_FORMAT_PLANES] = {to, (void *)(uintptr_t)cpu_cache_scales(cache, slot, 0)};
    if (cache->type == ACCEL_F32) {
        memcpy(to, x, cache->row * sizeof(float));
        return;
    }
    if (cache->type != ACCEL_F16) {
        (void)accel_format_encode(cache->type, x, cache->row, planes);
        return;
    }
    for (size_t i = 0; i < cache->row; i++)
        ((uint16_t *)to)[i] = accel_f16_from_f32(x[i]);
}

void cpu_cache_write_scalar(const float *x, const int32_t *slot, const struct cpu_cache *cache, size_t begin,
                            size_t end)
{
    for (size_t t = begin; t < end; t++)
        if (slot[t] >= 0)
            write_slot(x + t * cache->row, cache, (size_t)slot[t]);
}
