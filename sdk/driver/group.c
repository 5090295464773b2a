/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups actions that need no barrier between them because each part of one reads only the same part of the one before:
 * the gate and up matmuls of a feed-forward block, their activation, and its staging. Finds this by comparing the
 * memory that actions access.
 */
#include <stdbool.h>

#include "sdk/driver/program.h"

/* A memory range that an action reads or writes. */
struct access {
    uintptr_t begin;
    uintptr_t end;
    const struct sdk_tensor *tensor; /* NULL: scratch, or staged activations */
    uint32_t writes;                 /* 1: it writes the range; 0: it reads it only */
    uint32_t zero;
};

#define MAX_ACCESSES (SDK_INPUTS + SDK_OUTPUTS + 2u)

static struct access tensor_access(const struct sdk_tensor *tensor, uint32_t writes)
{
    const uintptr_t begin = (uintptr_t)tensor->planes[0];

    return (struct access){begin, begin + tensor->rows * sdk_row_bytes(tensor->type, tensor->width), tensor, writes, 0};
}

static struct access staged_access(const struct sdk_set *set, uint32_t c, uint32_t writes)
{
    const uintptr_t begin = (uintptr_t)set->calls[c].staged;
    uint32_t format;

    return (struct access){begin, begin + set->kernels[c]->staged_bytes(&set->calls[c], &format), NULL, writes, 0};
}

/* Lists the inputs of a call that other actions may write. All operators except attention may write their states. */
static uint32_t input_accesses(const struct sdk_set *set, uint32_t c, struct access *out_accesses)
{
    const struct accel_graph *graph = set->program->graph;
    const struct accel_node *node = graph->nodes[set->uses[c].node];
    uint32_t count = 0;

    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t role = node->inputs[i] == ACCEL_NO_VALUE ? ACCEL_ROLE_WEIGHT
                                                          : graph->values[set->program->roots[node->inputs[i]]]->role;

        if (role != ACCEL_ROLE_WEIGHT && role != ACCEL_ROLE_CONSTANT)
            out_accesses[count++] =
                tensor_access(set->calls[c].inputs[i], role == ACCEL_ROLE_STATE && node->op != ACCEL_OP_ATTENTION);
    }
    return count;
}

static uint32_t accesses_of(const struct sdk_set *set, const struct sdk_action *action, struct access *out_accesses)
{
    const struct sdk_call *call = &set->calls[action->call];
    uint32_t count = 0;

    if (action->is_staging) {
        out_accesses[count++] = tensor_access(call->inputs[0], 0);
        out_accesses[count++] = staged_access(set, action->call, 1);
        return count;
    }
    count = input_accesses(set, action->call, out_accesses);
    for (uint32_t i = 0; i < SDK_OUTPUTS && call->outputs[i] != NULL; i++)
        out_accesses[count++] = tensor_access(call->outputs[i], 1);
    if (call->staged != NULL)
        out_accesses[count++] = staged_access(set, action->call, set->kernels[action->call]->stage_part == NULL);
    if (call->scratch != NULL)
        out_accesses[count++] = (struct access){(uintptr_t)call->scratch, (uintptr_t)call->scratch + 1, NULL, 1, 0};
    return count;
}

static bool overlaps(const struct access *a, const struct access *b)
{
    return (a->writes || b->writes) && a->begin < b->end && b->begin < a->end;
}

static uint64_t elements_of(const struct sdk_tensor *tensor)
{
    return tensor->rows * tensor->width;
}

/* Returns whether the later action reads the output of the earlier one part by part. */
static bool reads_partwise(const struct sdk_action *later, const struct access *written, const struct access *read,
                           bool partwise)
{
    return partwise && written->writes && !read->writes && written->tensor != NULL && read->tensor != NULL &&
           written->begin == read->begin && elements_of(written->tensor) == later->parts &&
           elements_of(read->tensor) == later->parts;
}

/* Returns whether the actions need a barrier between them. `partwise`: each part of the later one reads only the same
 * part of its inputs. */
static bool conflicts(const struct sdk_set *set, const struct sdk_action *a, const struct sdk_action *later,
                      bool partwise)
{
    struct access first[MAX_ACCESSES], second[MAX_ACCESSES];
    uint32_t first_count = accesses_of(set, a, first), second_count = accesses_of(set, later, second);

    for (uint32_t i = 0; i < first_count; i++)
        for (uint32_t j = 0; j < second_count; j++)
            if (overlaps(&first[i], &second[j]) && !reads_partwise(later, &first[i], &second[j], partwise))
                return true;
    return false;
}

bool sdk_groups_conflict(const struct sdk_set *set, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < set->actions[a].members; i++)
        for (uint32_t j = 0; j < set->actions[b].members; j++)
            if (conflicts(set, &set->actions[a + i], &set->actions[b + j], 0))
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

/* Returns whether the parts of an action are the elements of its output. */
static bool is_elementwise(const struct sdk_set *set, const struct sdk_action *action)
{
    const struct sdk_call *call = &set->calls[action->call];

    return action->parts ==
           elements_of(action->is_staging || call->outputs[0] == NULL ? call->inputs[0] : call->outputs[0]);
}

/* Returns the least common multiple of two grains. */
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

/* Returns whether the next action can join the group that begins at `first` and has `members` so far. */
static bool can_join(const struct sdk_set *set, uint32_t first, uint32_t members)
{
    const struct sdk_action *head = &set->actions[first], *next = &set->actions[first + members];
    bool partwise = next->is_staging || (set->kernels[next->call]->flags & SDK_KERNEL_PARTWISE) != 0;

    if (head->parts == 0 || next->parts != head->parts || !is_elementwise(set, head) || !is_elementwise(set, next))
        return false;
    for (uint32_t i = 0; i < members; i++)
        if (conflicts(set, &set->actions[first + i], next, partwise))
            return false;
    return true;
}

void sdk_group_actions(struct sdk_set *set)
{
    for (uint32_t a = 0; a < set->action_count; a++)
        count_parts(set, &set->actions[a]);
    for (uint32_t first = 0; first < set->action_count;) {
        struct sdk_action *head = &set->actions[first];
        uint32_t members = 1;

        while (first + members < set->action_count && can_join(set, first, members)) {
            struct sdk_action *next = &set->actions[first + members];

            head->grain = common_grain(head->grain, next->grain);
            next->members = 0;
            members++;
        }
        head->members = members;
        first += members;
    }
}
