/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which groups of a step are split over threads, and places barriers. Small models have many nodes that take
 * less time than a barrier; thread 0 runs these without barriers, and runs the whole step if starting the team costs
 * more than it saves.
 */
#include <stdbool.h>

#include "sdk/driver/program.h"

/* Cost of a barrier and of starting a team, in nanoseconds, including data that moves to another processor's cache.
 * Measured between two processors that share their last-level cache; an error costs little near the break-even point.
 */
#define BARRIER_NANOSECONDS 120u
#define TEAM_NANOSECONDS 2000u
/* Shortest time per thread for which parts are scheduled dynamically: each claim costs about a hundredth of it. */
#define DYNAMIC_NANOSECONDS 3000u

/* Returns the nanoseconds of an action on one thread; UINT64_MAX if the kernel gives no estimate. */
static uint64_t work_of(const struct sdk_set *set, const struct sdk_action *action)
{
    const struct sdk_kernel *kernel = set->kernels[action->call];
    const struct sdk_call *call = &set->calls[action->call];

    if (action->is_staging)
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

static bool is_worth(const struct sdk_set *set, const struct sdk_action *head, uint64_t work, uint32_t threads)
{
    if (threads < 2 || (set->kernels[head->call]->flags & SDK_KERNEL_ONE_THREAD) != 0)
        return false;
    return work > BARRIER_NANOSECONDS + work / threads;
}

/* Places a barrier before each group that conflicts with a group since the last barrier, unless both run on thread 0.
 * The end of the step is an implicit barrier. Returns their number. */
static uint64_t place_barriers(struct sdk_set *set)
{
    uint64_t barriers = 0;
    uint32_t since = 0, before = 0;

    for (uint32_t b = 0; b < set->action_count; b += set->actions[b].members) {
        set->actions[b].barrier = 0;
        for (uint32_t a = since; a < b; a += set->actions[a].members) {
            if ((!set->actions[a].split && !set->actions[b].split) || !sdk_groups_conflict(set, a, b))
                continue;
            set->actions[before].barrier = 1;
            barriers++;
            since = b;
            break;
        }
        before = b;
    }
    return barriers;
}

static void assign_barrier(struct sdk_set *set)
{
    for (uint32_t a = 0; a < set->action_count; a++)
        if (set->actions[a].members != 0 && !set->actions[a].is_staging)
            set->calls[set->actions[a].call].barrier = set->actions[a].split && !set->serial ? &set->barrier : NULL;
}

void sdk_schedule(struct sdk_set *set, uint32_t threads)
{
    uint64_t saved = 0;

    sdk_group_actions(set);
    for (uint32_t a = 0; a < set->action_count; a += set->actions[a].members) {
        struct sdk_action *head = &set->actions[a];
        uint64_t work = group_work(set, head);

        head->split = is_worth(set, head, work, threads);
        head->dynamic =
            head->split && work / threads >= DYNAMIC_NANOSECONDS && head->parts / head->grain >= 4 * (uint64_t)threads;
        if (head->split)
            saved = saved + (work - work / threads) < saved ? UINT64_MAX : saved + (work - work / threads);
    }
    set->serial = saved <= TEAM_NANOSECONDS + BARRIER_NANOSECONDS * place_barriers(set);
    assign_barrier(set);
    set->barrier.threads = threads;
    set->step_threads = threads;
}
