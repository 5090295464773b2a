/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extends the lifetimes of blocks for threads that run unsynchronized between barriers: a block touched between two
 * barriers lives until the second one, since a slow thread may still use it. To find the barriers that the data alone
 * requires, every value first gets a distinct address, as if memory were unlimited.
 */
#include <stdbool.h>

#include "sdk/driver/program.h"

#define APART 36u /* bits of an address: no value has as many bytes */

static void *place_of(uint64_t number)
{
    return (void *)(uintptr_t)((number + 1) << APART);
}

static bool is_constant(const struct sdk_set *set, uint32_t v)
{
    return set->program->graph->values[v]->role == ACCEL_ROLE_CONSTANT;
}

/* Assigns distinct addresses if `apart` is set, otherwise clears them. */
static void place_apart(struct sdk_set *set, uint32_t apart)
{
    const uint64_t values = set->program->graph->value_count;

    for (uint32_t v = 0; v < values; v++)
        if (!is_constant(set, v))
            set->tensors[v].planes[0] = apart ? place_of(set->program->roots[v]) : NULL;
    for (uint32_t c = 0; c < set->call_count; c++) {
        set->calls[c].staged =
            apart && set->uses[c].format != 0 ? place_of(values + 2u * (uint64_t)set->uses[c].producer) : NULL;
        set->calls[c].scratch =
            apart && set->kernels[c]->scratch != NULL ? place_of(values + 2u * (uint64_t)c + 1) : NULL;
    }
}

static void extend_block(struct sdk_block *block, uint32_t node)
{
    if (block->first != UINT32_MAX && block->last < node)
        block->last = node;
}

/* Extends the lifetimes of the blocks that a call touches to the end of a node. */
static void extend_call(struct sdk_set *set, uint32_t c, uint32_t node)
{
    const struct accel_node *n = set->program->graph->nodes[set->uses[c].node];

    for (uint32_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] != ACCEL_NO_VALUE)
            extend_block(&set->blocks[set->program->roots[n->inputs[i]]], node);
    for (uint32_t i = 0; i < n->output_count; i++)
        extend_block(&set->blocks[set->program->roots[n->outputs[i]]], node);
    if (set->uses[c].format != 0)
        extend_block(&set->blocks[set->uses[set->uses[c].producer].block], node);
}

/* Extends lifetimes for the actions begin .. end, which run without a barrier. */
static void extend_window(struct sdk_set *set, uint32_t begin, uint32_t end)
{
    uint32_t split = 0;

    for (uint32_t a = begin; a < end; a++)
        split |= set->actions[a].members != 0 && set->actions[a].split;
    for (uint32_t a = begin; split && a < end; a++)
        extend_call(set, set->actions[a].call, set->uses[set->actions[end - 1].call].node);
}

void sdk_extend_lifetimes(struct sdk_set *set)
{
    uint32_t begin = 0;

    place_apart(set, 1);
    sdk_schedule(set, set->threads);
    for (uint32_t a = 0; a < set->action_count && !set->serial; a += set->actions[a].members) {
        uint32_t end = a + set->actions[a].members;

        if (!set->actions[a].barrier && end != set->action_count)
            continue;
        extend_window(set, begin, end);
        begin = end;
    }
    place_apart(set, 0);
    set->step_threads = 0;
}
