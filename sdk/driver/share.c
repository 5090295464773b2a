/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes of a step are worth several ranks. Small models have many nodes that take less time than ranks need to
 * meet; rank 0 does these alone, one after the other without a barrier, and does the whole step alone where the crew
 * would cost more than it saves.
 */
#include "sdk/driver/program.h"

/* What a meeting of ranks and the start of a crew cost, in nanoseconds: data that moves to another processor's cache is
 * in it. Measured between two processors that share their last cache; a wrong guess costs little near the border. */
#define MEETING 250u
#define CREW 3000u

/* Nanoseconds on one rank; UINT64_MAX where the kernel does not say. */
static uint64_t work_of(const struct sdk_set *set, uint32_t c)
{
    const struct sdk_kernel *kernel = set->kernels[c];

    if (kernel->work == NULL)
        return UINT64_MAX;
    return kernel->work(&set->calls[c]);
}

static uint32_t is_worth(const struct sdk_kernel *kernel, uint64_t work, uint32_t ranks)
{
    if (ranks < 2 || (kernel->flags & SDK_KERNEL_ONE_RANK) != 0)
        return 0;
    return work > MEETING + work / ranks;
}

/* Ranks meet after a call unless rank 0 does both it and the next one: the end of the step is a meeting by itself. */
static void place_meetings(struct sdk_set *set)
{
    for (uint32_t c = 0; c < set->call_count; c++)
        set->uses[c].meet = c + 1 < set->call_count && (set->uses[c].split || set->uses[c + 1].split);
}

void sdk_share_out(struct sdk_set *set, uint32_t ranks)
{
    uint64_t saved = 0;

    for (uint32_t c = 0; c < set->call_count; c++) {
        uint64_t work = work_of(set, c);

        set->uses[c].split = is_worth(set->kernels[c], work, ranks);
        if (!set->uses[c].split)
            continue;
        work -= work / ranks + MEETING;
        saved = saved + work < saved ? UINT64_MAX : saved + work;
    }
    set->alone = saved <= CREW;
    for (uint32_t c = 0; c < set->call_count; c++)
        set->calls[c].barrier = set->uses[c].split && !set->alone ? &set->barrier : NULL;
    place_meetings(set);
    set->barrier.ranks = ranks;
    set->step_ranks = ranks;
}
