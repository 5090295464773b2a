/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers lie on which device. Everything that a step goes through is one item: the tables of a component, its
 * layers, and what comes after them. Neighbours on one device make one row.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/sketch.h"

/** Devices that a plan may lie on. */
#define TARGETS 64u

/** A device, here or described. */
struct target {
    const char *name;
    const struct accel_listed *device; /* NULL: a platform's that is not here */
    struct accel_plan_budget budget;
    uint64_t taken;
    uint32_t members; /* devices that share each layer: 1, or tensor.parallel */
    bool used;
};

/** One thing that a step goes through. */
struct item {
    const struct accel_sketch_component *component;
    uint32_t layer; /* or ACCEL_NO_LAYER */
    uint32_t target;
    uint64_t weights;
    uint64_t state;
};

struct placer {
    struct accel_sketcher *s;
    struct target targets[TARGETS];
    struct item *items;
    uint32_t target_count;
    uint32_t item_count;
    const struct accel_sketch_component *main; /* its layers are those that maps and offload speak of */
    uint32_t main_first;                       /* item of its layer 0 */
    uint32_t main_layers;
    uint64_t overhead; /* that every device in use needs */
};

/* ---- devices ---- */

static bool is_candidate(const struct accel_device_info *info)
{
    return info->duplicate_of < 0 && (info->facts->flags & (ACCEL_DEVICE_TARGET | ACCEL_DEVICE_REMOTE)) == 0;
}

static int32_t add_target(struct placer *p, const char *name, const struct accel_listed *device,
                          const struct accel_plan_budget *budget, uint32_t *out_index)
{
    if (p->target_count == TARGETS)
        return accel_error_set(p->s->error, ACCEL_E_LIMIT, "a plan lies on at most %u devices", TARGETS);
    if (out_index)
        *out_index = p->target_count;
    p->targets[p->target_count] = (struct target){.name = name, .device = device, .budget = *budget, .members = 1};
    accel_plan_device_cap(p->s->plan, &p->targets[p->target_count].budget);
    p->target_count++;
    return name ? ACCEL_OK : accel_plan_no_memory(p->s->error);
}

static int32_t add_listed(struct placer *p, const struct accel_listed *device, uint32_t *out_index)
{
    struct accel_plan_budget budget;
    for (uint32_t i = 0; i < p->target_count; i++)
        if (p->targets[i].device == device) {
            if (out_index)
                *out_index = i;
            return ACCEL_OK;
        }
    accel_plan_device_budget(p->s->plan, device, &budget);
    return add_target(p, device->info.name, device, &budget, out_index);
}

/* Devices of a platform that has none here: as many as the facts say, each with the memory that they state. */
static int32_t add_described(struct placer *p)
{
    struct accel_plan *plan = p->s->plan;
    struct accel_plan_budget budget = {0};
    uint64_t count = 1;
    int32_t code = ACCEL_OK;
    const char *origin = "";
    if (accel_plan_fact_number(plan, "device.memory", &budget.bytes, &origin))
        budget.origin = accel_plan_text(plan, "profile: device.memory: %s", origin);
    if (!accel_plan_fact_number(plan, "device.count", &count, NULL) || count == 0)
        count = 1;
    if (count > TARGETS / 2)
        return accel_error_set(p->s->error, ACCEL_E_LIMIT, "device.count is %" PRIu64 ", at most %u are planned", count,
                               TARGETS / 2);
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++)
        code = add_target(p, count == 1 ? plan->platform : accel_plan_text(plan, "%s:%" PRIu64, plan->platform, i),
                          NULL, &budget, NULL);
    return code;
}

/* The device of the plan first. */
static int32_t begin_targets(struct placer *p)
{
    return p->s->plan->device ? add_listed(p, p->s->plan->device, NULL) : add_described(p);
}

/* Others of the same driver and kind, best first. */
static int32_t add_siblings(struct placer *p)
{
    const struct accel_context *context = p->s->plan->context;
    const struct accel_listed *own = p->s->plan->device;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < accel_device_count(context) && own && code == ACCEL_OK; i++) {
        const struct accel_device_info *info = accel_device_get(context, i);
        if (is_candidate(info) && strcmp(info->driver, own->info.driver) == 0 &&
            info->facts->kind == own->info.facts->kind)
            code = add_listed(p, accel_context_find(context, info->name), NULL);
    }
    return code;
}

