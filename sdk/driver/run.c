/* SPDX-License-Identifier: Apache-2.0 */
/* Running a set: node after node, on every rank or on rank 0, in one fork and join of the crew for a step. */
#include "sdk/driver/program.h"

#include <string.h>

static void refresh(struct sdk_set *set, const uint64_t *symbols)
{
    const struct accel_graph *graph = set->program->graph;

    memcpy(set->symbols, symbols, graph->symbol_count * sizeof *symbols);
    for (uint32_t i = 0; i < set->symbolic_count; i++)
        sdk_tensor_measure(&set->tensors[set->symbolic[i]], graph->values[set->symbolic[i]], symbols,
                           graph->symbol_count);
}

static void run_alone(struct sdk_set *set)
{
    for (uint32_t c = 0; c < set->call_count; c++)
        set->kernels[c]->run(&set->calls[c], 0, 1);
}

static void run_rank(void *argument, uint32_t rank, uint32_t ranks)
{
    struct sdk_set *set = argument;

    for (uint32_t c = 0; c < set->call_count; c++) {
        const struct sdk_use *use = &set->uses[c];

        if (use->split)
            set->kernels[c]->run(&set->calls[c], rank, ranks);
        else if (rank == 0)
            set->kernels[c]->run(&set->calls[c], 0, 1);
        if (use->meet)
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
    return crew->run(crew, ranks, run_rank, set, error);
}

static int32_t set_free(struct accel_driver_set *base)
{
    sdk_set_release((struct sdk_set *)base);
    return ACCEL_OK;
}

const struct accel_set_table sdk_set_table = {.size = sizeof sdk_set_table, .free = set_free, .run = set_run};
