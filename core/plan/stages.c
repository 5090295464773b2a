/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline stages of a plan that is spread over several devices: a plan for each, whose memory and nodes replace
 * the estimates of the shape plan. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/text.h"
#include "core/plan/honored.h"
#include "core/plan/memory.h"
#include "core/plan/shape_plan.h"

/* Returns whether a value that the caller gave is for a stage: not what spreads a model, nor an option of a driver
 * other than that of `device`. */
static bool is_for_stage(const struct accel_plan *plan, uint32_t index, const char *device)
{
    const struct accel_profile_setting *setting = &plan->settings->settings[index];
    const struct accel_setting_values *values = plan->settings->values;
    const size_t driver = strcspn(setting->key, ".");
    if (plan->records[index].origin != ACCEL_ORIGIN_GIVEN || setting == &values->placement ||
        setting == &values->offload_layers || setting == &values->gpu_layers || setting == &values->memory_budget)
        return false;
    return index < accel_setting_row_count() || (strncmp(setting->key, device, driver) == 0 && device[driver] == ':');
}

int32_t accel_plan_add_stage(struct accel_plan *plan, const char *device, struct accel_plan **out_stage,
                             struct accel_error *error)
{
    struct accel_plan_request request = {.size = sizeof(request), .device = device};
    struct accel_named_value *given, *facts;
    int32_t code;
    *out_stage = NULL;
    if (plan == NULL || device == NULL || !plan->spread)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_plan_add_stage requires a device and a plan that is spread over several");
    request.overrides = given = accel_arena_array(&plan->arena, plan->settings->count + UINT64_C(1), sizeof(*given));
    request.model = facts = accel_arena_array(&plan->arena, plan->fact_count, sizeof(*facts));
    if (given == NULL || facts == NULL)
        return accel_error_no_memory(error, "for a plan");
    for (uint32_t i = 0; i < plan->settings->count; i++) {
        const struct accel_plan_setting *record = &plan->records[i];
        if (is_for_stage(plan, i, device))
            given[request.override_count++] = (struct accel_named_value){
                record->key, accel_plan_text(plan, "%s%s", record->value, accel_plan_unit(record->unit, record->value)),
                record->place};
    }
    /* A settings file may spread the whole model, but a stage stays on its device. */
    given[request.override_count++] = (struct accel_named_value){"gpu.layers", "auto", "a stage of a spread model"};
    for (uint32_t i = 0; i < plan->fact_count; i++)
        if (accel_has_prefix(plan->shown[i].key, "model.") || accel_has_prefix(plan->shown[i].key, "request."))
            facts[request.model_count++] = plan->shown[i];
    code = accel_plan_finish(plan, ACCEL_OK, error);
    if (code == ACCEL_OK)
        code = accel_plan_create(plan->context, &request, out_stage, error);
    if (code == ACCEL_OK && !accel_rows_add(&plan->stages, *out_stage)) {
        accel_plan_free(*out_stage);
        *out_stage = NULL;
        return accel_error_no_memory(error, "for a plan");
    }
    for (uint32_t i = 0; code == ACCEL_OK && i + 1 < plan->stages.count; i++)
        code = accel_plan_share_device(*out_stage, plan->stages.items[i], error);
    return code;
}

/* ---- merging ---- */

static const struct accel_plan_memory *find_class(const struct accel_plan *plan, uint32_t memory_class)
{
    for (uint32_t i = 0; i < plan->memory_count; i++)
        if (plan->memory[i].memory_class == memory_class)
            return &plan->memory[i];
    return NULL;
}

/* Merges one memory class: "one 4096, two 8192 bytes; " with names of devices, and the origin of the first row. */
static void merge_class(struct accel_plan *plan, uint32_t memory_class)
{
    uint64_t lower = 0, upper = 0;
    const char *first = "", *names = "";
    for (uint32_t i = 0; i < plan->stages.count; i++) {
        const struct accel_plan *stage = plan->stages.items[i];
        const struct accel_plan_memory *row = find_class(stage, memory_class);
        if (row == NULL)
            continue;
        names =
            accel_plan_text(plan, "%s%s%s %" PRIu64, names, *names ? ", " : "", stage->device->info.name, row->bytes);
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

void accel_plan_merge_layers(struct accel_plan *plan, const struct accel_rows *stages)
{
    for (uint32_t i = 0; i < plan->layers.count; i++) {
        struct accel_plan_layer *row = plan->layers.items[i];
        uint64_t bytes = 0;
        for (uint32_t s = 0; s < stages->count; s++) {
            const struct accel_plan *stage = stages->items[s];
            if (strcmp(stage->device->info.name, row->device) == 0)
                bytes = accel_plan_add(bytes, weights_of(stage));
        }
        for (uint32_t j = 0; j < plan->layers.count; j++) {
            const struct accel_plan_layer *other = plan->layers.items[j];
            if (j != i && strcmp(other->device, row->device) == 0)
                bytes = j < i && bytes > other->weight_bytes ? bytes - other->weight_bytes : 0;
        }
        row->weight_bytes = bytes != 0 ? bytes : row->weight_bytes;
    }
}

static int32_t merge_nodes(struct accel_plan *plan, uint64_t count, struct accel_error *error)
{
    struct accel_plan_node *record = plan->nodes = accel_arena_array(&plan->arena, count, sizeof(*plan->nodes));
    plan->node_count = record ? (uint32_t)count : 0;
    for (uint32_t i = 0; record && i < plan->stages.count; i++) {
        const struct accel_plan *stage = plan->stages.items[i];
        for (uint32_t n = 0; n < stage->node_count; n++, record++) {
            *record = stage->nodes[n];
            record->graph = i;
        }
    }
    return record ? ACCEL_OK : accel_error_no_memory(error, "for a plan");
}

/* Checks that each device has enough memory for its stages, and the budget of the whole plan for all of them. */
static int32_t merge_fit(struct accel_plan *plan, struct accel_error *error)
{
    struct accel_plan_budget budget = {plan->fit.budget, plan->fit.budget_origin};
    uint64_t needed = 0, lack = 0;
    for (uint32_t i = 0; i < plan->stages.count; i++) {
        const struct accel_plan *stage = plan->stages.items[i];
        needed = accel_plan_add(needed, stage->fit.needed);
        lack = stage->fit.short_by > lack ? stage->fit.short_by : lack;
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

int32_t accel_plan_merge_stages(struct accel_plan *plan, struct accel_error *error)
{
    bool is_placed = plan && plan->stages.count != 0;
    uint64_t nodes = 0;
    int32_t code;
    for (uint32_t i = 0; is_placed && i < plan->stages.count; i++) {
        const struct accel_plan *stage = plan->stages.items[i];
        is_placed = stage->placed;
        nodes += stage->node_count;
    }
    if (!is_placed)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_plan_merge_stages requires a plan whose stages have assigned graphs");
    plan->memory_count = 0;
    plan->placed = false;
    for (uint32_t c = 1; c < ACCEL_MEMORY_END; c++)
        merge_class(plan, c);
    accel_plan_merge_layers(plan, &plan->stages);
    code = merge_nodes(plan, nodes, error);
    if (code == ACCEL_OK)
        code = merge_fit(plan, error);
    return accel_plan_finish_placement(plan, code, error);
}
