/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a set: group after group, on every thread or on thread 0, in one fork and join of the team per step. */
#include <stdatomic.h>
#include <string.h>

#include "sdk/driver/program.h"

static void refresh(struct sdk_set *set, const uint64_t *symbols)
{
    const struct accel_graph *graph = set->program->graph;

    memcpy(set->symbols, symbols, graph->symbol_count * sizeof(*symbols));
    for (uint32_t i = 0; i < set->symbolic_count; i++)
        sdk_tensor_measure(&set->tensors[set->symbolic[i]], graph->values[set->symbolic[i]], symbols,
                           graph->symbol_count);
}

/* Every action of a group for the parts begin .. end. */
static void run_parts(const struct sdk_set *set, const struct sdk_action *head, uint64_t begin, uint64_t end)
{
    for (uint32_t i = 0; i < head->members && begin < end; i++) {
        const struct sdk_kernel *kernel = set->kernels[head[i].call];
        const struct sdk_call *call = &set->calls[head[i].call];

        if (head[i].is_staging)
            kernel->stage_part(call, begin, end);
        else
            kernel->part(call, begin, end);
    }
}

static void run_all(const struct sdk_set *set, const struct sdk_action *head)
{
    if (head->parts != 0)
        run_parts(set, head, 0, head->parts);
    else if (set->kernels[head->call]->run != NULL)
        set->kernels[head->call]->run(&set->calls[head->call], 0, 1);
}

static void run_serial(const struct sdk_set *set)
{
    for (uint32_t a = 0; a < set->action_count; a += set->actions[a].members)
        run_all(set, &set->actions[a]);
}

/* Claims the next piece of `left` multiples. Pieces shrink towards the end (guided schedule). */
static uint64_t claim_parts(_Atomic uint64_t *claimed, uint64_t left, uint32_t threads, uint64_t *out_at)
{
    uint64_t at = atomic_load_explicit(claimed, memory_order_relaxed), piece;

    do {
        if (at >= left)
            return 0;
        piece = (left - at) / (2 * (uint64_t)threads);
        piece = piece == 0 ? 1 : piece;
    } while (
        !atomic_compare_exchange_weak_explicit(claimed, &at, at + piece, memory_order_relaxed, memory_order_relaxed));
    *out_at = at;
    return piece;
}

/* Runs half of a thread's share statically, so that threads do not contend for the counter at the start, then claims
 * pieces dynamically, which compensates for late threads. */
static void run_dynamic(const struct sdk_set *set, const struct sdk_action *head, uint32_t thread, uint32_t threads)
{
    _Atomic uint64_t *claimed = &set->claimed[head - set->actions];
    const uint64_t grain = head->grain, multiples = (head->parts + grain - 1) / grain, share = multiples / threads / 2;
    const uint64_t rest = share * threads;
    uint64_t at, piece;

    run_parts(set, head, thread * share * grain, (thread + 1) * share * grain);
    while ((piece = claim_parts(claimed, multiples - rest, threads, &at)) != 0) {
        uint64_t begin = (rest + at) * grain, end = begin + piece * grain;

        run_parts(set, head, begin, end < head->parts ? end : head->parts);
    }
}

static void run_on_thread(const struct sdk_set *set, const struct sdk_action *head, uint32_t thread, uint32_t threads)
{
    uint64_t begin, end;

    if (head->dynamic) {
        run_dynamic(set, head, thread, threads);
    } else if (head->parts != 0) {
        sdk_split(head->parts, head->grain, thread, threads, &begin, &end);
        run_parts(set, head, begin, end);
    } else if (set->kernels[head->call]->run != NULL) {
        set->kernels[head->call]->run(&set->calls[head->call], thread, threads);
    }
}

static void run_thread(void *argument, uint32_t thread, uint32_t threads)
{
    struct sdk_set *set = argument;

    for (uint32_t a = 0; a < set->action_count; a += set->actions[a].members) {
        const struct sdk_action *head = &set->actions[a];

        if (head->split)
            run_on_thread(set, head, thread, threads);
        else if (thread == 0)
            run_all(set, head);
        if (head->barrier)
            sdk_barrier_wait(&set->barrier);
    }
}

static int32_t set_run(struct accel_driver_set *base, const uint64_t *symbols, const struct accel_team *team,
                       struct accel_error *error)
{
    struct sdk_set *set = (struct sdk_set *)base;
    uint32_t symbol_count = set->program->graph->symbol_count;
    uint32_t threads = team->threads < set->threads ? team->threads : set->threads;

    if (symbol_count != 0 && memcmp(set->symbols, symbols, symbol_count * sizeof(*symbols)) != 0) {
        refresh(set, symbols);
        sdk_set_prepare_calls(set);
        sdk_schedule(set, threads);
    } else if (set->step_threads != threads) {
        sdk_schedule(set, threads);
    }
    if (set->serial) {
        run_serial(set);
        return ACCEL_OK;
    }
    for (uint32_t a = 0; a < set->action_count; a++)
        atomic_store_explicit(&set->claimed[a], 0, memory_order_relaxed);
    return team->run(team, threads, run_thread, set, error);
}

static int32_t set_free(struct accel_driver_set *base)
{
    sdk_set_release((struct sdk_set *)base);
    return ACCEL_OK;
}

const struct accel_set_table sdk_set_table = {.size = sizeof(sdk_set_table), .free = set_free, .run = set_run};
