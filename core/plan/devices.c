/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns layers to devices: collects the items to assign, makes the rows of the plan, and computes the verdict. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/plan/placer.h"

/* ---- items ---- */

static bool is_table(const struct accel_sketch_weight *weight)
{
    return strcmp(weight->role, "embedding") == 0;
}

/* Returns the bytes of a component's tables, before its layers, or of its other weights without a layer, after them. */
static uint64_t sum_outside_layers(const struct accel_shape_planner *s, const struct accel_sketch_component *c,
                                   bool before)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->shapes->weight_count; i++) {
        const struct accel_sketch_weight *weight = &s->shapes->weights[i];
        if (weight->layer == ACCEL_NO_LAYER && strcmp(weight->component, c->name) == 0 && is_table(weight) == before)
            bytes = accel_plan_add(bytes, s->weight_bytes[i]);
    }
    return bytes;
}

static void add_item(struct accel_placer *p, const struct accel_sketch_component *c, uint32_t layer, uint64_t weights,
                     uint64_t state)
{
    if (weights || state || layer != ACCEL_NO_LAYER)
        p->items[p->item_count++] = (struct accel_placer_item){c, layer, 0, weights, state, 0, 0};
}

/* Returns the bytes of the token table that is the output projection of a generating component, too; 0: it has its
 * own. */
static uint64_t find_tied(const struct accel_shape_planner *s, const struct accel_sketch_component *c)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->shapes->weight_count && c->cached; i++) {
        const struct accel_sketch_weight *weight = &s->shapes->weights[i];
        bool is_own = strcmp(weight->component, c->name) == 0;
        if (is_own && strcmp(weight->role, "head") == 0)
            return 0;
        if (is_own && is_table(weight) && weight->rows == c->vocabulary)
            bytes = s->weight_bytes[i];
    }
    return bytes;
}

/* Adds the copy of a tied token table to the weights of the device that computes the output on another one. The first
 * row of the memory is that of weights. */
static void add_copies(struct accel_placer *p)
{
    struct accel_plan_memory *row = p->s->plan->memory;
    for (uint32_t i = 0; i < p->item_count; i++) {
        uint64_t copy = accel_placer_copy_bytes(p, &p->items[i], p->items[i].target);
        uint64_t *const sums[] = {&p->items[i].weights, &p->s->weights, &row->bytes, &row->lower};
        for (size_t j = 0; j < sizeof(sums) / sizeof(sums[0]) && copy; j++)
            *sums[j] = accel_plan_add(*sums[j], copy);
    }
}

/* Adds the items of a component. Layer sizes are summed in one pass over the weights, since a model may have many
 * layers and many weights. */
static int32_t add_component(struct accel_placer *p, const struct accel_sketch_component *c)
{
    struct accel_shape_planner *s = p->s;
    uint64_t state = accel_shape_plan_layer_state(s, c);
    uint32_t table = p->item_count;
    uint64_t *sums = accel_arena_array(&s->plan->arena, (size_t)c->layers + 1, sizeof(*sums));
    if (sums == NULL)
        return accel_error_no_memory(s->error, "for a plan");
    for (uint32_t i = 0; i < s->shapes->weight_count; i++) {
        const struct accel_sketch_weight *weight = &s->shapes->weights[i];
        if (weight->layer < c->layers && strcmp(weight->component, c->name) == 0)
            sums[weight->layer] = accel_plan_add(sums[weight->layer], s->weight_bytes[i]);
    }
    add_item(p, c, ACCEL_NO_LAYER, sum_outside_layers(s, c, true), 0);
    if (c == p->main) {
        p->main_first = p->item_count;
        p->main_layers = c->layers;
    }
    for (uint32_t layer = 0; layer < c->layers; layer++)
        add_item(p, c, layer, sums[layer], state);
    add_item(p, c, ACCEL_NO_LAYER, sum_outside_layers(s, c, false), 0);
    if (p->item_count > table) {
        p->items[p->item_count - 1].table = table;
        p->items[p->item_count - 1].copy = find_tied(s, c);
    }
    return ACCEL_OK;
}

/* Returns the main component: the first one with a KV cache, else the one with the most layers. */
static const struct accel_sketch_component *find_main(const struct accel_sketch *shapes)
{
    const struct accel_sketch_component *deepest = NULL;
    for (uint32_t i = 0; i < shapes->component_count; i++) {
        if (shapes->components[i].cached)
            return &shapes->components[i];
        if (deepest == NULL || shapes->components[i].layers > deepest->layers)
            deepest = &shapes->components[i];
    }
    return deepest;
}

