/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to attention: stages a tile of keys or values, converted to floats once for all rows of a block, and
 * multiplies it with these rows.
 */
#ifndef CPU_VECTOR_ATTENTION_STAGED_H
#define CPU_VECTOR_ATTENTION_STAGED_H

#include "attention_scratch.h"

/* ---- staging ---- */

CPU_INLINE void stage_floats(const int half, const void *from, size_t size, float *out)
{
    size_t i = 0;
    for (; i + VN <= size; i += VN)
        v_store(out + i, half ? v_load_f16((const uint16_t *)from + i) : v_load((const float *)from + i));
    for (; i < size; i++)
        out[i] = half ? half_to_float((const uint16_t *)from + i) : ((const float *)from)[i];
}

CPU_INLINE void stage_planar(const uint32_t bits, const struct cpu_cache *cache, size_t slot, size_t at, size_t size,
                             float *out)
{
    const uint8_t *codes = cpu_cache_codes(cache, slot, at), *scales = cpu_cache_scales(cache, slot, at);
    const uint32_t log2_group = ACCEL_PLANAR_LOG2_GROUP(cache->type);
    for (size_t i = 0; i < size; i += 32, codes += 4 * bits) {
        const vf d = v_set(half_to_float(scales + (i >> log2_group) * 2)), less = d * (bits == 8 ? -128.0f : -8.0f);
        CPU_UNROLL
        for (size_t j = 0; j < 32; j += VN) {
            vf q = bits == 8 ? v_load_u8(codes + j, 0, 255) : v_load_u8(codes + j % 16, j < 16 ? 0 : 4, 15);
            v_store(out + i + j, v_fma(q, d, less));
        }
    }
}

/* Converts elements at .. at + size of `count` slots to rows of `padded` floats. */
static void stage(const struct cpu_cache *cache, const size_t *slot, size_t count, size_t at, size_t size,
                  size_t padded, float *out)
{
    for (size_t j = 0; j < count; j++, out += padded) {
        const char *row = (const char *)cache->data + slot[j] * cache->stride;
        prefetch_slot(cache, slot[j], at, size);
        if (cache->type == ACCEL_F16)
            stage_floats(1, row + at * 2, size, out);
        else if (cache->type == ACCEL_F32)
            stage_floats(0, row + at * 4, size, out);
        else if (ACCEL_PLANAR_BITS(cache->type) == 8)
            stage_planar(8, cache, slot[j], at, size, out);
        else
            stage_planar(4, cache, slot[j], at, size, out);
    }
}

/* ---- scores and values ---- */

/* Rows per pass: with four keys or vectors each, as many sums as registers hold. */
#if defined(CPU_BUILD_AVX512)
#define TOGETHER 4u
#else
#define TOGETHER 2u
#endif

/* Multiplies `rows` (a constant) rows of q with four keys. */
CPU_INLINE void dots(const size_t rows, const float *q, const float *k, size_t padded, float *out)
{
    vf sums[TOGETHER][4];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        CPU_UNROLL
    for (size_t j = 0; j < 4; j++)
        sums[r][j] = v_set(0);
    for (size_t i = 0; i < padded; i += VN) {
        vf key[4];
        CPU_UNROLL
        for (size_t j = 0; j < 4; j++)
            key[j] = v_load(k + j * padded + i);
        CPU_UNROLL
        for (size_t r = 0; r < rows; r++) {
            vf x = v_load(q + r * padded + i);
            CPU_UNROLL
            for (size_t j = 0; j < 4; j++)
                sums[r][j] = v_fma(x, key[j], sums[r][j]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        v_sum4(sums[r], out + r * KEYS);
}

static void score_tile(const struct scratch *s, size_t rows, size_t keys, size_t padded, float score[][KEYS])
{
    for (size_t j = 0; j < keys; j += 4) {
        size_t r = 0;
        for (; r + TOGETHER <= rows; r += TOGETHER)
            dots(TOGETHER, s->q + r * padded, s->k + j * padded, padded, score[r] + j);
        for (; r < rows; r++)
            dots(1, s->q + r * padded, s->k + j * padded, padded, score[r] + j);
    }
}

/* Updates `rows` (a constant) rows of sums, `vectors` (a constant) vectors of each from element i on. */
CPU_INLINE void add_values(const size_t rows, const size_t vectors, const float weight[][KEYS], const float *rescale,
                           const float *v, size_t keys, size_t padded, float *o)
{
    vf sums[TOGETHER][4];
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        CPU_UNROLL
    for (size_t u = 0; u < vectors; u++)
        sums[r][u] = v_load(o + r * padded + u * VN) * rescale[r];
    for (size_t j = 0; j < keys; j++, v += padded) {
        CPU_UNROLL
        for (size_t u = 0; u < vectors; u++) {
            vf value = v_load(v + u * VN);
            CPU_UNROLL
            for (size_t r = 0; r < rows; r++)
                sums[r][u] = v_fma(v_set(weight[r][j]), value, sums[r][u]);
        }
    }
    CPU_UNROLL
    for (size_t r = 0; r < rows; r++)
        CPU_UNROLL
    for (size_t u = 0; u < vectors; u++)
        v_store(o + r * padded + u * VN, sums[r][u]);
}

CPU_INLINE void add_rows(const size_t rows, const float weight[][KEYS], const float *rescale, const float *v,
                         size_t keys, size_t padded, float *o)
{
    size_t i = 0;
    for (; i + 4 * VN <= padded; i += 4 * VN)
        add_values(rows, 4, weight, rescale, v + i, keys, padded, o + i);
    for (; i < padded; i += VN)
        add_values(rows, 1, weight, rescale, v + i, keys, padded, o + i);
}

static void add_tile(struct scratch *s, size_t rows, size_t keys, size_t padded, const float rescale[ROWS])
{
    size_t r = 0;
    for (; r + TOGETHER <= rows; r += TOGETHER)
        add_rows(TOGETHER, (const float(*)[KEYS])s->score + r, rescale + r, s->v, keys, padded, s->o + r * padded);
    for (; r < rows; r++)
        add_rows(1, (const float(*)[KEYS])s->score + r, rescale + r, s->v, keys, padded, s->o + r * padded);
}

#endif
