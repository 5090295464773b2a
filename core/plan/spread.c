/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns the parts of a model to devices by the settings placement, gpu.layers and offload.layers. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/honored.h"
#include "core/plan/placer.h"
#include "core/profile/keys.h"

/* ---- candidate devices ---- */

static bool is_candidate(const struct accel_device_info *info)
{
    return info->duplicate_of < 0 && (info->facts->flags & (ACCEL_DEVICE_TARGET | ACCEL_DEVICE_REMOTE)) == 0;
}

static int32_t add_target(struct accel_placer *p, const char *name, const struct accel_listed *device,
                          const struct accel_plan_budget *budget, uint32_t *out_index)
{
    if (p->target_count == ACCEL_PLACER_TARGETS)
        return accel_error_set(p->s->error, ACCEL_E_LIMIT, "a plan can use at most %u devices", ACCEL_PLACER_TARGETS);
    if (out_index)
        *out_index = p->target_count;
    p->targets[p->target_count] = (struct accel_placer_target){
        .name = name, .device = device, .budget = *budget, .is_host = device && accel_plan_uses_host_memory(device)};
    accel_plan_device_cap(p->s->plan, &p->targets[p->target_count].budget);
    p->target_count++;
    return ACCEL_OK;
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

/* Adds the devices of an absent platform, each with the memory that its profile states. They are named "platform:1" if
 * all have one profile, else by profile, "large", "small:1". */
static int32_t add_described(struct accel_placer *p)
{
    struct accel_plan *plan = p->s->plan;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < plan->described_count; i++) {
        const struct accel_plan_described *row = &plan->described[i];
        const struct accel_plan_budget budget = {row->memory, row->memory_origin};
        const char *name = accel_plan_text(plan, "%s", plan->described_count > 1 ? row->profile : plan->platform);
        for (uint32_t j = 0; j < row->count && code == ACCEL_OK; j++) {
            const char *numbered = row->count == 1 ? name : accel_plan_text(plan, "%s:%" PRIu32, name, j);
            code = add_target(p, numbered, NULL, &budget, NULL);
            if (code == ACCEL_OK)
                p->targets[p->target_count - 1].described = row;
        }
    }
    return code;
}

/* Returns whether the layers stay on the devices that the request names: if it names several, or if no placement of the
 * user spreads them. */
static bool is_limited(const struct accel_plan *plan)
{
    return plan->device && plan->asked && accel_names_device(plan->asked, &plan->device->info) &&
           (strchr(plan->asked, ',') || accel_plan_recommends(&plan->settings->values->placement));
}

/* Adds the other devices of the same driver and kind, best first. */
static int32_t add_siblings(struct accel_placer *p)
{
    const struct accel_context *context = p->s->plan->context;
    const struct accel_listed *own = p->s->plan->device;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < accel_device_count(context) && own && code == ACCEL_OK; i++) {
        const struct accel_device_info *info = accel_device_get(context, i);
        if (is_candidate(info) && strcmp(info->driver, own->info.driver) == 0 &&
            info->facts->kind == own->info.facts->kind &&
            (!is_limited(p->s->plan) || accel_names_device(p->s->plan->asked, info)))
            code = add_listed(p, accel_context_find(context, info->name), NULL);
    }
    return code;
}

/* Adds the best CPU device as the last target, which takes the remaining layers. False if there is none. */
static bool add_processors(struct accel_placer *p, uint32_t *out_index, int32_t *out_code)
{
    const struct accel_context *context = p->s->plan->context;
    const struct accel_listed *unranked = NULL, *device = accel_context_choose(context, "cpu", NULL, &unranked);
    *out_code = unranked ? accel_plan_refuse_unranked(context, unranked, false, p->s->error) : ACCEL_OK;
    if (device == NULL || !is_candidate(&device->info))
        return false;
    if (unranked == NULL)
        *out_code = add_listed(p, device, out_index);
    return true;
}

/* ---- assigning items to devices ---- */

static uint64_t capacity_of(const struct accel_placer *p, const struct accel_placer_target *target)
{
    if (target->budget.bytes == 0)
        return UINT64_MAX;
    return target->budget.bytes > p->overhead ? target->budget.bytes - p->overhead : 0;
}

