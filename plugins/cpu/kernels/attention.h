/* SPDX-License-Identifier: Apache-2.0 */
/* Interface of the CPU attention kernels and the KV caches that they read. */
#ifndef CPU_KERNELS_ATTENTION_H
#define CPU_KERNELS_ATTENTION_H

#include <accel/types.h>
#include <stddef.h>
#include <stdint.h>

/* Keys or values of all slots, `row` elements each, head after head. Types: ACCEL_F32, ACCEL_F16, and symmetric planar
 * types of 8 and 4 bits whose group divides a head. In planar types the codes of a slot precede its scales. */
struct cpu_cache {
    const void *data;
    uint32_t type;
    size_t row;
    size_t stride; /* bytes from slot to slot */
};

/* Arguments of attention over a paged KV cache, or with first_key over tensors; ACCEL_OP_ATTENTION and
 * ACCEL_OP_DENSE_ATTENTION define the semantics. */
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
    size_t sinks; /* first keys that are visible beside the window */
    uint32_t causal;
    uint32_t rounding; /* ACCEL_Q8_0: q may be rounded to 8 bits, and weights of values to 14 */
    float scale;
    float softcap;
    size_t part; /* part of `parts` of the visible keys; parts 0 or 1: all keys */
    size_t parts;
    float *partial; /* [tokens * heads, value_size + 2], written instead of y: largest score, sum of weights, weighted
                       values; NULL: y */
    const uint32_t *mask;     /* [sequences, blocks, (blocks + 31) / 32] bits; NULL: none */
    size_t blocks;            /* pages * page / block, rounded up */
    size_t block;             /* keys that share a bit */
    float *stats;             /* [tokens * heads, 2]: largest score and sum of each item, or NULL */
    float *score_sums;        /* [sequences, pages * page], of kernel `attention_score_sums` only */
    const float *slope;       /* [heads]; NULL: none */
    const float *sink;        /* [heads]; NULL: none */
    const int32_t *first_key; /* [sequences + 1]: key j of sequence s is slot first_key[s] + j; NULL: paged */
    size_t before;            /* windows over tensors, 0: none */
    size_t after;
    const float *bias; /* [kinds, heads, rows, columns], or NULL */
    size_t kinds;
    size_t rows;
    size_t columns;
    const float *relative; /* [heads, span], or NULL */
    size_t span;
    size_t center;
};

/* Returns the keys of a sequence. */
static inline size_t cpu_keys_of(const struct cpu_attention *call, size_t sequence)
{
    return (size_t)(call->first_key == NULL ? call->length[sequence]
                                            : call->first_key[sequence + 1] - call->first_key[sequence]);
}

/* Elements of a head at most. */
#define CPU_HEAD 1024u

/* Items begin .. end of tokens * heads, item = token * heads + head. */
typedef void cpu_attention_fn(const struct cpu_attention *call, size_t begin, size_t end);

/* Adds the attention weights of items begin .. end (of their part of the keys) to score_sums. `stats` are those of all
 * parts. Scores are recomputed, so that no memory grows with the sequence length. */
typedef void cpu_attention_score_sums_fn(const struct cpu_attention *call, size_t begin, size_t end);

/* Merges partial results: items begin .. end of y [items, value_size] from partial [parts, items, value_size + 2];
 * stats as in cpu_attention. */
void cpu_attention_merge(const float *partial, size_t parts, size_t items, size_t value_size, size_t begin, size_t end,
                         float *y, float *stats);

/* Writes rows begin .. end of x [tokens, row] to the cache; slot -1 is skipped. */
typedef void cpu_cache_write_fn(const float *x, const int32_t *slot, const struct cpu_cache *cache, size_t begin,
                                size_t end);

/* Returns whether kernels support a cache type with heads of `size` elements. */
static inline int cpu_is_cache_type(uint32_t type, size_t size)
{
    const uint32_t bits = ACCEL_PLANAR_BITS(type), log2_group = ACCEL_PLANAR_LOG2_GROUP(type);
    if (type == ACCEL_F32 || type == ACCEL_F16)
        return 1;
    return (bits == 4 || bits == 8) && log2_group >= 5 && log2_group <= 7 &&
           type == ACCEL_PLANAR(bits, log2_group, ACCEL_SCHEME_SYMMETRIC) && size % ((size_t)1 << log2_group) == 0;
}

/* Returns the bytes of a slot. */
static inline size_t cpu_cache_stride(uint32_t type, size_t row)
{
    if (type == ACCEL_F32 || type == ACCEL_F16)
        return row * (type == ACCEL_F32 ? 4 : 2);
    return row / 8 * ACCEL_PLANAR_BITS(type) + (row >> ACCEL_PLANAR_LOG2_GROUP(type)) * 2;
}

/* Codes of a planar cache from element `at` of a slot on, a multiple of 32. */
static inline const unsigned char *cpu_cache_codes(const struct cpu_cache *cache, size_t slot, size_t at)
{
    return (const unsigned char *)cache->data + slot * cache->stride + at / 8 * ACCEL_PLANAR_BITS(cache->type);
}

/* Scales of a planar cache from element `at` of a slot on, a multiple of its group. */
static inline const unsigned char *cpu_cache_scales(const struct cpu_cache *cache, size_t slot, size_t at)
{
    return cpu_cache_codes(cache, slot, cache->row) + (at >> ACCEL_PLANAR_LOG2_GROUP(cache->type)) * 2;
}

#endif