/* The best device that runs on processors, last: it takes what is left. False where there is none. */
static bool add_processors(struct placer *p, uint32_t *out_index, int32_t *out_code)
{
    const struct accel_context *context = p->s->plan->context;
    *out_code = ACCEL_OK;
    for (uint32_t i = 0; i < accel_device_count(context); i++) {
        const struct accel_device_info *info = accel_device_get(context, i);
        if (is_candidate(info) && info->facts->kind == ACCEL_DEVICE_CPU) {
            *out_code = add_listed(p, accel_context_find(context, info->name), out_index);
            return true;
        }
    }
    return false;
}

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

static void add_item(struct placer *p, const struct accel_sketch_component *c, uint32_t layer, uint64_t weights,
                     uint64_t state)
{
    if (weights || state || layer != ACCEL_NO_LAYER)
        p->items[p->item_count++] = (struct item){c, layer, 0, weights, state};
}

/* Layer sums in one pass over the weights: a model may have many of both. */
static int32_t add_component(struct placer *p, const struct accel_sketch_component *c)
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

static int32_t make_items(struct placer *p)
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

/* ---- the ways to spread ---- */

static uint64_t bytes_of_item(const struct item *item)
{
    return accel_plan_add(item->weights, item->state);
}

static uint64_t overhead_of(const struct placer *p, const struct target *target)
{
    return accel_plan_multiply(p->overhead, target->members);
}

static uint64_t room_of(const struct placer *p, const struct target *target)
{
    uint64_t overhead = overhead_of(p, target);
    if (target->budget.bytes == 0)
        return UINT64_MAX;
    return target->budget.bytes > overhead ? target->budget.bytes - overhead : 0;
}

/* Fills one device after the other; what no device has room for stays on the last. */
static void fill(struct placer *p)
{
    uint32_t target = 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        uint64_t bytes = bytes_of_item(&p->items[i]);
        while (target + 1 < p->target_count &&
               accel_plan_add(p->targets[target].taken, bytes) > room_of(p, &p->targets[target]))
            target++;
        p->items[i].target = target;
        p->targets[target].taken = accel_plan_add(p->targets[target].taken, bytes);
    }
}

/* Shares in proportion to the room of each device: an item goes where its middle falls. */
static void balance(struct placer *p)
{
    double whole = 0, room = 0, before = 0, end;
    uint32_t target = 0;
    bool known = true;
    for (uint32_t i = 0; i < p->target_count; i++)
        known = known && p->targets[i].budget.bytes != 0;
    for (uint32_t i = 0; i < p->target_count; i++)
        room += known ? (double)room_of(p, &p->targets[i]) : 1;
    for (uint32_t i = 0; i < p->item_count; i++)
        whole += (double)bytes_of_item(&p->items[i]);
    end = room > 0 ? whole * (known ? (double)room_of(p, &p->targets[0]) : 1) / room : whole;
    for (uint32_t i = 0; i < p->item_count; i++) {
        double bytes = (double)bytes_of_item(&p->items[i]);
        while (target + 1 < p->target_count && before + bytes / 2 > end && room > 0) {
            target++;
            end += whole * (known ? (double)room_of(p, &p->targets[target]) : 1) / room;
        }
        p->items[i].target = target;
        before += bytes;
    }
}

static int32_t named_target(struct placer *p, const struct accel_profile_setting *setting, const char *name,
                            uint32_t *out_index)
{
    const struct accel_listed *device;
    for (uint32_t i = 0; i < p->target_count; i++)
        if (strcmp(p->targets[i].name, name) == 0) {
            *out_index = i;
            return ACCEL_OK;
        }
    device = accel_context_find(p->s->plan->context, name);
    if (device)
        return add_listed(p, device, out_index);
    accel_error_set(p->s->error, ACCEL_E_NOT_FOUND, "%s: placement: there is no device %.80s", setting->place, name);
    accel_error_remedy(p->s->error, "accelctl devices lists them");
    return ACCEL_E_NOT_FOUND;
}

