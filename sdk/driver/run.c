/* SPDX-License-Identifier: Apache-2.0 */
/* Running a set: group after group, on every rank or on rank 0, in one fork and join of the crew for a step. */
#include "sdk/driver/program.h"

#include <stdatomic.h>
#include <string.h>

static void refresh(struct sdk_set *set, const uint64_t *symbols)
{
    const struct accel_graph *graph = set->program->graph;

    memcpy(set->symbols, symbols, graph->symbol_count * sizeof *symbols);
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

        if (head[i].is_form)
            kernel->form_part(call, begin, end);
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

static void run_alone(const struct sdk_set *set)
{
    for (uint32_t a = 0; a < set->action_count; a += set->actions[a].members)
        run_all(set, &set->actions[a]);
}

/* Takes the next piece of the `left` multiples that are given out: smaller and smaller ones. */
static uint64_t fetch(_Atomic uint64_t *fetched, uint64_t left, uint32_t ranks, uint64_t *out_at)
{
    uint64_t at = atomic_load_explicit(fetched, memory_order_relaxed), piece;

    do {
        if (at >= left)
            return 0;
        piece = (left - at) / (2 * (uint64_t)ranks);
        piece = piece == 0 ? 1 : piece;
    } while (
        !atomic_compare_exchange_weak_explicit(fetched, &at, at + piece, memory_order_relaxed, memory_order_relaxed));
    *out_at = at;
    return piece;
}

/* A rank's fixed part, half of its share, comes first: ranks do not meet over the counter at the start, and what they
 * fetch then makes up for one of them being late. */
static void run_fetched(const struct sdk_set *set, const struct sdk_action *head, uint32_t rank, uint32_t ranks)
{
    _Atomic uint64_t *fetched = &set->fetched[head - set->actions];
    const uint64_t grain = head->grain, multiples = (head->parts + grain - 1) / grain, share = multiples / ranks / 2;
    const uint64_t rest = share * ranks;
    uint64_t at, piece;

    run_parts(set, head, rank * share * grain, (rank + 1) * share * grain);
    while ((piece = fetch(fetched, multiples - rest, ranks, &at)) != 0) {
        uint64_t begin = (rest + at) * grain, end = begin + piece * grain;

        run_parts(set, head, begin, end < head->parts ? end : head->parts);
    }
}

static void run_share(const struct sdk_set *set, const struct sdk_action *head, uint32_t rank, uint32_t ranks)
{
    uint64_t begin, end;

    if (head->fetched) {
        run_fetched(set, head, rank, ranks);
    } else if (head->parts != 0) {
        sdk_split(head->parts, head->grain, rank, ranks, &begin, &end);
        run_parts(set, head, begin, end);
    } else if (set->kernels[head->call]->run != NULL) {
        set->kernels[head->call]->run(&set->calls[head->call], rank, ranks);
    }
}

static void run_rank(void *argument, uint32_t rank, uint32_t ranks)
{
    struct sdk_set *set = argument;

    for (uint32_t a = 0; a < set->action_count; a += set->actions[a].members) {
        const struct sdk_action *head = &set->actions[a];

        if (head->split)
            run_share(set, head, rank, ranks);
        else if (rank == 0)
            run_all(set, head);
        if (head->meet)
            sdk_barrier_wait(&set->barrier);
    }
}

static int32_t set_run(struct accel_driver_set *base, const uint64_t *symbols, const struct accel_crew *crew,
                       struct accel_error *error)
{
    struct sdk_set *set = (struct sdk_set *)base;
    uint32_t symbol_count = set->program->graph->symbol_count;
    uint32_t ranks = crew->ranks < set->ranks ? crew->ranks : set->ranks;

    if (symbol_count != 0 && memcmp(set->symbols, symbols, symbol_count * sizeof *symbols) != 0) {
        refresh(set, symbols);
        sdk_share_out(set, ranks);
    } else if (set->step_ranks != ranks) {
        sdk_share_out(set, ranks);
    }
    if (set->alone) {
        run_alone(set);
        return ACCEL_OK;
    }
    for (uint32_t a = 0; a < set->action_count; a++)
        atomic_store_explicit(&set->fetched[a], 0, memory_order_relaxed);
    return crew->run(crew, ranks, run_rank, set, error);
}

static int32_t set_free(struct accel_driver_set *base)
{
    sdk_set_release((struct sdk_set *)base);
    return ACCEL_OK;
}

const struct accel_set_table sdk_set_table = {.size = sizeof sdk_set_table, .free = set_free, .run = set_run};
