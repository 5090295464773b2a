/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to spread items over devices, as the settings placement, tensor.parallel and offload.layers say. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/placer.h"

/* ---- the devices ---- */

static bool is_candidate(const struct accel_device_info *info)
{
    return info->duplicate_of < 0 && (info->facts->flags & (ACCEL_DEVICE_TARGET | ACCEL_DEVICE_REMOTE)) == 0;
}

static int32_t add_target(struct accel_placer *p, const char *name, const struct accel_listed *device,
                          const struct accel_plan_budget *budget, uint32_t *out_index)
{
    if (p->target_count == ACCEL_PLACER_TARGETS)
        return accel_error_set(p->s->error, ACCEL_E_LIMIT, "a plan lies on at most %u devices", ACCEL_PLACER_TARGETS);
    if (out_index)
        *out_index = p->target_count;
    p->targets[p->target_count] = (struct accel_placer_target){.name = name,
                                                               .device = device,
                                                               .budget = *budget,
                                                               .is_host = device && accel_plan_uses_host_memory(device),
                                                               .members = 1};
    accel_plan_device_cap(p->s->plan, &p->targets[p->target_count].budget);
    p->target_count++;
    return name ? ACCEL_OK : accel_plan_no_memory(p->s->error);
}

static int32_t add_listed(struct accel_placer *p, const struct accel_listed *device, uint32_t *out_index)
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
static int32_t add_described(struct accel_placer *p)
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
    if (count > ACCEL_PLACER_TARGETS / 2)
        return accel_error_set(p->s->error, ACCEL_E_LIMIT, "device.count is %" PRIu64 ", at most %u are planned", count,
                               ACCEL_PLACER_TARGETS / 2);
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++)
        code = add_target(p, count == 1 ? plan->platform : accel_plan_text(plan, "%s:%" PRIu64, plan->platform, i),
                          NULL, &budget, NULL);
    return code;
}

/* The device of the plan first. */
static int32_t begin_targets(struct accel_placer *p)
{
    return p->s->plan->device ? add_listed(p, p->s->plan->device, NULL) : add_described(p);
}

/* Others of the same driver and kind, best first. */
static int32_t add_siblings(struct accel_placer *p)
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

static bool is_for_processors(const struct accel_listed *listed, const void *data)
{
    (void)data;
    return listed->info.facts->kind == ACCEL_DEVICE_CPU &&
           (listed->info.facts->flags & (ACCEL_DEVICE_TARGET | ACCEL_DEVICE_REMOTE)) == 0;
}

/* The best device that runs on processors, last: it takes what is left. False where there is none. */
static bool add_processors(struct accel_placer *p, uint32_t *out_index, int32_t *out_code)
{
    const struct accel_context *context = p->s->plan->context;
    const struct accel_listed *unranked = accel_context_unranked(context, is_for_processors, NULL);
    *out_code = unranked ? accel_plan_refuse_unranked(context, unranked, false, p->s->error) : ACCEL_OK;
    if (unranked)
        return true;
    for (uint32_t i = 0; i < accel_device_count(context); i++) {
        const struct accel_device_info *info = accel_device_get(context, i);
        if (is_candidate(info) && info->facts->kind == ACCEL_DEVICE_CPU) {
            *out_code = add_listed(p, accel_context_find(context, info->name), out_index);
            return true;
        }
    }
    return false;
}

/* ---- the ways to spread ---- */

static uint64_t room_of(const struct accel_placer *p, const struct accel_placer_target *target)
{
    uint64_t overhead = accel_placer_overhead(p, target);
    if (target->budget.bytes == 0)
        return UINT64_MAX;
    return target->budget.bytes > overhead ? target->budget.bytes - overhead : 0;
}

/* Fills one device after the other; what no device has room for stays on the last. */
static void fill(struct accel_placer *p)
{
    uint32_t target = 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        uint64_t bytes = accel_placer_item_bytes(&p->items[i]);
        while (target + 1 < p->target_count &&
               accel_plan_add(p->targets[target].taken, bytes) > room_of(p, &p->targets[target]))
            target++;
        p->items[i].target = target;
        p->targets[target].taken = accel_plan_add(p->targets[target].taken, bytes);
    }
}

/* Shares in proportion to the room of each device: an item goes where its middle falls. */
static void balance(struct accel_placer *p)
{
    double whole = 0, room = 0, before = 0, end;
    uint32_t target = 0;
    bool known = true;
    for (uint32_t i = 0; i < p->target_count; i++)
        known = known && p->targets[i].budget.bytes != 0;
    for (uint32_t i = 0; i < p->target_count; i++)
        room += known ? (double)room_of(p, &p->targets[i]) : 1;
    for (uint32_t i = 0; i < p->item_count; i++)
        whole += (double)accel_placer_item_bytes(&p->items[i]);
    end = room > 0 ? whole * (known ? (double)room_of(p, &p->targets[0]) : 1) / room : whole;
    for (uint32_t i = 0; i < p->item_count; i++) {
        double bytes = (double)accel_placer_item_bytes(&p->items[i]);
        while (target + 1 < p->target_count && before + bytes / 2 > end && room > 0) {
            target++;
            end += whole * (known ? (double)room_of(p, &p->targets[target]) : 1) / room;
        }
        p->items[i].target = target;
        before += bytes;
    }
}

