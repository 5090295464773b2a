/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which groups of a step are worth several ranks, and where ranks meet. Small models have many nodes that take less
 * time than ranks need to meet; rank 0 does these alone, one after the other without a barrier, and does the whole step
 * alone where the crew would cost more than it saves.
 */
#include "sdk/driver/program.h"

/* What a meeting of ranks and the start of a crew cost, in nanoseconds: data that moves to another processor's cache is
 * in it. Measured between two processors that share their last cache; a wrong guess costs little near the border. */
#define MEETING 120u
#define CREW 2000u
/* Nanoseconds of a rank below which parts are not given out one by one: each costs about a hundredth of this. */
#define FETCHED 3000u

/* Nanoseconds on one rank; UINT64_MAX where the kernel does not say. */
static uint64_t work_of(const struct sdk_set *set, const struct sdk_action *action)
{
    const struct sdk_kernel *kernel = set->kernels[action->call];
    const struct sdk_call *call = &set->calls[action->call];

    if (action->is_form)
        return call->inputs[0]->rows * call->inputs[0]->width / 4;
    if (kernel->work == NULL)
        return UINT64_MAX;
    return kernel->work(call);
}

static uint64_t group_work(const struct sdk_set *set, const struct sdk_action *head)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < head->members; i++) {
        uint64_t work = work_of(set, head + i);

        sum = sum + work < sum ? UINT64_MAX : sum + work;
    }
    return sum;
}

static uint32_t is_worth(const struct sdk_set *set, const struct sdk_action *head, uint64_t work, uint32_t ranks)
{
    if (ranks < 2 || (set->kernels[head->call]->flags & SDK_KERNEL_ONE_RANK) != 0)
        return 0;
    return work > MEETING + work / ranks;
}

/* Ranks meet before a group that touches what one since the last meeting has written, or writes what that one touches;
 * rank 0 needs no meeting with itself. The end of the step is a meeting by itself. Answers their number. */
static uint64_t place_meetings(struct sdk_set *set)
{
    uint64_t meetings = 0;
    uint32_t since = 0, before = 0;

    for (uint32_t b = 0; b < set->action_count; b += set->actions[b].members) {
        set->actions[b].meet = 0;
        for (uint32_t a = since; a < b; a += set->actions[a].members) {
            if ((!set->actions[a].split && !set->actions[b].split) || !sdk_groups_touch(set, a, b))
                continue;
            set->actions[before].meet = 1;
            meetings++;
            since = b;
            break;
        }
        before = b;
    }
    return meetings;
}

static void lend_barrier(struct sdk_set *set)
{
    for (uint32_t a = 0; a < set->action_count; a++)
        if (set->actions[a].members != 0 && !set->actions[a].is_form)
            set->calls[set->actions[a].call].barrier = set->actions[a].split && !set->alone ? &set->barrier : NULL;
}

void sdk_share_out(struct sdk_set *set, uint32_t ranks)
{
    uint64_t saved = 0;

    sdk_group(set);
    for (uint32_t a = 0; a < set->action_count; a += set->actions[a].members) {
        struct sdk_action *head = &set->actions[a];
        uint64_t work = group_work(set, head);

        head->split = is_worth(set, head, work, ranks);
        head->fetched = head->split && work / ranks >= FETCHED && head->parts / head->grain >= 4 * (uint64_t)ranks;
        if (head->split)
            saved = saved + (work - work / ranks) < saved ? UINT64_MAX : saved + (work - work / ranks);
    }
    set->alone = saved <= CREW + MEETING * place_meetings(set);
    lend_barrier(set);
    set->barrier.ranks = ranks;
    set->step_ranks = ranks;
}