/* Fills the devices one after the other; items that fit on no device are assigned to the last. */
static void fill_targets(struct accel_placer *p)
{
    uint32_t target = 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        uint64_t bytes = accel_placer_item_bytes(&p->items[i]);
        while (target + 1 < p->target_count &&
               accel_plan_add(p->targets[target].taken,
                              accel_plan_add(bytes, accel_placer_copy_bytes(p, &p->items[i], target))) >
                   capacity_of(p, &p->targets[target]))
            target++;
        p->items[i].target = target;
        p->targets[target].taken = accel_plan_add(p->targets[target].taken, bytes);
    }
}

/* Divides the items in proportion to the capacity of the devices: an item's middle decides whose share it is in. */
static void balance_targets(struct accel_placer *p)
{
    double whole = 0, capacity = 0, before = 0, end;
    uint32_t target = 0;
    bool known = true;
    for (uint32_t i = 0; i < p->target_count; i++)
        known = known && p->targets[i].budget.bytes != 0;
    for (uint32_t i = 0; i < p->target_count; i++)
        capacity += known ? (double)capacity_of(p, &p->targets[i]) : 1;
    for (uint32_t i = 0; i < p->item_count; i++)
        whole += (double)accel_placer_item_bytes(&p->items[i]);
    end = capacity > 0 ? whole * (known ? (double)capacity_of(p, &p->targets[0]) : 1) / capacity : whole;
    for (uint32_t i = 0; i < p->item_count; i++) {
        double bytes = (double)accel_placer_item_bytes(&p->items[i]);
        while (target + 1 < p->target_count && before + bytes / 2 > end && capacity > 0) {
            target++;
            end += whole * (known ? (double)capacity_of(p, &p->targets[target]) : 1) / capacity;
        }
        p->items[i].target = target;
        before += bytes;
    }
}

static int32_t find_target(struct accel_placer *p, const struct accel_profile_setting *setting, const char *name,
                           uint32_t *out_index)
{
    const struct accel_listed *device;
    char guess[ACCEL_DID_YOU_MEAN];
    for (uint32_t i = 0; i < p->target_count; i++)
        if (strcmp(p->targets[i].name, name) == 0) {
            *out_index = i;
            return ACCEL_OK;
        }
    device = accel_context_find(p->s->plan->context, name);
    if (device)
        return add_listed(p, device, out_index);
    accel_error_by(p->s->error, accel_setting_origin(setting), ACCEL_E_NOT_FOUND,
                   "%s: placement: there is no device %.80s%s", setting->place, name,
                   accel_context_guess(p->s->plan->context, name, guess, sizeof(guess)));
    if (p->s->plan->device)
        accel_error_remedy(p->s->error, "accelctl devices lists them");
    else
        accel_error_remedy(p->s->error, "name devices of this plan: the first is %s, the last %s", p->targets[0].name,
                           p->targets[p->target_count - 1].name);
    return ACCEL_E_NOT_FOUND;
}

static int32_t refuse_map(const struct accel_placer *p, const struct accel_profile_setting *setting, const char *why)
{
    accel_error_by(p->s->error, accel_setting_origin(setting), ACCEL_E_INVALID, "%s: placement=%.120s: %s",
                   setting->place, setting->value, why);
    return accel_error_advise(p->s->error, ACCEL_E_INVALID,
                              "write layers 0 to %" PRIu32 " as FIRST-LAST=DEVICE with commas between, or single, "
                              "auto or balanced",
                              p->main_layers ? p->main_layers - 1 : 0);
}

/* Checks that a map agrees with the requested device: every layer is on it, if the request names one; a map that puts
 * all layers on another device is refused, since --device expresses that. */
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
        accel_error_by(p->s->error, accel_setting_origin(setting), ACCEL_E_INVALID,
                       "%s: placement puts layer %" PRIu32 " on %s, and the request names %s", setting->place, i,
                       target->name, own->info.name);
        return accel_error_advise(p->s->error, ACCEL_E_INVALID,
                                  "leave --device out if placement lists the layers of each device");
    }
    if (!is_one || own == NULL || first->device == NULL || first->device == own)
        return ACCEL_OK;
    accel_error_by(p->s->error, accel_setting_origin(setting), ACCEL_E_INVALID,
                   "%s: placement puts all layers on %s, so it does not split the model", setting->place, first->name);
    return accel_error_advise(p->s->error, ACCEL_E_INVALID, "use --device %s instead", first->name);
}