static int32_t named_target(struct accel_placer *p, const struct accel_profile_setting *setting, const char *name,
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

static int32_t bad_map(const struct accel_placer *p, const struct accel_profile_setting *setting, const char *why)
{
    accel_error_set(p->s->error, ACCEL_E_INVALID, "%s: placement=%.120s: %s", setting->place, setting->value, why);
    accel_error_remedy(p->s->error,
                       "write layers 0 to %" PRIu32 " as FIRST-LAST=DEVICE with commas between, or single, "
                       "auto or balanced",
                       p->main_layers ? p->main_layers - 1 : 0);
    return ACCEL_E_INVALID;
}

/* A request for one device is for that one, and a map that leaves it out belongs into the request for another. */
static int32_t check_map(const struct accel_placer *p, const struct accel_profile_setting *setting)
{
    const struct accel_listed *own = p->s->plan->device;
    const struct accel_placer_target *first = &p->targets[p->items[p->main_first].target];
    bool is_one = true;
    for (uint32_t i = 0; i < p->main_layers; i++) {
        const struct accel_placer_target *target = &p->targets[p->items[p->main_first + i].target];
        is_one = is_one && target == first;
        if (!p->s->plan->is_asked || target->device == own)
            continue;
        accel_error_set(p->s->error, ACCEL_E_INVALID, "%s: placement puts layer %" PRIu32 " on %s, and %s is asked for",
                        setting->place, i, target->name, own->info.name);
        accel_error_remedy(p->s->error, "ask for no device where layers are placed by hand");
        return ACCEL_E_INVALID;
    }
    if (!is_one || own == NULL || first->device == NULL || first->device == own)
        return ACCEL_OK;
    accel_error_set(p->s->error, ACCEL_E_INVALID, "%s: placement puts all layers on %s: that is no split",
                    setting->place, first->name);
    accel_error_remedy(p->s->error, "ask for the device instead: --device %s", first->name);
    return ACCEL_E_INVALID;
}

/* One "FIRST-LAST=NAME" or "LAYER=NAME" at *cursor. */
static int32_t map_range(struct accel_placer *p, const struct accel_profile_setting *setting, const char **cursor,
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
static int32_t map(struct accel_placer *p, const struct accel_profile_setting *setting)
{
    const char *cursor = setting->value;
    uint32_t next = 0;
    int32_t code = ACCEL_OK;
    if (p->main_layers == 0)
        return bad_map(p, setting, "the model has no layers");
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
    return check_map(p, setting);
}

/* The last layers on the processors, and what comes after them stays where it was. */
static int32_t offload(struct accel_placer *p)
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

static int32_t bad_split(const struct accel_placer *p, const struct accel_profile_setting *setting, const char *why,
                         uint32_t number)
{
    accel_error_set(p->s->error, ACCEL_E_INVALID, "%s: tensor.parallel=%s: %s %" PRIu32, setting->place, setting->value,
                    why, number);
    accel_error_remedy(p->s->error, "set tensor.parallel=1");
    return ACCEL_E_INVALID;
}

/* Devices that share the heads of each layer count as one, with the memory of all: groups of neighbours. */
static int32_t merge(struct accel_placer *p, const struct accel_profile_setting *setting)
{
    uint32_t each = (uint32_t)setting->number, groups = p->target_count / each;
    if (groups == 0)
        return bad_split(p, setting, "devices of the kind that are there:", p->target_count);
    if (p->main && p->main->heads % each != 0)
        return bad_split(p, setting, "it does not divide the heads,", p->main->heads);
    for (uint32_t g = 0; g < groups; g++) {
        struct accel_placer_target one = p->targets[(size_t)g * each];
        for (uint32_t i = 1; i < each; i++) {
            const struct accel_placer_target *other = &p->targets[(size_t)g * each + i];
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

/* Before any layer goes to the processors. */
static int32_t spread(struct accel_placer *p)
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
    /* The processors of this host are no part of a machine that is elsewhere. */
    if (p->s->plan->device)
        add_processors(p, &index, &code);
    if (code == ACCEL_OK)
        fill(p);
    return code;
}

int32_t accel_placer_spread(struct accel_placer *p)
{
    int32_t code = spread(p);
    return code == ACCEL_OK ? offload(p) : code;
}
