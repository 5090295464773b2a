/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Detects slow leaks: a test repeats one operation and samples the memory of the process after each round.
 * Allocations of the first round, a cache that fills and a list that grows once are no leaks; memory that grows in
 * every part of the rounds is.
 */
#ifndef ACCEL_SDK_CONFORM_LEAK_H
#define ACCEL_SDK_CONFORM_LEAK_H

#include "sdk/conform/conform.h"

#define LEAK_TEXT 240u /* bytes of a warning text */
#define LEAK_PART 6u   /* rounds of a part; the first part is warm-up */
#define LEAK_ROUNDS (4 * LEAK_PART + 1)

/** Memory of the process after each round. Zeroed: no round yet. */
struct leak {
    uint64_t heap[LEAK_ROUNDS];   /**< bytes allocated by malloc and related functions, not yet freed */
    uint64_t mapped[LEAK_ROUNDS]; /**< bytes of private writable mappings, including the heap */
    uint64_t held[LEAK_ROUNDS];   /**< blocks or bytes of the kit's host, which only the driver allocates */
    uint32_t count;
};

/** Returns false if the allocator of this build reports no statistics: that of a sanitizer. */
bool leak_is_told(void);
/** Samples memory at the end of a round; `held` is the number of blocks or bytes that the host has outstanding. */
void leak_look(struct leak *leak, uint64_t held);
/** Fails after LEAK_ROUNDS rounds if they leak memory. `what` names the operation of a round, `unit` the unit that
 * the host counted. A leak cannot be attributed if the driver loads libraries of its vendor, which may call malloc
 * themselves: then `out_doubt` is filled instead, with "" if there is no leak. */
void leak_judge(const struct leak *leak, struct conform *conform, const char *what, const char *unit,
                char out_doubt[LEAK_TEXT]);

#endif
