/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/lifetime.h"

#include <stdlib.h>
#include <string.h>

#include <accel/builder.h>

#include "core/base/checked.h"
#include "core/graph/ops.h"

/** A range of the block in use. */
struct live {
    uint64_t offset;
    uint64_t bytes; /* rounded up to the alignment */
    uint32_t value; /* value that occupies the range */
};

struct planner {
    const struct accel_graph *graph;
    const uint64_t *symbols;
    uint64_t alignment;
    uint64_t *offsets;
    uint64_t peak;
    uint32_t *last;    /* of each value: 1 + the last node that reads it, 0: never read */
    struct live *live; /* ordered by offset */
    uint32_t live_count;
};

static bool is_planned(const struct planner *planner, uint32_t value)
{
    return value != ACCEL_NO_VALUE && planner->graph->values[value]->role == ACCEL_ROLE_INTERMEDIATE;
}

static void find_last_uses(struct planner *planner)
{
    for (uint32_t i = 0; i < planner->graph->node_count; i++) {
        const struct accel_node *node = planner->graph->nodes[i];
        for (uint32_t j = 0; j < node->input_count; j++)
            if (node->inputs[j] != ACCEL_NO_VALUE)
                planner->last[node->inputs[j]] = i + 1;
    }
}

/* Releases values that no node after `node` reads. */
static void drop_dead(struct planner *planner, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < planner->live_count; i++)
        if (planner->last[planner->live[i].value] > node)
            planner->live[count++] = planner->live[i];
    planner->live_count = count;
}

/* Returns whether the operator also reads the value through an input that must not be overwritten. */
static bool is_read_elsewhere(const struct accel_node *node, const struct accel_op *op, uint32_t value)
{
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] == value && (op->in_place >> i & 1u) == 0)
            return true;
    return false;
}

/* Finds the range of an input that ends at this node, may be overwritten by it, and has the required size. */
static struct live *find_in_place(struct planner *planner, uint32_t node_index, uint64_t bytes)
{
    const struct accel_node *node = planner->graph->nodes[node_index];
    const struct accel_op *op = accel_op_find(node->op);
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t value = node->inputs[i];
        if ((op->in_place >> i & 1u) == 0 || !is_planned(planner, value) || planner->last[value] != node_index + 1 ||
            is_read_elsewhere(node, op, value))
            continue;
        for (uint32_t j = 0; j < planner->live_count; j++)
            if (planner->live[j].value == value && planner->live[j].bytes == bytes)
                return &planner->live[j];
    }
    return NULL;
}

/* Places a value in the first gap. Live ranges are ordered by offset. First fit wastes little since sizes repeat
 * from layer to layer, and gives the same plan on every machine. */
static bool place_first_fit(struct planner *planner, uint32_t value, uint64_t bytes)
{
    uint64_t offset = 0, end;
    uint32_t at = 0;
    while (at < planner->live_count && planner->live[at].offset - offset < bytes) {
        offset = planner->live[at].offset + planner->live[at].bytes;
        at++;
    }
    if (!accel_add_u64(offset, bytes, &end))
        return false;
    memmove(planner->live + at + 1, planner->live + at, (planner->live_count - at) * sizeof(*planner->live));
    planner->live[at] = (struct live){offset, bytes, value};
    planner->live_count++;
    planner->offsets[value] = offset;
    if (end > planner->peak)
        planner->peak = end;
    return true;
}

/* Only the first output may reuse the memory of an input. */
static int32_t place_output(struct planner *planner, uint32_t node_index, uint32_t output, struct accel_error *error)
{
    uint32_t value = planner->graph->nodes[node_index]->outputs[output];
    struct live *reused;
    uint64_t bytes;
    if (!is_planned(planner, value))
        return ACCEL_OK;
    if (accel_value_bytes(planner->graph, value, planner->symbols, &bytes, error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    if (!accel_align_size(bytes, planner->alignment, &bytes))
        return accel_error_set(error, ACCEL_E_LIMIT, "graph \"%.200s\": its intermediates do not fit 64 bits",
                               planner->graph->name);
    reused = output == 0 ? find_in_place(planner, node_index, bytes) : NULL;
    if (reused) {
        reused->value = value;
        planner->offsets[value] = reused->offset;
        return ACCEL_OK;
    }
    if (!place_first_fit(planner, value, bytes))
        return accel_error_set(error, ACCEL_E_LIMIT, "graph \"%.200s\": its intermediates do not fit 64 bits",
                               planner->graph->name);
    return ACCEL_OK;
}

int32_t accel_graph_plan_buffers(const struct accel_graph *graph, const uint64_t *symbols, uint64_t alignment,
                                 uint64_t *offsets, uint64_t *out_bytes, struct accel_error *error)
{
    struct planner planner = {.graph = graph, .symbols = symbols, .alignment = alignment, .offsets = offsets};
    int32_t code = ACCEL_OK;
    planner.last = calloc(graph->value_count, sizeof(*planner.last));
    planner.live = calloc(graph->value_count, sizeof(*planner.live));
    for (uint32_t i = 0; i < graph->value_count; i++)
        offsets[i] = ACCEL_NO_OFFSET;
    if (planner.last && planner.live) {
        find_last_uses(&planner);
        for (uint32_t i = 0; i < graph->node_count && code == ACCEL_OK; i++) {
            for (uint32_t o = 0; o < graph->nodes[i]->output_count && code == ACCEL_OK; o++)
                code = place_output(&planner, i, o, error);
            drop_dead(&planner, i + 1);
        }
    } else {
        code = accel_error_no_memory(error, "to plan graph \"%.200s\"", graph->name);
    }
    *out_bytes = planner.peak;
    free(planner.last);
    free(planner.live);
    return code;
}
