/* SPDX-License-Identifier: Apache-2.0 */
/* Attention as the kernels of the CPU do it, and the caches of keys and values that it reads. */
#ifndef CPU_KERNELS_ATTENTION_H
#define CPU_KERNELS_ATTENTION_H

#include <accel/types.h>
#include <stddef.h>
#include <stdint.h>

/* Keys or values of all slots, `row` elements each: those of the heads one after the other. Types: ACCEL_F32,
 * ACCEL_F16, and the symmetric planar ones of 8 and 4 bits whose group divides a head. Of a planar type the digits of a
 * slot's row come first, then its scales. */
struct cpu_cache {
    const void *data;
    uint32_t type;
    size_t row;
    size_t stride; /* bytes from slot to slot */
};

/* Attention over caches; its meaning is ACCEL_OP_ATTENTION's. */
struct cpu_attention {
    const float *q; /* [tokens, heads, size] */
    float *y;       /* [tokens, heads, value_size] */
    struct cpu_cache k;
    struct cpu_cache v;
    size_t tokens;
    size_t heads;
    size_t kv_heads;
    size_t size; /* at most CPU_HEAD */
    size_t value_size;
    size_t sequences;
    const int32_t *first;  /* [sequences + 1] */
    const int32_t *length; /* [sequences] */
    const int32_t *table;  /* [sequences, pages] */
    size_t pages;
    size_t page; /* tokens in a page */
    size_t window;
    size_t sinks; /* first keys that are seen beside the window */
    uint32_t causal;
    uint32_t rounding; /* ACCEL_Q8_0: q may be rounded to 8 bits, and weights of values to 14 */
    float scale;
    float softcap;
    size_t part; /* of `parts` into which the keys that are seen are cut; parts 0 or 1: all of them */
    size_t parts;
    float *partial; /* [tokens * heads, value_size + 2]: instead of y, the largest score, the sum of weights under it,
                       and the weighted values; NULL: y */
    const uint32_t *mask; /* [sequences, blocks, (blocks + 31) / 32] bits; NULL: none */
    size_t blocks;        /* pages * page / block, rounded up */
    size_t block;         /* places that share a bit */
    float *stats;         /* [tokens * heads, 2]: largest score and sum of each item, or NULL */
    float *mass;          /* [sequences, pages * page], of slot `attention_mass` alone */
};

/* Elements of a head at most. */
#define CPU_HEAD 1024u

/* Items begin .. end of tokens * heads, item = token * heads + head. */
typedef void cpu_attention_fn(const struct cpu_attention *call, size_t begin, size_t end);

/* Adds the weights of items begin .. end (of their part of the keys) to the mass of the places they are given to. The
 * stats are those of all parts. Scores are made once more, so that nothing is kept that grows with the length. */
typedef void cpu_attention_mass_fn(const struct cpu_attention *call, size_t begin, size_t end);

/* Puts parts together: items begin .. end of y [items, value_size] from partial [parts, items, value_size + 2]; stats
 * as in cpu_attention. */
void cpu_attention_merge(const float *partial, size_t parts, size_t items, size_t value_size, size_t begin, size_t end,
                         float *y, float *stats);

/* Rows begin .. end of x [tokens, row] to the cache; slot -1 writes nothing. */
typedef void cpu_cache_write_fn(const float *x, const int32_t *slot, const struct cpu_cache *cache, size_t begin,
                                size_t end);

/* Whether kernels read and write caches of a type whose heads have `size` elements. */
static inline int cpu_is_cache_type(uint32_t type, size_t size)
{
    const uint32_t bits = ACCEL_PLANAR_BITS(type), log2_group = ACCEL_PLANAR_LOG2_GROUP(type);
    if (type == ACCEL_F32 || type == ACCEL_F16)
        return 1;
    return (bits == 4 || bits == 8) && log2_group >= 5 && log2_group <= 7 &&
           type == ACCEL_PLANAR(bits, log2_group, ACCEL_SCHEME_SYMMETRIC) && size % ((size_t)1 << log2_group) == 0;
}

/* Bytes of a slot. */
static inline size_t cpu_cache_stride(uint32_t type, size_t row)
{
    if (type == ACCEL_F32 || type == ACCEL_F16)
        return row * (type == ACCEL_F32 ? 4 : 2);
    return row / 8 * ACCEL_PLANAR_BITS(type) + (row >> ACCEL_PLANAR_LOG2_GROUP(type)) * 2;
}

/* Digits of a planar cache from element `at` of a slot on, a multiple of 32. */
static inline const unsigned char *cpu_cache_digits(const struct cpu_cache *cache, size_t slot, size_t at)
{
    return (const unsigned char *)cache->data + slot * cache->stride + at / 8 * ACCEL_PLANAR_BITS(cache->type);
}

/* Scales of a planar cache from element `at` of a slot on, a multiple of its group. */
static inline const unsigned char *cpu_cache_scales(const struct cpu_cache *cache, size_t slot, size_t at)
{
    return cpu_cache_digits(cache, slot, cache->row) + (at >> ACCEL_PLANAR_LOG2_GROUP(cache->type)) * 2;
}

#endif