static int32_t bad_map(const struct placer *p, const struct accel_profile_setting *setting, const char *why)
{
    accel_error_set(p->s->error, ACCEL_E_INVALID, "%s: placement=%.120s: %s", setting->place, setting->value, why);
    accel_error_remedy(p->s->error,
                       "write layers 0 to %" PRIu32 " as FIRST-LAST=DEVICE with commas between, or single, "
                       "auto or balanced",
                       p->main_layers ? p->main_layers - 1 : 0);
    return ACCEL_E_INVALID;
}

/* One "FIRST-LAST=NAME" or "LAYER=NAME" at *cursor. */
static int32_t map_range(struct placer *p, const struct accel_profile_setting *setting, const char **cursor,
                         uint32_t *next)
{
    char name[128];
    char *end = NULL;
    unsigned long first, last;
    size_t length;
    uint32_t target;
    int32_t code;
    if (**cursor < '0' || **cursor > '9')
        return bad_map(p, setting, "a layer is missing");
    first = last = strtoul(*cursor, &end, 10);
    if (*end == '-' && end[1] >= '0' && end[1] <= '9')
        last = strtoul(end + 1, &end, 10);
    if (*end != '=')
        return bad_map(p, setting, "a device is missing");
    length = strcspn(end + 1, ",");
    if (length == 0 || length >= sizeof(name))
        return bad_map(p, setting, "a device is missing");
    if (first != *next || last < first)
        return bad_map(p, setting, "every layer has to come once, in order");
    if (last >= p->main_layers)
        return bad_map(p, setting, "the model has fewer layers");
    memcpy(name, end + 1, length);
    name[length] = '\0';
    code = named_target(p, setting, name, &target);
    for (unsigned long layer = first; layer <= last && code == ACCEL_OK; layer++)
        p->items[p->main_first + layer].target = target;
    *next = (uint32_t)last + 1;
    *cursor = end + 1 + length;
    return code;
}

/* Layers of the main component by hand. What comes before them goes with the first, what comes after with the last. */
static int32_t map(struct placer *p, const struct accel_profile_setting *setting)
{
    const char *cursor = setting->value;
    uint32_t next = 0;
    int32_t code = ACCEL_OK;
    while (*cursor != '\0' && code == ACCEL_OK) {
        code = map_range(p, setting, &cursor, &next);
        if (code == ACCEL_OK && *cursor == ',' && *++cursor == '\0')
            code = bad_map(p, setting, "it ends with a comma");
    }
    if (code != ACCEL_OK)
        return code;
    if (next != p->main_layers)
        return bad_map(p, setting, "the last layers are missing");
    for (uint32_t i = 0; i < p->main_first; i++)
        p->items[i].target = p->items[p->main_first].target;
    for (uint32_t i = p->main_first + p->main_layers; i < p->item_count; i++)
        p->items[i].target = p->items[i - 1].target;
    return ACCEL_OK;
}

/* The last layers on the processors, and what comes after them stays where it was. */
static int32_t offload(struct placer *p)
{
    const struct accel_profile_setting *setting = accel_plan_value(p->s->plan, "offload.layers");
    uint32_t target = 0, count = setting->number > 0 ? (uint32_t)setting->number : 0;
    int32_t code;
    if (count == 0)
        return ACCEL_OK;
    if (count > p->main_layers)
        return accel_error_set(p->s->error, ACCEL_E_INVALID, "%s: offload.layers=%" PRIu32 ": the model has %" PRIu32,
                               setting->place, count, p->main_layers);
    if (!add_processors(p, &target, &code))
        return accel_error_set(p->s->error, ACCEL_E_NOT_FOUND,
                               "%s: offload.layers=%" PRIu32 ": no driver brings the processors as a device",
                               setting->place, count);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++)
        p->items[p->main_first + p->main_layers - 1 - i].target = target;
    return code;
}

