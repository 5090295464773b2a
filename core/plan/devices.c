/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers lie on which device: what there is to place, the rows that come of it, and the verdict. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "core/plan/placer.h"

/* ---- items ---- */

static bool is_table(const struct accel_sketch_weight *weight)
{
    return strcmp(weight->role, "embedding") == 0;
}

/* Tables of a component come before its layers, all else that has no layer after them. */
static uint64_t bytes_around(const struct accel_sketcher *s, const struct accel_sketch_component *c, bool before)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->sketch->weight_count; i++) {
        const struct accel_sketch_weight *weight = &s->sketch->weights[i];
        if (weight->layer == ACCEL_NO_LAYER && strcmp(weight->component, c->name) == 0 && is_table(weight) == before)
            bytes = accel_plan_add(bytes, s->weight_bytes[i]);
    }
    return bytes;
}

static void add_item(struct accel_placer *p, const struct accel_sketch_component *c, uint32_t layer, uint64_t weights,
                     uint64_t state)
{
    if (weights || state || layer != ACCEL_NO_LAYER)
        p->items[p->item_count++] = (struct accel_placer_item){c, layer, 0, weights, state};
}

/* Layer sums in one pass over the weights: a model may have many of both. */
static int32_t add_component(struct accel_placer *p, const struct accel_sketch_component *c)
{
    struct accel_sketcher *s = p->s;
    uint64_t state = accel_sketch_layer_state(s, c);
    uint64_t *sums = accel_arena_array(&s->plan->arena, (size_t)c->layers + 1, sizeof(*sums));
    if (sums == NULL)
        return accel_plan_no_memory(s->error);
    for (uint32_t i = 0; i < s->sketch->weight_count; i++) {
        const struct accel_sketch_weight *weight = &s->sketch->weights[i];
        if (weight->layer < c->layers && strcmp(weight->component, c->name) == 0)
            sums[weight->layer] = accel_plan_add(sums[weight->layer], s->weight_bytes[i]);
    }
    add_item(p, c, ACCEL_NO_LAYER, bytes_around(s, c, true), 0);
    if (c == p->main) {
        p->main_first = p->item_count;
        p->main_layers = c->layers;
    }
    for (uint32_t layer = 0; layer < c->layers; layer++)
        add_item(p, c, layer, sums[layer], state);
    add_item(p, c, ACCEL_NO_LAYER, bytes_around(s, c, false), 0);
    return ACCEL_OK;
}

/* The first component that caches, else the deepest. */
static const struct accel_sketch_component *main_of(const struct accel_sketch *sketch)
{
    const struct accel_sketch_component *deepest = NULL;
    for (uint32_t i = 0; i < sketch->component_count; i++) {
        if (sketch->components[i].cached)
            return &sketch->components[i];
        if (deepest == NULL || sketch->components[i].layers > deepest->layers)
            deepest = &sketch->components[i];
    }
    return deepest;
}

static int32_t make_items(struct accel_placer *p)
{
    const struct accel_sketch *sketch = p->s->sketch;
    uint64_t most = 1;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < sketch->component_count; i++)
        most += (uint64_t)sketch->components[i].layers + 2;
    p->main = main_of(sketch);
    p->items = accel_arena_array(&p->s->plan->arena, most, sizeof(*p->items));
    if (p->items == NULL)
        return accel_plan_no_memory(p->s->error);
    for (uint32_t i = 0; i < sketch->component_count && code == ACCEL_OK; i++)
        code = add_component(p, &sketch->components[i]);
    return code;
}

/* ---- rows and the verdict ---- */

static bool joins(const struct accel_plan_layer *row, const struct accel_placer_item *item, const char *device)
{
    return row && item->layer != ACCEL_NO_LAYER && row->last != ACCEL_NO_LAYER &&
           strcmp(row->component, item->component->name) == 0 && strcmp(row->device, device) == 0;
}

/* The new row, or NULL without memory. */
static struct accel_plan_layer *begin_row(struct accel_plan *plan, const struct accel_placer_item *item,
                                          const char *device)
{
    struct accel_plan_layer row = {
        .size = sizeof(row),
        .first = item->layer,
        .component = accel_plan_text(plan, "%s", item->component->name),
        .device = accel_plan_text(plan, "%s", device),
    };
    if (!row.component || !row.device || !accel_plan_rows_add(plan, &plan->layers, &row, sizeof(row)))
        return NULL;
    return plan->layers.items[plan->layers.count - 1];
}