static int32_t make_items(struct accel_placer *p)
{
    const struct accel_sketch *shapes = p->s->shapes;
    uint64_t most = 1;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < shapes->component_count; i++)
        most += (uint64_t)shapes->components[i].layers + 2;
    p->main = find_main(shapes);
    p->items = accel_arena_array(&p->s->plan->arena, most, sizeof(*p->items));
    if (p->items == NULL)
        return accel_error_no_memory(p->s->error, "for a plan");
    for (uint32_t i = 0; i < shapes->component_count && code == ACCEL_OK; i++)
        code = add_component(p, &shapes->components[i]);
    return code;
}

/* ---- rows and verdict ---- */

static bool extends_row(const struct accel_plan_layer *row, const struct accel_placer_item *item, const char *device)
{
    return row && item->layer != ACCEL_NO_LAYER && row->last != ACCEL_NO_LAYER &&
           strcmp(row->component, item->component->name) == 0 && strcmp(row->device, device) == 0;
}

static void begin_row(struct accel_plan *plan, const struct accel_placer_item *item, const char *device)
{
    struct accel_plan_layer row = {
        .size = sizeof(row),
        .first = item->layer,
        .component = accel_plan_text(plan, "%s", item->component->name),
        .device = accel_plan_text(plan, "%s", device),
    };
    accel_plan_append(plan, &plan->layers, &row, sizeof(row));
}

static int32_t make_rows(struct accel_placer *p)
{
    struct accel_plan *plan = p->s->plan;
    struct accel_plan_layer *row = NULL;
    add_copies(p);
    for (uint32_t i = 0; i < p->item_count; i++) {
        const struct accel_placer_item *item = &p->items[i];
        struct accel_placer_target *target = &p->targets[item->target];
        target->used = true;
        if (!extends_row(row, item, target->name))
            begin_row(plan, item, target->name);
        if (plan->out_of_memory)
            return ACCEL_E_MEMORY;
        row = plan->layers.items[plan->layers.count - 1];
        row->last = item->layer;
        row->weight_bytes = accel_plan_add(row->weight_bytes, item->weights);
        row->state_bytes = accel_plan_add(row->state_bytes, item->state);
    }
    return ACCEL_OK;
}

/* Sums weights and state by device. Weights of components that the shape plan lacks belong to the first device. */
static void sum_targets(struct accel_placer *p)
{
    uint64_t placed = 0;
    for (uint32_t i = 0; i < p->target_count; i++)
        p->targets[i].taken = p->targets[i].used ? p->overhead : 0;
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

/* Returns how many bytes a device lacks; 0 if its budget is not known. */
static uint64_t find_lack(const struct accel_placer_target *target)
{
    return target->budget.bytes && target->taken > target->budget.bytes ? target->taken - target->budget.bytes : 0;
}

const char *accel_plan_size_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        value /= 1024;
    snprintf(text, 32, "%.*f %s", unit == 0 ? 0 : value < 10 ? 2 : 1, value, units[unit]);
    return text;
}

/* Adds a note about the memory of one of several devices. */
static void note_device(struct accel_placer *p, const struct accel_placer_target *target)
{
    uint64_t lack = find_lack(target);
    char taken[32], budget[32];
    accel_plan_add_note(p->s->plan, &p->s->plan->notes, lack ? ACCEL_NOTE_WARN : ACCEL_NOTE_INFO, "placement", "",
                        "%s takes %s of %s (%s)%s", target->name, accel_plan_size_text(target->taken, taken),
                        target->budget.bytes ? accel_plan_size_text(target->budget.bytes, budget) : "?",
                        target->budget.bytes ? target->budget.origin : "not known", lack ? ": too much" : "");
}

/* Adds a note about transfers between devices: each step passes one row of activations per token to the next one. */
static void note_crossings(struct accel_placer *p)
{
    for (uint32_t i = 1; i < p->item_count; i++) {
        const struct accel_placer_item *item = &p->items[i], *before = item - 1;
        if (item->component != before->component || item->target == before->target)
            continue;
        accel_plan_add_note(p->s->plan, &p->s->plan->notes, ACCEL_NOTE_INFO, "placement", "",
                            "%" PRIu64 " bytes of each token cross from %s to %s",
                            accel_plan_multiply(item->component->hidden, 4), p->targets[before->target].name,
                            p->targets[item->target].name);
    }
}

/* Repeats the rows of activations, scratch and program for every device in use. */
static void multiply_rows(struct accel_plan *plan, uint32_t used)
{
    for (uint32_t i = 0; i < plan->memory_count; i++) {
        struct accel_plan_memory *row = &plan->memory[i];
        if (row->memory_class != ACCEL_MEMORY_ACTIVATION && row->memory_class != ACCEL_MEMORY_SCRATCH &&
            row->memory_class != ACCEL_MEMORY_PROGRAM)
            continue;
        row->bytes = accel_plan_multiply(row->bytes, used);
        row->lower = accel_plan_multiply(row->lower, used);
        row->origin = accel_plan_text(plan, "%s; on each of %" PRIu32 " devices", row->origin, used);
    }
}

