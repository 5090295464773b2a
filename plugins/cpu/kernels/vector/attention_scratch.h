/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of attention: the size of a block of rows and of a tile of keys, and what is kept of them on the stack. */
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
    float scale[GROUPS][KEYS]; /* of the groups of each key */
    int32_t sum[ROWS][GROUPS]; /* of the elements of q8 in each group */
    float q_scale[ROWS];
    int8_t q8[TILE];     /* [rows, size] */
    uint8_t bytes[TILE]; /* digits: of keys [keys, size]; of values [pairs, size, 2], those of two keys side by side */
    size_t slot[KEYS];
    int k_digits; /* 1: keys are multiplied as digits */
    int v_digits;
};

/* Asks for elements at .. at + size of the slot that lies a tile behind `slot`: slots mostly follow one another, but
 * the parts of one head are no stream that the processor follows by itself. Past the end of a cache it does nothing. */
CPU_INLINE void ask_slot(const struct cpu_cache *cache, size_t slot, size_t at, size_t size)
{
    const size_t bits = cache->type == ACCEL_F32 ? 32 : cache->type == ACCEL_F16 ? 16 : ACCEL_PLANAR_BITS(cache->type);
    const char *p = (const char *)cache->data + (slot + KEYS) * cache->stride + at * bits / 8;
    const size_t bytes = size * bits / 8;
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(p + i);
    __builtin_prefetch(p + bytes - 1);
}

#endif
