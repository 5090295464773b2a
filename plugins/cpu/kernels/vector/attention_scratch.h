/* SPDX-License-Identifier: Apache-2.0 */
/* Private to attention: sizes of a block of rows and of a tile of keys, and their scratch memory on the stack. */
#ifndef CPU_VECTOR_ATTENTION_SCRATCH_H
#define CPU_VECTOR_ATTENTION_SCRATCH_H

#include "functions.h"

#define ROWS 16u   /* query rows of a block */
#define KEYS 32u   /* keys of a tile */
#define TILE 4096u /* elements of a tile of keys or values, of the queries of a block, of its sums */
#define GROUPS 32u /* groups of a head: CPU_HEAD / 32 */

struct scratch {
    float q[TILE]; /* [rows, padded size], times the scale of the scores */
    float o[TILE]; /* [rows, padded value size] */
    float k[TILE]; /* [keys, padded size]: staged */
    float v[TILE]; /* [keys, padded value size]: staged */
    float score[ROWS][KEYS];
    float scale[GROUPS][KEYS]; /* scales of the groups of each key */
    int32_t sum[ROWS][GROUPS]; /* sums of q8 per group */
    float q_scale[ROWS];
    int8_t q8[TILE];     /* [rows, size] */
    uint8_t bytes[TILE]; /* codes: of keys [keys, size]; of values [pairs, size, 2], two keys interleaved */
    size_t slot[KEYS];
    int k_codes; /* 1: keys are multiplied as codes */
    int v_codes;
};

/* Prefetches elements at .. at + size of the slot one tile after `slot`: slots are mostly consecutive, but the parts of
 * one head are no stream for the hardware prefetcher. Harmless past the end of a cache. */
CPU_INLINE void prefetch_slot(const struct cpu_cache *cache, size_t slot, size_t at, size_t size)
{
    const size_t bits = cache->type == ACCEL_F32 ? 32 : cache->type == ACCEL_F16 ? 16 : ACCEL_PLANAR_BITS(cache->type);
    const char *p = (const char *)cache->data + (slot + KEYS) * cache->stride + at * bits / 8;
    const size_t bytes = size * bits / 8;
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(p + i);
    __builtin_prefetch(p + bytes - 1);
}

#endif
