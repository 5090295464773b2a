/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout of intermediates in scratch. Greedy by size: the largest block first, each at the lowest offset that is free
 * during its lifetime. Within a few per cent of the lower bound on the graphs of language models, and quadratic in the
 * number of blocks, a few hundred.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "sdk/driver/graph.h"

#define LINE 64u

static int compare_sizes(const void *a, const void *b)
{
    const struct sdk_block *x = a;
    const struct sdk_block *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->last > y->last) - (x->last < y->last);
}

static bool lifetimes_overlap(const struct sdk_block *a, const struct sdk_block *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset for a block among those placed: moved past each one that it would overlap, until it overlaps none.
 */
static uint64_t lowest_offset(const struct sdk_block *placed, uint32_t count, const struct sdk_block *block)
{
    uint64_t offset = 0;

    for (uint32_t moved = 1; moved != 0;) {
        moved = 0;
        for (uint32_t i = 0; i < count; i++) {
            const struct sdk_block *other = &placed[i];

            if (lifetimes_overlap(other, block) && offset < other->offset + other->bytes &&
                other->offset < offset + block->bytes) {
                offset = other->offset + other->bytes;
                moved = 1;
            }
        }
    }
    return offset;
}

uint64_t sdk_layout_plan(struct sdk_block *blocks, uint32_t count)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < count; i++)
        blocks[i].bytes = (blocks[i].bytes + LINE - 1) & ~(uint64_t)(LINE - 1);
    qsort(blocks, count, sizeof(*blocks), compare_sizes);
    for (uint32_t i = 0; i < count; i++) {
        blocks[i].offset = lowest_offset(blocks, i, &blocks[i]);
        if (blocks[i].offset + blocks[i].bytes > end)
            end = blocks[i].offset + blocks[i].bytes;
    }
    return end;
}
