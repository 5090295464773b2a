/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the limits of a device beside its memory: the largest buffer, and the largest bound range. The plan
 * refuses what a run would be refused for, and reports a size that is small enough. A limit that equals the
 * device's memory is checked with the memory. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include <accel/builder.h>

#include "core/base/checked.h"
#include "core/graph/types.h"
#include "core/plan/memory.h"
#include "core/plan/placer.h"
#include "core/runtime/object.h"

/* Returns whether `bytes` exceed a limit that is below the memory of the device. */
static bool is_over(const struct accel_facts *facts, uint64_t bytes, uint64_t limit)
{
    uint64_t memory = facts->heap_count != 0 ? facts->heaps[0].bytes : 0;
    return bytes > limit && (memory == 0 || limit < memory);
}

/* Checks a value that has its own buffer and is bound whole. */
static int32_t check_buffer(const struct accel_device_info *device, const char *role, const char *name, uint64_t bytes,
                            struct accel_error *error)
{
    const struct accel_limits *limits = device->facts->limits;
    if (is_over(device->facts, bytes, limits->buffer_bytes))
        accel_error_set(error, ACCEL_E_LIMIT,
                        "%s %s of a step has %" PRIu64 " bytes, and device %s makes no buffer of over %" PRIu64, role,
                        name, bytes, device->name, limits->buffer_bytes);
    else if (is_over(device->facts, bytes, limits->binding_bytes))
        accel_error_set(error, ACCEL_E_LIMIT,
                        "%s %s of a step has %" PRIu64 " bytes, and device %s binds no more than %" PRIu64 " at a time",
                        role, name, bytes, device->name, limits->binding_bytes);
    else
        return ACCEL_OK;
    accel_error_remedy(error, "fewer tokens in a step (batch), fewer sequences, or another device");
    return ACCEL_E_LIMIT;
}

/* Checks inputs and outputs at the size that the highest symbol values need. */
static int32_t check_value(const struct accel_plan *plan, const struct accel_graph *graph, uint32_t value,
                           const uint64_t *symbols, struct accel_error *error)
{
    const char *role = graph->values[value]->role == ACCEL_ROLE_INPUT ? "input" : "output";
    uint64_t bytes = 0;
    if (accel_value_bytes(graph, value, symbols, &bytes, error) != ACCEL_OK)
        return ACCEL_E_INVALID;
    return check_buffer(&plan->device->info, role, graph->values[value]->name, bytes, error);
}

/* Checks a part of the state, which is bound whole: its slots are tokens, so the remedy reports how many slots fit. */
static int32_t check_slots(const struct accel_device_info *device, const char *what, uint64_t slots, uint64_t row,
                           struct accel_error *error)
{
    uint64_t most = device->facts->limits->binding_bytes, bytes = 0;
    if (row == 0 || !accel_mul_u64(row, slots, &bytes) || !is_over(device->facts, bytes, most))
        return ACCEL_OK; /* a value without a size is refused when sizes are summed */
    accel_error_set(error, ACCEL_E_LIMIT,
                    "%s %" PRIu64 " slots of %" PRIu64 " bytes, %" PRIu64
                    " in all, and device %s binds no more than %" PRIu64 " at a time",
                    what, slots, row, bytes, device->name, most);
    accel_error_remedy(error,
                       "%" PRIu64 " slots would do: a smaller context (--set context=), fewer sequences, smaller "
                       "types (kv.type.k, kv.type.v), or another device",
                       most / row);
    return ACCEL_E_LIMIT;
}

static int32_t check_part(const struct accel_plan *plan, const struct accel_plan_work *work, uint32_t part,
                          struct accel_error *error)
{
    struct accel_type_layout layout;
    char what[64];
    uint64_t row = 0;
    if (!accel_type_describe(work->parts[part].type, &layout) || work->parts[part].row % layout.block_values != 0 ||
        !accel_type_bytes(&layout, 1, work->parts[part].row, &row))
        return ACCEL_OK;
    snprintf(what, sizeof(what), "part %" PRIu32 " of the state has", part);
    return check_slots(&plan->device->info, what, work->slots, row, error);
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
    /* The core allocates the buffer in host memory if the driver has no buffer_create. */
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

/* Checks keys and values of one layer: two parts of the state of the layer's device. */
static int32_t check_item(const struct accel_placer *p, const struct accel_placer_item *item)
{
    const struct accel_listed *device = p->targets[item->target].device;
    const struct accel_sketch_component *c = item->component;
    const struct accel_shape_planner *s = p->s;
    uint64_t slots = accel_shape_plan_kv_slots(s), value = c->value_size ? c->value_size : c->head_size;
    char what[160];
    int32_t code;
    if (device == NULL || item->state == 0)
        return ACCEL_OK;
    snprintf(what, sizeof(what), "the keys of layer %" PRIu32 " (%.80s) have", item->layer, c->name);
    code =
        check_slots(&device->info, what, slots, accel_plan_type_bytes(&s->keys, c->kv_heads, c->head_size), s->error);
    if (code != ACCEL_OK)
        return code;
    snprintf(what, sizeof(what), "the values of layer %" PRIu32 " (%.80s) have", item->layer, c->name);
    return check_slots(&device->info, what, slots, accel_plan_type_bytes(&s->values, c->kv_heads, value), s->error);
}

/* Checks the logits: one row per sequence, on the device of the last layer. */
static int32_t check_logits(const struct accel_placer *p)
{
    const struct accel_shape_planner *s = p->s;
    const struct accel_listed *device = p->item_count ? p->targets[p->items[p->item_count - 1].target].device : NULL;
    uint64_t rows = s->sequences < s->batch ? s->sequences : s->batch;
    if (device == NULL || p->main == NULL || !p->main->cached || p->main->vocabulary == 0)
        return ACCEL_OK;
    return check_buffer(&device->info, "output", "logits",
                        accel_plan_multiply(accel_plan_multiply(rows, p->main->vocabulary), 4), s->error);
}

/* Adds a note about scratch above a limit. The driver of a recorded machine cannot be asked, and the formula is an
 * upper bound, so it is no reason to refuse. */
static void note_scratch(const struct accel_placer *p, const struct accel_placer_target *target)
{
    const struct accel_device_info *device = &target->device->info;
    uint64_t most = device->facts->limits->buffer_bytes;
    if (is_over(device->facts, p->s->scratch, most))
        accel_plan_add_note(p->s->plan, &p->s->plan->notes, ACCEL_NOTE_WARN, "batch",
                            "fewer tokens in a step (batch), a smaller context, or another device",
                            "the scratch of a step is one buffer, by formula of up to %" PRIu64
                            " bytes, and device %s makes none of over %" PRIu64,
                            p->s->scratch, device->name, most);
}

int32_t accel_placer_check_limits(const struct accel_placer *p)
{
    bool is_recorded = accel_context_recording(p->s->plan->context) != NULL;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < p->item_count && code == ACCEL_OK; i++)
        code = check_item(p, &p->items[i]);
    if (code == ACCEL_OK)
        code = check_logits(p);
    for (uint32_t i = 0; is_recorded && i < p->target_count && code == ACCEL_OK; i++)
        if (p->targets[i].used && p->targets[i].device && p->targets[i].device->info.facts->limits->queues != 0)
            note_scratch(p, &p->targets[i]);
    return code;
}