/** Sums over the devices in use. */
struct total {
    struct accel_plan_budget budget;            /* 0 bytes if the budget of a device is not known */
    uint64_t needed;                            /* bytes, with the host's part */
    uint64_t lack;                              /* bytes that `shortest` lacks */
    const struct accel_placer_target *shortest; /* the device that lacks most; NULL: none, or the host lacks it */
    uint32_t devices;
    uint32_t sharers; /* devices in use that share the host's memory */
};

/* Adds the host's memory to the budget once, however many devices share it. */
static void add_host_share(const struct accel_placer *p, uint64_t capacity, uint64_t taken, struct total *total)
{
    struct accel_plan_budget machine = {0};
    accel_plan_machine_budget(p->s->plan, &machine);
    if (machine.bytes != 0 && machine.bytes < capacity)
        capacity = machine.bytes;
    total->budget.bytes = accel_plan_add(total->budget.bytes, capacity);
    if (taken > capacity && taken - capacity > total->lack) {
        total->lack = taken - capacity;
        total->shortest = NULL;
    }
}

static int32_t sum_total(const struct accel_placer *p, struct total *out)
{
    uint64_t capacity = 0, taken = p->s->host;
    bool known = true;
    *out = (struct total){.needed = p->s->host};
    for (uint32_t i = 0; i < p->target_count; i++) {
        const struct accel_placer_target *target = &p->targets[i];
        if (!target->used)
            continue;
        known = known && target->budget.bytes != 0;
        out->budget.origin = target->budget.origin;
        if (target->is_host) {
            capacity = accel_plan_add(capacity, target->budget.bytes);
            taken = accel_plan_add(taken, target->taken);
            out->sharers++;
        } else {
            out->budget.bytes = accel_plan_add(out->budget.bytes, target->budget.bytes);
        }
        out->needed = accel_plan_add(out->needed, target->taken);
        if (find_lack(target) > out->lack) {
            out->lack = find_lack(target);
            out->shortest = target;
        }
        out->devices++;
    }
    if (out->sharers > 1)
        add_host_share(p, capacity, taken, out);
    else
        out->budget.bytes = accel_plan_add(out->budget.bytes, capacity);
    if (!known)
        out->budget.bytes = 0;
    return out->needed == UINT64_MAX
               ? accel_error_set(p->s->error, ACCEL_E_LIMIT, "the memory of the plan does not fit 64 bits")
               : ACCEL_OK;
}

/* Describes the budget of several devices and adds the notes and rows of each. */
static void note_devices(struct accel_placer *p, struct total *total)
{
    total->budget.origin =
        total->sharers > 1
            ? accel_plan_text(p->s->plan, "memory of %" PRIu32 " devices, of which %" PRIu32 " share the host's",
                              total->devices, total->sharers)
            : accel_plan_text(p->s->plan, "memory of %" PRIu32 " devices", total->devices);
    for (uint32_t i = 0; i < p->target_count; i++)
        if (p->targets[i].used)
            note_device(p, &p->targets[i]);
    note_crossings(p);
    multiply_rows(p->s->plan, total->devices);
}

/* Checks whether one of several devices lacks memory although the sum suffices; the verdict names that device. */
static void compute_device_fit(struct accel_plan *plan, const struct total *total)
{
    char taken[32], budget[32];
    if (!plan->spread || total->lack <= plan->fit.short_by)
        return;
    plan->fit.fits = 0;
    plan->fit.short_by = total->lack;
    if (total->shortest == NULL)
        return;
    plan->fit.budget_origin =
        accel_plan_text(plan, "%s; %s is short: it needs %s of its %s", plan->fit.budget_origin, total->shortest->name,
                        accel_plan_size_text(total->shortest->taken, taken),
                        accel_plan_size_text(total->shortest->budget.bytes, budget));
}

/* Checks that each device has enough memory for its part, and the host's budget for the whole plan. */
static int32_t compute_fit(struct accel_placer *p)
{
    struct accel_plan *plan = p->s->plan;
    struct total total;
    int32_t code = sum_total(p, &total);
    if (code != ACCEL_OK)
        return code;
    if (total.devices > 1)
        note_devices(p, &total);
    plan->spread = total.devices > 1;
    accel_plan_whole_budget(plan, &total.budget);
    accel_plan_compute_fit(plan, total.needed, &total.budget);
    /* The caller may set a budget above the machine's memory, but not above that of one of several devices. */
    compute_device_fit(plan, &total);
    return ACCEL_OK;
}

/* ---- speed bounds of data sheets ---- */

/* Lower bounds in seconds of a decode step and of a prefill token, summed over devices that work in sequence. */
struct bound {
    double decode;
    double prefill;
    bool has_bandwidth;
    bool has_compute;
};

