/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long blocks live when ranks are not kept in step after every node: what is touched between two meetings lives
 * until the second one, since a slow rank may still use it. To see where ranks have to meet for the sake of the data
 * alone, everything gets a place of its own first, as if memory had no end.
 */
#include "sdk/driver/program.h"

#define APART 36u /* bits of an address: no value has as many bytes */

static void *place_of(uint64_t number)
{
    return (void *)(uintptr_t)((number + 1) << APART);
}

static uint32_t is_constant(const struct sdk_set *set, uint32_t v)
{
    return set->program->graph->values[v]->role == ACCEL_ROLE_CONSTANT;
}

/* Gives places where `apart`, else takes them away again. */
static void place_apart(struct sdk_set *set, uint32_t apart)
{
    const uint64_t values = set->program->graph->value_count;

    for (uint32_t v = 0; v < values; v++)
        if (!is_constant(set, v))
            set->tensors[v].planes[0] = apart ? place_of(set->program->roots[v]) : NULL;
    for (uint32_t c = 0; c < set->call_count; c++) {
        set->calls[c].form =
            apart && set->uses[c].form != 0 ? place_of(values + 2u * (uint64_t)set->uses[c].maker) : NULL;
        set->calls[c].scratch =
            apart && set->kernels[c]->scratch != NULL ? place_of(values + 2u * (uint64_t)c + 1) : NULL;
    }
}

static void live_on(struct sdk_block *block, uint32_t node)
{
    if (block->first != UINT32_MAX && block->last < node)
        block->last = node;
}

/* What a call touches lives until a node has ended. */
static void call_lives_on(struct sdk_set *set, uint32_t c, uint32_t node)
{
    const struct accel_node *n = set->program->graph->nodes[set->uses[c].node];

    for (uint32_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] != ACCEL_NO_VALUE)
            live_on(&set->blocks[set->program->roots[n->inputs[i]]], node);
    for (uint32_t i = 0; i < n->output_count; i++)
        live_on(&set->blocks[set->program->roots[n->outputs[i]]], node);
    if (set->uses[c].form != 0)
        live_on(&set->blocks[set->uses[set->uses[c].maker].block], node);
}

/* Actions begin .. end run without a meeting. */
static void window_lives_on(struct sdk_set *set, uint32_t begin, uint32_t end)
{
    uint32_t split = 0;

    for (uint32_t a = begin; a < end; a++)
        split |= set->actions[a].members != 0 && set->actions[a].split;
    for (uint32_t a = begin; split && a < end; a++)
        call_lives_on(set, set->actions[a].call, set->uses[set->actions[end - 1].call].node);
}

void sdk_extend_lives(struct sdk_set *set)
{
    uint32_t begin = 0;

    place_apart(set, 1);
    sdk_share_out(set, set->ranks);
    for (uint32_t a = 0; a < set->action_count && !set->alone; a += set->actions[a].members) {
        uint32_t end = a + set->actions[a].members;

        if (!set->actions[a].meet && end != set->action_count)
            continue;
        window_lives_on(set, begin, end);
        begin = end;
    }
    place_apart(set, 0);
    set->step_ranks = 0;
}
