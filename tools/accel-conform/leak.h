/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What is lost a little at a time: the same is done over and over, and what the process holds is looked at after each
 * round. What a first round keeps, a cache that fills and a list that grows once are no leak: one is what grows in
 * every part of the rounds.
 */
#ifndef ACCEL_TOOLS_CONFORM_LEAK_H
#define ACCEL_TOOLS_CONFORM_LEAK_H

#include "tools/accel-conform/conform.h"

#define LEAK_TEXT 240u /* bytes of a doubt */
#define LEAK_PART 6u   /* rounds of a part; those of the first part are not judged */
#define LEAK_ROUNDS (4 * LEAK_PART + 1)

/** What the process held after each round. Zeroed: none yet. */
struct leak {
    uint64_t heap[LEAK_ROUNDS];   /**< bytes that were asked of malloc and its like and not given back */
    uint64_t mapped[LEAK_ROUNDS]; /**< bytes of its own writable mappings, those of the heap among them */
    uint64_t blocks[LEAK_ROUNDS]; /**< of the driver's host, which are the driver's for certain */
    uint32_t count;
};

/** False where the allocator of this build tells nothing: one that a sanitizer brings. */
bool leak_is_told(void);
/** Looks at the end of a round; `blocks` are alive that the host gave out. */
void leak_look(struct leak *leak, uint64_t blocks);
/** After LEAK_ROUNDS rounds: fails where they lost memory. `what` is what a round did. Where the driver opens libraries
 *  of its maker nobody can tell whose malloc it is that loses: then `out_doubt` is filled, "" if all is well. */
void leak_judge(const struct leak *leak, struct conform *conform, const char *what, char out_doubt[LEAK_TEXT]);

#endif