static void add_bound(struct bound *bound, const struct accel_shape_planner *s,
                      const struct accel_placer_target *target, double bytes)
{
    const struct accel_plan_described *row = target->described;
    double share = bytes / (double)s->step_weights;
    bound->has_bandwidth = bound->has_bandwidth && row && row->bandwidth;
    bound->has_compute = bound->has_compute && row && row->compute;
    if (bound->has_bandwidth)
        bound->decode += bytes / (double)row->bandwidth;
    if (bound->has_compute)
        bound->prefill += share * 2 * (double)s->step_elements / ((double)row->compute * 1e12);
}

/* Returns the bytes that a decode step reads on a target: its layers, of experts the chosen ones, and on the first
 * device token embeddings that also serve as output projection. */
static double step_bytes(const struct accel_placer *p, uint32_t target)
{
    uint64_t listed = 0, own = 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        const struct accel_placer_item *item = &p->items[i];
        if (!item->component->cached || (item->layer == ACCEL_NO_LAYER && i < p->main_first))
            continue;
        listed = accel_plan_add(listed, item->weights);
        if (item->target == target)
            own = accel_plan_add(own, item->weights);
    }
    if (target == p->items[p->main_first].target && listed < p->s->step_weights)
        own = accel_plan_add(own, p->s->step_weights - listed);
    return (double)own * (listed > p->s->step_weights ? (double)p->s->step_weights / (double)listed : 1);
}

static bool is_used(const struct accel_placer *p, const struct accel_plan_described *row)
{
    for (uint32_t i = 0; i < p->target_count; i++)
        if (p->targets[i].used && p->targets[i].described == row)
            return true;
    return false;
}

/* Lists the places of the profiles that state the numbers of the devices in use: "h200.yaml:15, a100.yaml:16". */
static const char *list_places(const struct accel_placer *p, bool compute)
{
    struct accel_plan *plan = p->s->plan;
    const char *text = "";
    for (uint32_t i = 0; i < plan->described_count; i++) {
        const struct accel_plan_described *row = &plan->described[i];
        if (is_used(p, row))
            text = accel_plan_text(plan, "%s%s%s", text, *text ? ", " : "",
                                   compute ? row->compute_origin : row->bandwidth_origin);
    }
    return text;
}

static void bound_speed(struct accel_placer *p)
{
    struct accel_plan *plan = p->s->plan;
    struct bound bound = {.has_bandwidth = true, .has_compute = p->s->step_elements != 0};
    uint32_t used = 0;
    const char *how;
    char size[32];
    if (plan->device || p->s->step_weights == 0 || p->main == NULL || p->item_count == 0)
        return;
    for (uint32_t i = 0; i < p->target_count; i++)
        if (p->targets[i].used) {
            add_bound(&bound, p->s, &p->targets[i], step_bytes(p, i));
            used++;
        }
    how = used > 1 ? ", one device after the other" : "";
    if (bound.has_bandwidth && bound.decode > 0) {
        plan->bound_decode = 1 / bound.decode;
        plan->bound_decode_origin =
            accel_plan_text(plan, "claimed: device.bandwidth%s (%s) / %s of weights", how, list_places(p, false),
                            accel_plan_size_text(p->s->step_weights, size));
    }
    if (bound.has_compute && bound.prefill > 0) {
        plan->bound_prefill = 1 / bound.prefill;
        plan->bound_prefill_origin =
            accel_plan_text(plan, "claimed: device.compute%s (%s), f16 / %.1f billion operations", how,
                            list_places(p, true), 2 * (double)p->s->step_elements / 1e9);
    }
    /* A small model computes a batch in less time than it takes to read its weights, so reading bounds prefill. */
    if (plan->bound_prefill > plan->bound_decode * (double)p->s->batch && plan->bound_decode > 0) {
        plan->bound_prefill = plan->bound_decode * (double)p->s->batch;
        plan->bound_prefill_origin =
            accel_plan_text(plan, "%s for each batch of %" PRIu64, plan->bound_decode_origin, p->s->batch);
    }
}

int32_t accel_shape_plan_assign_layers(struct accel_shape_planner *s)
{
    struct accel_placer *p = accel_arena_array(&s->plan->arena, 1, sizeof(*p));
    int32_t code;
    if (p == NULL)
        return accel_error_no_memory(s->error, "for a plan");
    p->s = s;
    p->overhead = accel_plan_add(accel_plan_add(s->activations, s->scratch), s->program);
    code = make_items(p);
    if (code == ACCEL_OK)
        code = accel_placer_assign(p);
    if (code == ACCEL_OK)
        code = make_rows(p);
    if (code == ACCEL_OK)
        code = accel_placer_check_limits(p);
    if (code != ACCEL_OK)
        return code;
    sum_targets(p);
    bound_speed(p);
    return compute_fit(p);
}
