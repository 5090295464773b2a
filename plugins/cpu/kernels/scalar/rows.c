/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row kernels in plain C: norms, softmax, rounding to 8 bits, cache rows.
 * Layout: rows in place. Tile: one row. Bound: bytes. Sums in double; references of the vector kernels.
 */
#include "scalar.h"

#include <accel/quant/format.h>
#include <accel/quant/half.h>
#include <math.h>
#include <string.h>

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

/* Rounds row r of x, `group` values under a scale. No scalar kernel reads tiles. */
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
    }
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