/* Parses one "FIRST-LAST=NAME" or "LAYER=NAME" at *cursor, and assigns these layers. */
static int32_t parse_range(struct accel_placer *p, const struct accel_profile_setting *setting, const char **cursor,
                           uint32_t *next)
{
    char name[128];
    char *end = NULL;
    unsigned long first, last;
    size_t length;
    uint32_t target;
    int32_t code;
    if (**cursor < '0' || **cursor > '9')
        return refuse_map(p, setting, "a layer is missing");
    first = last = strtoul(*cursor, &end, 10);
    if (*end == '-' && end[1] >= '0' && end[1] <= '9')
        last = strtoul(end + 1, &end, 10);
    length = *end == '=' ? strcspn(end + 1, ",") : 0;
    if (length == 0 || length >= sizeof(name))
        return refuse_map(p, setting, "a device is missing");
    if (first != *next || last < first)
        return refuse_map(p, setting, "each layer must occur once, in order");
    if (last >= p->main_layers)
        return refuse_map(p, setting, "the model has fewer layers");
    snprintf(name, sizeof(name), "%.*s", (int)length, end + 1);
    code = find_target(p, setting, name, &target);
    for (unsigned long layer = first; layer <= last && code == ACCEL_OK; layer++)
        p->items[p->main_first + layer].target = target;
    *next = (uint32_t)last + 1;
    *cursor = end + 1 + length;
    return code;
}

/* Assigns layers of the main component by the map of the setting. Items before the layers go to the device of the
 * first layer, items after them to that of the last. */
static int32_t assign_by_map(struct accel_placer *p, const struct accel_profile_setting *setting)
{
    const char *cursor = setting->value;
    uint32_t next = 0;
    int32_t code = ACCEL_OK;
    if (p->main_layers == 0)
        return refuse_map(p, setting, "the model has no layers");
    while (*cursor != '\0' && code == ACCEL_OK) {
        code = parse_range(p, setting, &cursor, &next);
        if (code == ACCEL_OK && *cursor == ',' && *++cursor == '\0')
            code = refuse_map(p, setting, "it ends with a comma");
    }
    if (code != ACCEL_OK)
        return code;
    if (next != p->main_layers)
        return refuse_map(p, setting, "the last layers are missing");
    for (uint32_t i = 0; i < p->main_first; i++)
        p->items[i].target = p->items[p->main_first].target;
    for (uint32_t i = p->main_first + p->main_layers; i < p->item_count; i++)
        p->items[i].target = p->items[i - 1].target;
    return check_map(p, setting);
}

/* Returns whether all layers are on CPU devices, so that none can be moved off a GPU. */
static bool is_all_on_processors(const struct accel_placer *p)
{
    for (uint32_t i = 0; i < p->main_layers; i++) {
        const struct accel_listed *device = p->targets[p->items[p->main_first + i].target].device;
        if (device == NULL || device->info.facts->kind != ACCEL_DEVICE_CPU)
            return false;
    }
    return p->main_layers != 0;
}

/* Handles offload.layers if all layers are on the CPU already: declines a profile's value, and refuses a user's value
 * unless the CPU stands in for a missing GPU, which a note reports. */
static int32_t refuse_offload(struct accel_placer *p, const struct accel_profile_setting *setting)
{
    struct accel_plan *plan = p->s->plan;
    if (accel_plan_recommends(setting))
        return accel_plan_decline(plan, "offload.layers", "0", "all layers are on the CPU already", p->s->error);
    if (plan->moved)
        return ACCEL_OK;
    accel_error_by(p->s->error, accel_setting_origin(setting), ACCEL_E_INVALID,
                   "%.160s: offload.layers=%s needs a GPU, and %s the device %s", setting->place, setting->value,
                   plan->is_asked ? "the request names" : "the plan is for", plan->device->info.name);
    return accel_error_advise(p->s->error, ACCEL_E_INVALID,
                              "leave offload.layers out, or name a GPU with --device (accelctl devices lists them)");
}

/* Moves the last layers to the CPU; items after the layers stay on their device. */
static int32_t offload_layers(struct accel_placer *p)
{
    const struct accel_profile_setting *setting = &p->s->plan->settings->values->offload_layers;
    uint32_t target = 0, count = setting->number > 0 ? (uint32_t)setting->number : 0;
    int32_t code;
    if (count == 0)
        return ACCEL_OK;
    if (p->s->plan->device && is_all_on_processors(p))
        return refuse_offload(p, setting);
    if (count > p->main_layers)
        return accel_error_by(p->s->error, accel_setting_origin(setting), ACCEL_E_INVALID,
                              "%s: offload.layers=%" PRIu32 ": the model has %" PRIu32, setting->place, count,
                              p->main_layers);
    if (!add_processors(p, &target, &code))
        return accel_error_by(p->s->error, accel_setting_origin(setting), ACCEL_E_NOT_FOUND,
                              "%s: offload.layers=%" PRIu32 ": no driver offers the CPU as a device", setting->place,
                              count);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++)
        p->items[p->main_first + p->main_layers - 1 - i].target = target;
    return code;
}

