/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of a device beside its memory: the largest buffer, and the largest range that is bound at a time. What a run
 * would be refused for is refused here, with what would be small enough. A limit that is all of the device's memory is
 * judged with the memory.
 */
#include "config.h"

#include <accel/builder.h>
#include <inttypes.h>

#include "core/base/checked.h"
#include "core/device/object.h"
#include "core/graph/types.h"
#include "core/plan/plan.h"

/* True where `bytes` are over a limit that is less than the memory of the device. */
static bool is_over(const struct accel_facts *facts, uint64_t bytes, uint64_t limit)
{
    uint64_t memory = facts->heap_count != 0 ? facts->heaps[0].bytes : 0;
    return bytes > limit && (memory == 0 || limit < memory);
}

/* Inputs and outputs have a buffer each, of the size that the highest symbols need, and are bound whole. */
static int32_t check_value(const struct accel_plan *plan, const struct accel_graph *graph, uint32_t value,
                           const uint64_t *symbols, struct accel_error *error)
{
    const struct accel_facts *facts = plan->device->info.facts;
    const struct accel_limits *limits = facts->limits;
    const char *role = graph->values[value]->role == ACCEL_ROLE_INPUT ? "input" : "output";
    uint64_t bytes = 0;
    if (accel_value_bytes(graph, value, symbols, &bytes, error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    if (is_over(facts, bytes, limits->buffer_bytes))
        accel_error_set(error, ACCEL_E_LIMIT,
                        "%s %s of a step has %" PRIu64 " bytes, and device %s makes no buffer of over %" PRIu64, role,
                        graph->values[value]->name, bytes, plan->device->info.name, limits->buffer_bytes);
    else if (is_over(facts, bytes, limits->binding_bytes))
        accel_error_set(error, ACCEL_E_LIMIT,
                        "%s %s of a step has %" PRIu64 " bytes, and device %s binds no more than %" PRIu64 " at a time",
                        role, graph->values[value]->name, bytes, plan->device->info.name, limits->binding_bytes);
    else
        return ACCEL_OK;
    accel_error_remedy(error, "fewer tokens in a step (batch), fewer sequences, or another device");
    return ACCEL_E_LIMIT;
}

/* A part of a state is bound whole, and its slots are tokens of sequences: the remedy says how many would do. */
static int32_t check_part(const struct accel_plan *plan, const struct accel_plan_work *work, uint32_t part,
                          struct accel_error *error)
{
    const struct accel_facts *facts = plan->device->info.facts;
    uint64_t most = facts->limits->binding_bytes, row = 0, bytes = 0;
    struct accel_type_layout layout;
    if (!accel_type_describe(work->parts[part].type, &layout) || work->parts[part].row % layout.block_values != 0 ||
        !accel_type_bytes(&layout, 1, work->parts[part].row, &row) || !accel_mul_u64(row, work->slots, &bytes))
        return ACCEL_OK; /* what has no size is refused where sizes are added up */
    if (row == 0 || !is_over(facts, bytes, most))
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_LIMIT,
                    "part %" PRIu32 " of the state has %" PRIu64 " slots of %" PRIu64 " bytes, %" PRIu64
                    " in all, and device %s binds no more than %" PRIu64 " at a time",
                    part, work->slots, row, bytes, plan->device->info.name, most);
    accel_error_remedy(error,
                       "%" PRIu64 " slots would do: a smaller context (--set context=), fewer sequences, smaller "
                       "types (kv.type.k, kv.type.v), or another device",
                       most / row);
    return ACCEL_E_LIMIT;
}

int32_t accel_plan_check_limits(const struct accel_plan *plan, const struct accel_plan_work *work,
                                struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    for (uint32_t p = 0; p < work->part_count && code == ACCEL_OK; p++)
        code = check_part(plan, work, p, error);
    for (uint32_t g = 0; g < work->graph_count; g++)
        for (uint32_t v = 0; v < work->graphs[g]->value_count && code == ACCEL_OK; v++) {
            uint32_t role = work->graphs[g]->values[v]->role;
            if (role == ACCEL_ROLE_INPUT || role == ACCEL_ROLE_OUTPUT)
                code = check_value(plan, work->graphs[g], v, work->symbols[g], error);
        }
    return code;
}

int32_t accel_plan_check_scratch(const struct accel_plan *plan, const struct accel_device *device,
                                 struct accel_error *error)
{
    const struct accel_facts *facts = plan->device->info.facts;
    uint64_t least = 0;
    /* Where the core makes it, it is host memory like any other. */
    if (!ACCEL_CAN(device->handle->table, buffer_create))
        return ACCEL_OK;
    for (uint32_t i = 0; i < plan->memory_count; i++)
        if (plan->memory[i].memory_class == ACCEL_MEMORY_SCRATCH)
            least = plan->memory[i].lower;
    if (!is_over(facts, least, facts->limits->buffer_bytes))
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_LIMIT,
                    "the scratch of a step is one buffer of %" PRIu64
                    " bytes, and device %s makes none of over %" PRIu64,
                    least, plan->device->info.name, facts->limits->buffer_bytes);
    accel_error_remedy(error, "fewer tokens in a step (batch), a smaller context, or another device");
    return ACCEL_E_LIMIT;
}