static int32_t bad_split(const struct placer *p, const struct accel_profile_setting *setting, const char *why,
                         uint32_t number)
{
    accel_error_set(p->s->error, ACCEL_E_INVALID, "%s: tensor.parallel=%s: %s %" PRIu32, setting->place, setting->value,
                    why, number);
    accel_error_remedy(p->s->error, "set tensor.parallel=1");
    return ACCEL_E_INVALID;
}

/* Devices that share the heads of each layer count as one, with the memory of all: groups of neighbours. */
static int32_t merge(struct placer *p, const struct accel_profile_setting *setting)
{
    uint32_t each = (uint32_t)setting->number, groups = p->target_count / each;
    if (groups == 0)
        return bad_split(p, setting, "devices of the kind that are there:", p->target_count);
    if (p->main && p->main->heads % each != 0)
        return bad_split(p, setting, "it does not divide the heads,", p->main->heads);
    for (uint32_t g = 0; g < groups; g++) {
        struct target one = p->targets[(size_t)g * each];
        for (uint32_t i = 1; i < each; i++) {
            const struct target *other = &p->targets[(size_t)g * each + i];
            bool known = one.budget.bytes != 0 && other->budget.bytes != 0;
            one.name = accel_plan_text(p->s->plan, "%s + %s", one.name, other->name);
            one.budget.bytes = known ? accel_plan_add(one.budget.bytes, other->budget.bytes) : 0;
            if (one.name == NULL)
                return accel_plan_no_memory(p->s->error);
        }
        one.device = NULL;
        one.members = each;
        p->targets[g] = one;
    }
    p->target_count = groups;
    return ACCEL_OK;
}

static int32_t spread(struct placer *p)
{
    const struct accel_profile_setting *setting = accel_plan_value(p->s->plan, "placement");
    const struct accel_profile_setting *shared = accel_plan_value(p->s->plan, "tensor.parallel");
    bool single = strcmp(setting->value, "single") == 0;
    bool by_hand = !single && strcmp(setting->value, "auto") != 0 && strcmp(setting->value, "balanced") != 0;
    uint32_t index;
    int32_t code = begin_targets(p);
    if (code != ACCEL_OK || (single && shared->number <= 1))
        return code;
    if (by_hand && shared->number > 1)
        return bad_split(p, shared, "layers are placed by hand, devices each:", 1);
    if (by_hand)
        return map(p, setting);
    code = add_siblings(p);
    if (code == ACCEL_OK && shared->number > 1)
        code = merge(p, shared);
    if (code != ACCEL_OK || single)
        return code;
    if (strcmp(setting->value, "balanced") == 0) {
        balance(p);
        return ACCEL_OK;
    }
    add_processors(p, &index, &code);
    if (code == ACCEL_OK)
        fill(p);
    return code;
}

/* ---- rows and the verdict ---- */

static int32_t make_rows(struct placer *p)
{
    struct accel_plan *plan = p->s->plan;
    struct accel_plan_layer *row = NULL;
    for (uint32_t i = 0; i < p->item_count; i++) {
        const struct item *item = &p->items[i];
        struct target *target = &p->targets[item->target];
        bool joins = row && item->layer != ACCEL_NO_LAYER && row->last != ACCEL_NO_LAYER &&
                     strcmp(row->component, item->component->name) == 0 && strcmp(row->device, target->name) == 0;
        target->used = true;
        if (!joins) {
            struct accel_plan_layer fresh = {
                .size = sizeof(fresh),
                .first = item->layer,
                .component = accel_plan_text(plan, "%s", item->component->name),
                .device = accel_plan_text(plan, "%s", target->name),
            };
            if (!fresh.component || !fresh.device || !accel_plan_rows_add(plan, &plan->layers, &fresh, sizeof(fresh)))
                return accel_plan_no_memory(p->s->error);
            row = plan->layers.items[plan->layers.count - 1];
        }
        row->last = item->layer;
        row->weight_bytes = accel_plan_add(row->weight_bytes, item->weights);
        row->state_bytes = accel_plan_add(row->state_bytes, item->state);
    }
    return ACCEL_OK;
}

