/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Norms, softmax and cache rows on vectors.
 * Layout: rows as they lie. Tile: one row, four vectors at a time where sums are taken. Bound: bytes.
 */
#include "functions.h"

/* Returns the sum of (x - mean)^2. */
CPU_INLINE float squares(const float *x, size_t n, float mean)
{
    vf sums[4] = {{0}};
    size_t i = 0;
    for (; i + 4 * VN <= n; i += 4 * VN) {
        CPU_UNROLL
        for (size_t u = 0; u < 4; u++) {
            vf d = v_load(x + i + u * VN) - mean;
            sums[u] = v_fma(d, d, sums[u]);
        }
    }
    float rest = 0;
    for (; i < n; i++)
        rest += (x[i] - mean) * (x[i] - mean);
    return v_sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

CPU_INLINE float total(const float *x, size_t n)
{
    vf sums[2] = {{0}};
    size_t i = 0;
    for (; i + 2 * VN <= n; i += 2 * VN) {
        sums[0] += v_load(x + i);
        sums[1] += v_load(x + i + VN);
    }
    float rest = 0;
    for (; i < n; i++)
        rest += x[i];
    return v_sum(sums[0] + sums[1]) + rest;
}

/* y = (x - mean) * factor * weight + bias. */
CPU_INLINE void scale_row(const float *x, float mean, float factor, const float *weight, const float *bias, float *y,
                          size_t n)
{
    size_t i = 0;
    for (; i + VN <= n; i += VN) {
        vf value = (v_load(x + i) - mean) * factor * v_load(weight + i);
        v_store(y + i, bias ? value + v_load(bias + i) : value);
    }
    for (; i < n; i++)
        y[i] = (x[i] - mean) * factor * weight[i] + (bias ? bias[i] : 0);
}

void CPU_NAME(rms_norm)(const float *x, const float *weight, const float *bias, float epsilon, size_t n, float *y,
                        size_t begin, size_t end)
{
    (void)bias;
    for (size_t r = begin; r < end; r++) {
        float factor = 1 / sqrtf(squares(x + r * n, n, 0) / (float)n + epsilon);
        scale_row(x + r * n, 0, factor, weight, NULL, y + r * n, n);
    }
}

void CPU_NAME(layer_norm)(const float *x, const float *weight, const float *bias, float epsilon, size_t n, float *y,
                          size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) {
        float mean = total(x + r * n, n) / (float)n;
        float factor = 1 / sqrtf(squares(x + r * n, n, mean) / (float)n + epsilon);
        scale_row(x + r * n, mean, factor, weight, bias, y + r * n, n);
    }
}

CPU_INLINE float largest(const float *x, size_t n)
{
    float most = x[0];
    size_t i = 0;
    if (n >= VN) {
        vf v = v_load(x);
        for (i = VN; i + VN <= n; i += VN)
            v = v_max(v, v_load(x + i));
        most = v_most(v);
    }
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

void CPU_NAME(softmax)(const float *x, size_t n, float *y, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) {
        const float *row = x + r * n;
        float *out = y + r * n, most = largest(row, n);
        vf sums = {0};
        size_t i = 0;
        for (; i + VN <= n; i += VN) {
            vf e = v_exp(v_load(row + i) - most);
            v_store(out + i, e);
            sums += e;
        }
        float sum = v_sum(sums);
        if (i < n) {
            v_store_part(out + i, v_exp(v_load_part(row + i, n - i) - most), n - i);
            for (; i < n; i++)
                sum += out[i];
        }
        float inverse = 1 / sum;
        for (i = 0; i < n; i++)
            out[i] *= inverse;
    }
}

CPU_INLINE void write_half(const float *from, uint16_t *to, size_t row)
{
    size_t i = 0;
    for (; i + VN <= row; i += VN)
        v_store_f16(to + i, v_load(from + i));
    if (i < row) {
        uint16_t part[VN];
        v_store_f16(part, v_load_part(from + i, row - i));
        memcpy(to + i, part, (row - i) * sizeof(uint16_t));
    }
}

/* Returns the element of a group, a multiple of VN, farthest from 0. */
CPU_INLINE float extreme_of(const float *x, size_t group)
{
    vf low = v_set(0), high = v_set(0);
    for (size_t i = 0; i < group; i += VN) {
        low = v_min(low, v_load(x + i));
        high = v_max(high, v_load(x + i));
    }
    const float least = -v_most(-low), most = v_most(high);
    return -least > most ? least : most;
}

/* Encodes one group like accel_format_encode; 4 bits map the extreme element to the lowest code. */
CPU_INLINE void write_group(const uint32_t bits, const float *x, size_t group, uint8_t *codes, uint8_t *scale)
{
    const float extreme = extreme_of(x, group), offset = bits == 8 ? 128 : 8, highest = bits == 8 ? 255 : 15;
    const uint16_t half = _cvtss_sh(bits == 8 ? fabsf(extreme) / 127.0f : extreme / -8.0f, 0);
    const float d = _cvtsh_ss(half), inverse = d != 0 ? 1.0f / d : 0;
    memcpy(scale, &half, sizeof(half));
    for (size_t i = 0; i < group; i += 32) {
        int32_t q[32];
        for (size_t j = 0; j < 32; j += VN) {
            /* Below 2^31, whatever the scale was rounded to. */
            vf scaled = v_load(x + i + j) * (isfinite(inverse) ? inverse : 0) + (offset + 0.5f);
            scaled = v_max(v_set(0), v_min(v_set(highest + 0.5f), scaled));
            vi whole = __builtin_convertvector(scaled, vi);
            memcpy(q + j, &whole, sizeof(whole));
        }
        if (bits == 8)
            for (size_t j = 0; j < 32; j++)
                codes[i + j] = (uint8_t)q[j];
        else
            for (size_t j = 0; j < 16; j++)
                codes[i / 2 + j] = (uint8_t)(q[j] | q[j + 16] << 4);
    }
}

CPU_INLINE void write_planar(const uint32_t bits, const float *x, const struct cpu_cache *cache, size_t slot)
{
    const size_t group = (size_t)1 << ACCEL_PLANAR_LOG2_GROUP(cache->type);
    for (size_t i = 0; i < cache->row; i += group)
        write_group(bits, x + i, group, (uint8_t *)(uintptr_t)cpu_cache_codes(cache, slot, i),
                    (uint8_t *)(uintptr_t)cpu_cache_scales(cache, slot, i));
}

static void write_slot(const float *x, const struct cpu_cache *cache, size_t slot)
{
    char *to = (char *)(uintptr_t)cache->data + slot * cache->stride;
    if (cache->type == ACCEL_F32)
        memcpy(to, x, cache->row * sizeof(float));
    else if (cache->type == ACCEL_F16)
        write_half(x, (uint16_t *)to, cache->row);
    else if (ACCEL_PLANAR_BITS(cache->type) == 8)
        write_planar(8, x, cache, slot);
    else
        write_planar(4, x, cache, slot);
}

void CPU_NAME(cache_write)(const float *x, const int32_t *slot, const struct cpu_cache *cache, size_t begin, size_t end)
{
    for (size_t t = begin; t < end; t++)
        if (slot[t] >= 0)
            write_slot(x + t * cache->row, cache, (size_t)slot[t]);
}
