/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how fast threads read and copy main memory. */
#ifndef MEASURE_MEMORY_H
#define MEASURE_MEMORY_H

#include "tools/measure/spread.h"
#include "tools/measure/team.h"

struct measure_memory {
    struct measure_spread read;   /* bytes a second; `most` is the limit */
    struct measure_spread copy;   /* bytes read and bytes written, together, as STREAM counts them */
    struct measure_spread cached; /* reading what half of the last cache holds, again and again */
    double bytes;                 /* of the block in main memory */
    double cached_bytes;          /* of the one in the cache; 0: the system does not tell its size */
    uint32_t huge;                /* 1: huge pages were requested and not refused */
};

/* Reads a block of at least 256 MiB and four times the last cache (less if memory is short) `rounds` times, each
 * thread its own part, which it has touched first; copies one half over the other; and reads a block of half the
 * last cache. `tell` with its data may be NULL. Answers 0 or an errno. */
int measure_memory(uint32_t threads, const int32_t *processors, uint32_t rounds, measure_tell *tell, void *data,
                   struct measure_memory *out_memory);

/* Returns the bytes of the largest cache of a processor, 0 if the system does not report it. */
double measure_last_cache(void);

#endif