/* Weights of components that the sketch does not list lie on the first device. */
static void sum_targets(struct placer *p)
{
    uint64_t placed = 0;
    for (uint32_t i = 0; i < p->target_count; i++)
        p->targets[i].taken = p->targets[i].used ? overhead_of(p, &p->targets[i]) : 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        struct target *target = &p->targets[p->items[i].target];
        target->taken = accel_plan_add(target->taken, bytes_of_item(&p->items[i]));
        placed = accel_plan_add(placed, p->items[i].weights);
    }
    if (p->item_count == 0)
        p->targets[0].used = true;
    if (placed < p->s->weights)
        p->targets[0].taken = accel_plan_add(p->targets[0].taken, p->s->weights - placed);
}

static int32_t note_device(struct placer *p, const struct target *target)
{
    uint64_t lack =
        target->budget.bytes && target->taken > target->budget.bytes ? target->taken - target->budget.bytes : 0;
    return accel_plan_add_note(p->s->plan, lack ? ACCEL_NOTE_WARN : ACCEL_NOTE_INFO, "placement", "", p->s->error,
                               "%s takes %" PRIu64 " of %" PRIu64 " bytes (%s)%s", target->name, target->taken,
                               target->budget.bytes, target->budget.bytes ? target->budget.origin : "not known",
                               lack ? ": too much" : "");
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

/* Every device has to have room for its part, and the host's budget for the whole. */
static int32_t judge(struct placer *p)
{
    struct accel_plan *plan = p->s->plan;
    struct accel_plan_budget whole = {0};
    uint32_t used = 0, last = 0;
    uint64_t needed = p->s->host, lack = 0;
    bool known = true;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < p->target_count && code == ACCEL_OK; i++) {
        const struct target *target = &p->targets[i];
        if (!target->used)
            continue;
        if (target->budget.bytes && target->budget.origin == NULL)
            return accel_plan_no_memory(p->s->error);
        needed = accel_plan_add(needed, target->taken);
        known = known && target->budget.bytes != 0;
        whole.bytes = accel_plan_add(whole.bytes, target->budget.bytes);
        if (target->budget.bytes && target->taken > target->budget.bytes && target->taken - target->budget.bytes > lack)
            lack = target->taken - target->budget.bytes;
        last = i;
        used += target->members;
    }
    if (needed == UINT64_MAX)
        return accel_error_set(p->s->error, ACCEL_E_LIMIT, "the memory of the plan does not fit 64 bits");
    plan->spread = used > 1;
    whole.bytes = known ? whole.bytes : 0;
    whole.origin = used == 1 ? p->targets[last].budget.origin
                             : accel_plan_text(plan, "memory of %" PRIu32 " devices, each with its own", used);
    for (uint32_t i = 0; i < p->target_count && used > 1 && code == ACCEL_OK; i++)
        if (p->targets[i].used)
            code = note_device(p, &p->targets[i]);
    if (code == ACCEL_OK && used > 1)
        code = repeat_rows(plan, used, p->s->error);
    if (code != ACCEL_OK)
        return code;
    accel_plan_whole_budget(plan, &whole);
    code = accel_plan_judge_fit(plan, needed, &whole, p->s->error);
    /* A budget of the caller that is above what the machine has is believed; one device of several is not. */
    if (used > 1 && lack > plan->fit.short_by) {
        plan->fit.fits = 0;
        plan->fit.short_by = lack;
    }
    return code;
}

int32_t accel_sketch_place(struct accel_sketcher *s)
{
    struct placer *p = accel_arena_array(&s->plan->arena, 1, sizeof(*p));
    int32_t code;
    if (p == NULL)
        return accel_plan_no_memory(s->error);
    p->s = s;
    p->overhead = accel_plan_add(accel_plan_add(s->activations, s->scratch), s->program);
    code = make_items(p);
    if (code == ACCEL_OK)
        code = spread(p);
    if (code == ACCEL_OK)
        code = offload(p);
    if (code == ACCEL_OK)
        code = make_rows(p);
    if (code != ACCEL_OK)
        return code;
    sum_targets(p);
    return judge(p);
}
