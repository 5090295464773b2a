/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the plans of pipeline stages into the plan that is spread over several devices: their memory and nodes
 * replace the estimates of the shape plan. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "core/plan/honored.h"
#include "core/plan/memory.h"
#include "core/plan/shape_plan.h"

static int32_t check_stages(const struct accel_plan *plan, const struct accel_plan *const *stages, uint32_t count,
                            struct accel_error *error)
{
    if (plan == NULL || stages == NULL || count == 0 || !plan->spread)
        return accel_error_set(
            error, ACCEL_E_INVALID,
            "accel_plan_merge_stages requires a plan that is spread over devices, and the plans of its stages");
    for (uint32_t i = 0; i < count; i++)
        if (stages[i] == NULL || stages[i]->context != plan->context || !stages[i]->placed)
            return accel_error_set(error, ACCEL_E_INVALID,
                                   "accel_plan_merge_stages: stage %" PRIu32 " has no assigned graphs", i);
    return ACCEL_OK;
}

static const struct accel_plan_memory *find_class(const struct accel_plan *plan, uint32_t memory_class)
{
    for (uint32_t i = 0; i < plan->memory_count; i++)
        if (plan->memory[i].memory_class == memory_class)
            return &plan->memory[i];
    return NULL;
}

/* Merges one memory class: "one 4096, two 8192 bytes; " with names of devices, and the origin of the first row. */
static void merge_class(struct accel_plan *plan, const struct accel_plan *const *stages, uint32_t count,
                        uint32_t memory_class)
{
    uint64_t lower = 0, upper = 0;
    const char *first = "", *names = "";
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_memory *row = find_class(stages[i], memory_class);
        if (row == NULL)
            continue;
        names = accel_plan_text(plan, "%s%s%s %" PRIu64, names, *names ? ", " : "", stages[i]->device->info.name,
                                row->bytes);
        first = *first ? first : row->origin;
        lower = accel_plan_add(lower, row->lower);
        upper = accel_plan_add(upper, row->bytes);
    }
    accel_plan_add_row(plan, memory_class, lower, upper,
                       accel_plan_text(plan, "estimated: by device %s bytes; the first of them: %s", names, first));
}

static uint64_t weights_of(const struct accel_plan *stage)
{
    const struct accel_plan_memory *packed = find_class(stage, ACCEL_MEMORY_WEIGHTS);
    const struct accel_plan_memory *mapped = find_class(stage, ACCEL_MEMORY_MAPPED);
    return accel_plan_add(packed ? packed->bytes : 0, mapped ? mapped->bytes : 0);
}

void accel_plan_merge_layers(struct accel_plan *plan, const struct accel_plan *const *stages, uint32_t count)
{
    for (uint32_t i = 0; i < plan->layers.count; i++) {
        struct accel_plan_layer *row = plan->layers.items[i];
        uint64_t before = 0, bytes = 0;
        bool is_last = true;
        for (uint32_t j = 0; j < plan->layers.count; j++) {
            const struct accel_plan_layer *other = plan->layers.items[j];
            if (strcmp(other->device, row->device) != 0)
                continue;
            is_last = is_last && j <= i;
            before = j == i ? before : accel_plan_add(before, other->weight_bytes);
        }
        for (uint32_t s = 0; s < count; s++)
            if (strcmp(stages[s]->device->info.name, row->device) == 0)
                bytes = accel_plan_add(bytes, weights_of(stages[s]));
        if (is_last && bytes > before)
            row->weight_bytes = bytes - before;
    }
}

static int32_t merge_nodes(struct accel_plan *plan, const struct accel_plan *const *stages, uint32_t count,
                           struct accel_error *error)
{
    struct accel_plan_node *record;
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all += stages[i]->node_count;
    record = plan->nodes = accel_arena_array(&plan->arena, all, sizeof(*plan->nodes));
    plan->node_count = record ? (uint32_t)all : 0;
    if (record == NULL)
        return accel_error_no_memory(error, "for a plan");
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t n = 0; n < stages[i]->node_count; n++, record++) {
            *record = stages[i]->nodes[n];
            record->graph = i;
            record->name = accel_plan_text(plan, "%s", record->name);
            record->kernel = accel_plan_text(plan, "%s", record->kernel);
            record->reason = accel_plan_text(plan, "%s", record->reason);
        }
    return ACCEL_OK;
}

/* Checks that each device has enough memory for its stages, and the budget of the whole plan for all of them. */
static int32_t merge_fit(struct accel_plan *plan, const struct accel_plan *const *stages, uint32_t count,
                         struct accel_error *error)
{
    struct accel_plan_budget budget = {plan->fit.budget, plan->fit.budget_origin};
    uint64_t needed = 0, lack = 0;
    for (uint32_t i = 0; i < count; i++) {
        needed = accel_plan_add(needed, stages[i]->fit.needed);
        lack = stages[i]->fit.short_by > lack ? stages[i]->fit.short_by : lack;
    }
    if (needed == UINT64_MAX)
        return accel_error_set(error, ACCEL_E_LIMIT, "the memory of the plan does not fit 64 bits");
    accel_plan_compute_fit(plan, needed, &budget);
    if (lack > plan->fit.short_by) {
        plan->fit.fits = 0;
        plan->fit.short_by = lack;
    }
    plan->has_fit = true;
    return ACCEL_OK;
}

int32_t accel_plan_merge_stages(struct accel_plan *plan, const struct accel_plan *const *stages, uint32_t count,
                                struct accel_error *error)
{
    int32_t code = check_stages(plan, stages, count, error);
    if (code != ACCEL_OK)
        return code;
    plan->memory_count = 0;
    plan->placed = false;
    for (uint32_t c = 1; c < ACCEL_MEMORY_END; c++)
        merge_class(plan, stages, count, c);
    accel_plan_merge_layers(plan, stages, count);
    code = merge_nodes(plan, stages, count, error);
    if (code == ACCEL_OK)
        code = merge_fit(plan, stages, count, error);
    return accel_plan_finish_placement(plan, code, error);
}