static int32_t make_rows(struct accel_placer *p)
{
    struct accel_plan_layer *row = NULL;
    for (uint32_t i = 0; i < p->item_count; i++) {
        const struct accel_placer_item *item = &p->items[i];
        struct accel_placer_target *target = &p->targets[item->target];
        target->used = true;
        if (!joins(row, item, target->name))
            row = begin_row(p->s->plan, item, target->name);
        if (row == NULL)
            return accel_plan_no_memory(p->s->error);
        row->last = item->layer;
        row->weight_bytes = accel_plan_add(row->weight_bytes, item->weights);
        row->state_bytes = accel_plan_add(row->state_bytes, item->state);
    }
    return ACCEL_OK;
}

/* Weights of components that the sketch does not list lie on the first device. */
static void sum_targets(struct accel_placer *p)
{
    uint64_t placed = 0;
    for (uint32_t i = 0; i < p->target_count; i++)
        p->targets[i].taken = p->targets[i].used ? accel_placer_overhead(p, &p->targets[i]) : 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        struct accel_placer_target *target = &p->targets[p->items[i].target];
        target->taken = accel_plan_add(target->taken, accel_placer_item_bytes(&p->items[i]));
        placed = accel_plan_add(placed, p->items[i].weights);
    }
    if (p->item_count == 0)
        p->targets[0].used = true;
    if (placed < p->s->weights)
        p->targets[0].taken = accel_plan_add(p->targets[0].taken, p->s->weights - placed);
}

/* Bytes that a device has too few; 0 where nobody knows what it has. */
static uint64_t lack_of(const struct accel_placer_target *target)
{
    return target->budget.bytes && target->taken > target->budget.bytes ? target->taken - target->budget.bytes : 0;
}

static int32_t note_device(struct accel_placer *p, const struct accel_placer_target *target)
{
    uint64_t lack = lack_of(target);
    return accel_plan_add_note(p->s->plan, lack ? ACCEL_NOTE_WARN : ACCEL_NOTE_INFO, "placement", "", p->s->error,
                               "%s takes %" PRIu64 " of %" PRIu64 " bytes (%s)%s", target->name, target->taken,
                               target->budget.bytes, target->budget.bytes ? target->budget.origin : "not known",
                               lack ? ": too much" : "");
}

/* What goes from one device to the next in every step: a row between layers for each token. */
static int32_t note_crossings(struct accel_placer *p)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 1; i < p->item_count && code == ACCEL_OK; i++) {
        const struct accel_placer_item *item = &p->items[i], *before = item - 1;
        if (item->component != before->component || item->target == before->target)
            continue;
        code = accel_plan_add_note(p->s->plan, ACCEL_NOTE_INFO, "placement", "", p->s->error,
                                   "%" PRIu64 " bytes of each token cross from %s to %s",
                                   accel_plan_multiply(item->component->hidden, 4), p->targets[before->target].name,
                                   p->targets[item->target].name);
    }
    return code;
}

/* Every device that is used has activations, scratch and a program of its own. */
static int32_t repeat_rows(struct accel_plan *plan, uint32_t used, struct accel_error *error)
{
    for (uint32_t i = 0; i < plan->memory_count; i++) {
        struct accel_plan_memory *row = &plan->memory[i];
        if (row->memory_class != ACCEL_MEMORY_ACTIVATION && row->memory_class != ACCEL_MEMORY_SCRATCH &&
            row->memory_class != ACCEL_MEMORY_PROGRAM)
            continue;
        row->bytes = accel_plan_multiply(row->bytes, used);
        row->lower = accel_plan_multiply(row->lower, used);
        row->origin = accel_plan_text(plan, "%s; on each of %" PRIu32 " devices", row->origin, used);
        if (row->origin == NULL)
            return accel_plan_no_memory(error);
    }
    return ACCEL_OK;
}

/** What the devices in use come to together. */
struct total {
    struct accel_plan_budget budget; /* 0 bytes where that of one of them is not known */
    uint64_t needed;                 /* the host's part, too */
    uint64_t lack;                   /* of the device that lacks most */
    uint32_t devices;
    uint32_t sharers; /* of those, devices that use the host's memory */
};