static int32_t refuse_gpu(const struct accel_placer *p, const struct accel_profile_setting *setting, const char *why)
{
    accel_error_by(p->s->error, accel_setting_origin(setting), ACCEL_E_INVALID, "%s: gpu.layers=%s: %s", setting->place,
                   setting->value, why);
    return accel_error_advise(p->s->error, ACCEL_E_INVALID, "leave gpu.layers (-ngl) out");
}

/* Returns whether a placement beside `single` is the user's; one that a profile recommends yields to gpu.layers. */
static bool is_placed_by_user(const struct accel_placer *p)
{
    const struct accel_profile_setting *placement = &p->s->plan->settings->values->placement;
    return placement->word != ACCEL_WORD_SINGLE && !accel_plan_recommends(placement);
}

/* Returns whether gpu.layers leaves layers to the CPU, so that it decides where all of them lie. */
static bool is_cut_by_gpu_layers(const struct accel_placer *p)
{
    const struct accel_profile_setting *setting = &p->s->plan->settings->values->gpu_layers;
    return setting->is_number && (uint64_t)setting->number <= p->main_layers && !is_placed_by_user(p);
}

/* Applies gpu.layers: puts the last layers on the GPU, which is the device of the plan, and all earlier items on the
 * CPU. The items after the layers count as one layer. */
static int32_t split_gpu(struct accel_placer *p)
{
    const struct accel_profile_setting *setting = &p->s->plan->settings->values->gpu_layers;
    const struct accel_listed *own = p->s->plan->device;
    uint32_t target = 0;
    int32_t code = ACCEL_OK;
    if (setting->word == ACCEL_WORD_AUTO)
        return ACCEL_OK;
    if (is_placed_by_user(p))
        return refuse_gpu(p, setting, "placement assigns the layers already");
    if (p->s->plan->settings->values->offload_layers.number > 0)
        return refuse_gpu(p, setting, "offload.layers assigns layers to the CPU already");
    if (own && own->info.facts->kind == ACCEL_DEVICE_CPU)
        return p->s->plan->moved || (setting->is_number && setting->number == 0)
                   ? ACCEL_OK
                   : refuse_gpu(p, setting, "the plan is for the CPU");
    if (!is_cut_by_gpu_layers(p))
        return ACCEL_OK;
    if (!add_processors(p, &target, &code))
        return refuse_gpu(p, setting, "no driver offers the CPU as a device");
    for (uint32_t i = 0; i < p->main_first + p->main_layers + 1 - (uint32_t)setting->number && code == ACCEL_OK; i++)
        if (i < p->item_count)
            p->items[i].target = target;
    return code;
}

/* Distributes the items by `placement` and gpu.layers; offload.layers follows. */
static int32_t distribute(struct accel_placer *p)
{
    const struct accel_profile_setting *setting = &p->s->plan->settings->values->placement;
    const struct accel_profile_setting *gpu_layers = &p->s->plan->settings->values->gpu_layers;
    bool single = setting->word == ACCEL_WORD_SINGLE || is_cut_by_gpu_layers(p);
    bool by_hand = !single && setting->word != ACCEL_WORD_AUTO && setting->word != ACCEL_WORD_BALANCED;
    uint32_t index;
    int32_t code = p->s->plan->device ? add_listed(p, p->s->plan->device, NULL) : add_described(p);
    if (code == ACCEL_OK)
        code = split_gpu(p);
    if (code != ACCEL_OK || single)
        return code;
    if (by_hand)
        return assign_by_map(p, setting);
    code = add_siblings(p);
    if (code != ACCEL_OK)
        return code;
    if (setting->word == ACCEL_WORD_BALANCED) {
        balance_targets(p);
    } else {
        /* Plans for an absent platform do not use the CPU of this host, nor does gpu.layers with all layers. */
        if (p->s->plan->device && !is_limited(p->s->plan) && gpu_layers->word == ACCEL_WORD_AUTO)
            add_processors(p, &index, &code);
        if (code != ACCEL_OK)
            return code;
        fill_targets(p);
    }
    return ACCEL_OK;
}

int32_t accel_placer_assign(struct accel_placer *p)
{
    int32_t code = distribute(p);
    return code == ACCEL_OK ? offload_layers(p) : code;
}
