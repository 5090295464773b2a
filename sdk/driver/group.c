/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the memory that actions touch, and groups actions that run part by part: the two products of a feed-forward
 * block, their gate and its quantization need no barrier between them, because each part of one reads the same part of
 * the one before.
 */
#include <stdbool.h>

#include "sdk/driver/program.h"

/* Bytes that an action reads or writes. */
struct touch {
    uintptr_t begin;
    uintptr_t end;
    const struct sdk_tensor *tensor; /* NULL: scratch, or staged activations */
    uint32_t writes;
    uint32_t zero;
};

#define TOUCHES (SDK_INPUTS + SDK_OUTPUTS + 2u)

static struct touch touch_of(const struct sdk_tensor *tensor, uint32_t writes)
{
    const uintptr_t begin = (uintptr_t)tensor->planes[0];

    return (struct touch){begin, begin + tensor->rows * sdk_row_bytes(tensor->type, tensor->width), tensor, writes, 0};
}

static struct touch touch_staged(const struct sdk_set *set, uint32_t c, uint32_t writes)
{
    const uintptr_t begin = (uintptr_t)set->calls[c].staged;
    uint32_t format;

    return (struct touch){begin, begin + set->kernels[c]->staged_bytes(&set->calls[c], &format), NULL, writes, 0};
}

/* Nodes of every operator but attention may write their states. */
static uint32_t touch_inputs(const struct sdk_set *set, uint32_t c, struct touch *out_touches)
{
    const struct accel_graph *graph = set->program->graph;
    const struct accel_node *node = graph->nodes[set->uses[c].node];
    uint32_t count = 0;

    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t role = node->inputs[i] == ACCEL_NO_VALUE ? ACCEL_ROLE_WEIGHT
                                                          : graph->values[set->program->roots[node->inputs[i]]]->role;

        if (role != ACCEL_ROLE_WEIGHT && role != ACCEL_ROLE_CONSTANT)
            out_touches[count++] =
                touch_of(set->calls[c].inputs[i], role == ACCEL_ROLE_STATE && node->op != ACCEL_OP_ATTENTION);
    }
    return count;
}

static uint32_t touches_of(const struct sdk_set *set, const struct sdk_action *action, struct touch *out_touches)
{
    const struct sdk_call *call = &set->calls[action->call];
    uint32_t count = 0;

    if (action->is_staging) {
        out_touches[count++] = touch_of(call->inputs[0], 0);
        out_touches[count++] = touch_staged(set, action->call, 1);
        return count;
    }
    count = touch_inputs(set, action->call, out_touches);
    for (uint32_t i = 0; i < SDK_OUTPUTS && call->outputs[i] != NULL; i++)
        out_touches[count++] = touch_of(call->outputs[i], 1);
    if (call->staged != NULL)
        out_touches[count++] = touch_staged(set, action->call, set->kernels[action->call]->stage_part == NULL);
    if (call->scratch != NULL)
        out_touches[count++] = (struct touch){(uintptr_t)call->scratch, (uintptr_t)call->scratch + 1, NULL, 1, 0};
    return count;
}

static bool overlap(const struct touch *a, const struct touch *b)
{
    return (a->writes || b->writes) && a->begin < b->end && b->begin < a->end;
}

static uint64_t elements_of(const struct sdk_tensor *tensor)
{
    return tensor->rows * tensor->width;
}

/* Returns 1 if the later action reads the output of the earlier one part by part. */
static bool follows(const struct sdk_action *later, const struct touch *written, const struct touch *read,
                    bool partwise)
{
    return partwise && written->writes && !read->writes && written->tensor != NULL && read->tensor != NULL &&
           written->begin == read->begin && elements_of(written->tensor) == later->parts &&
           elements_of(read->tensor) == later->parts;
}

/* Returns 1 if the actions conflict. `partwise`: the later one reads part by part. */
static bool touch(const struct sdk_set *set, const struct sdk_action *a, const struct sdk_action *later, bool partwise)
{
    struct touch first[TOUCHES], second[TOUCHES];
    uint32_t first_count = touches_of(set, a, first), second_count = touches_of(set, later, second);

    for (uint32_t i = 0; i < first_count; i++)
        for (uint32_t j = 0; j < second_count; j++)
            if (overlap(&first[i], &second[j]) && !follows(later, &first[i], &second[j], partwise))
                return true;
    return false;
}

bool sdk_groups_touch(const struct sdk_set *set, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < set->actions[a].members; i++)
        for (uint32_t j = 0; j < set->actions[b].members; j++)
            if (touch(set, &set->actions[a + i], &set->actions[b + j], 0))
                return true;
    return false;
}

static void count_parts(const struct sdk_set *set, struct sdk_action *action)
{
    const struct sdk_kernel *kernel = set->kernels[action->call];
    const struct sdk_call *call = &set->calls[action->call];

    action->grain = 1;
    action->parts = 0;
    if (action->is_staging)
        action->parts = kernel->stage_parts(call, &action->grain);
    else if (kernel->part != NULL)
        action->parts = kernel->parts(call, &action->grain);
}

/* Returns 1 if the parts of an action are the elements of its output. */
static uint32_t by_elements(const struct sdk_set *set, const struct sdk_action *action)
{
    const struct sdk_call *call = &set->calls[action->call];

    return action->parts ==
           elements_of(action->is_staging || call->outputs[0] == NULL ? call->inputs[0] : call->outputs[0]);
}

static uint64_t common_grain(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;

    while (y != 0) {
        uint64_t rest = x % y;

        x = y;
        y = rest;
    }
    return a / x * b;
}

/* 1: the action may join the group that begins at `first` and has `members` so far. */
static bool joins(const struct sdk_set *set, uint32_t first, uint32_t members)
{
    const struct sdk_action *head = &set->actions[first], *next = &set->actions[first + members];
    bool partwise = next->is_staging || (set->kernels[next->call]->flags & SDK_KERNEL_PARTWISE) != 0;

    if (head->parts == 0 || next->parts != head->parts || !by_elements(set, head) || !by_elements(set, next))
        return false;
    for (uint32_t i = 0; i < members; i++)
        if (touch(set, &set->actions[first + i], next, partwise))
            return false;
    return true;
}

void sdk_group(struct sdk_set *set)
{
    for (uint32_t a = 0; a < set->action_count; a++)
        count_parts(set, &set->actions[a]);
    for (uint32_t first = 0; first < set->action_count;) {
        struct sdk_action *head = &set->actions[first];
        uint32_t members = 1;

        while (first + members < set->action_count && joins(set, first, members)) {
            struct sdk_action *next = &set->actions[first + members];

            head->grain = common_grain(head->grain, next->grain);
            next->members = 0;
            members++;
        }
        head->members = members;
        first += members;
    }
}