/* Devices that use the host's memory have it once, however many they are. */
static void share_host(const struct accel_placer *p, uint64_t room, uint64_t taken, struct total *total)
{
    struct accel_plan_budget machine = {0};
    accel_plan_machine_budget(p->s->plan, &machine);
    if (machine.bytes != 0 && machine.bytes < room)
        room = machine.bytes;
    total->budget.bytes = accel_plan_add(total->budget.bytes, room);
    if (taken > room && taken - room > total->lack)
        total->lack = taken - room;
}

static int32_t add_up(const struct accel_placer *p, struct total *out)
{
    uint64_t room = 0, taken = p->s->host;
    bool known = true;
    *out = (struct total){.needed = p->s->host};
    for (uint32_t i = 0; i < p->target_count; i++) {
        const struct accel_placer_target *target = &p->targets[i];
        if (!target->used)
            continue;
        if (target->budget.bytes && target->budget.origin == NULL)
            return accel_plan_no_memory(p->s->error);
        known = known && target->budget.bytes != 0;
        out->budget.origin = target->budget.origin;
        if (target->is_host) {
            room = accel_plan_add(room, target->budget.bytes);
            taken = accel_plan_add(taken, target->taken);
            out->sharers++;
        } else {
            out->budget.bytes = accel_plan_add(out->budget.bytes, target->budget.bytes);
        }
        out->needed = accel_plan_add(out->needed, target->taken);
        out->lack = lack_of(target) > out->lack ? lack_of(target) : out->lack;
        out->devices += target->members;
    }
    if (out->sharers > 1)
        share_host(p, room, taken, out);
    else
        out->budget.bytes = accel_plan_add(out->budget.bytes, room);
    if (!known)
        out->budget.bytes = 0;
    return out->needed == UINT64_MAX
               ? accel_error_set(p->s->error, ACCEL_E_LIMIT, "the memory of the plan does not fit 64 bits")
               : ACCEL_OK;
}

/* What several devices have to be told apart by. */
static int32_t note_devices(struct accel_placer *p, struct total *total)
{
    int32_t code = ACCEL_OK;
    total->budget.origin =
        total->sharers > 1
            ? accel_plan_text(p->s->plan, "memory of %" PRIu32 " devices, of which %" PRIu32 " share the host's",
                              total->devices, total->sharers)
            : accel_plan_text(p->s->plan, "memory of %" PRIu32 " devices, each with its own", total->devices);
    for (uint32_t i = 0; i < p->target_count && code == ACCEL_OK; i++)
        if (p->targets[i].used)
            code = note_device(p, &p->targets[i]);
    if (code == ACCEL_OK)
        code = note_crossings(p);
    return code == ACCEL_OK ? repeat_rows(p->s->plan, total->devices, p->s->error) : code;
}

/* Every device has to have room for its part, and the host's budget for the whole. */
static int32_t judge(struct accel_placer *p)
{
    struct accel_plan *plan = p->s->plan;
    struct total total;
    int32_t code = add_up(p, &total);
    if (code == ACCEL_OK && total.devices > 1)
        code = note_devices(p, &total);
    if (code != ACCEL_OK)
        return code;
    plan->spread = total.devices > 1;
    accel_plan_whole_budget(plan, &total.budget);
    code = accel_plan_judge_fit(plan, total.needed, &total.budget, p->s->error);
    /* A budget of the caller that is above what the machine has is believed; one device of several is not. */
    if (plan->spread && total.lack > plan->fit.short_by) {
        plan->fit.fits = 0;
        plan->fit.short_by = total.lack;
    }
    return code;
}

int32_t accel_sketch_place(struct accel_sketcher *s)
{
    struct accel_placer *p = accel_arena_array(&s->plan->arena, 1, sizeof(*p));
    int32_t code;
    if (p == NULL)
        return accel_plan_no_memory(s->error);
    p->s = s;
    p->overhead = accel_plan_add(accel_plan_add(s->activations, s->scratch), s->program);
    code = make_items(p);
    if (code == ACCEL_OK)
        code = accel_placer_spread(p);
    if (code == ACCEL_OK)
        code = make_rows(p);
    if (code == ACCEL_OK)
        code = accel_placer_check_limits(p);
    if (code != ACCEL_OK)
        return code;
    sum_targets(p);
    return judge(p);
}
