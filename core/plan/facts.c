/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the facts of a plan, which the rules of profiles refer to, each with its origin. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/plan/settings.h"
#include "core/profile/keys.h"
#include "core/registry/rank.h"

/* Number of facts beside those of the device and of the model: platform, device.count, device.name, device.list,
 * device.profile, host.threads, host.memory, model.memory_share. */
enum { OTHER_FACTS = 8 };

/* Counts the devices with the same driver and name as `like`. */
static uint32_t count_alike(const struct accel_context *context, const struct accel_device_info *like)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < accel_device_count(context); i++) {
        const struct accel_device_info *info = accel_device_get(context, i);
        count += info->duplicate_of < 0 && strcmp(info->driver, like->driver) == 0 &&
                 strcmp(info->facts->name, like->facts->name) == 0;
    }
    return count;
}

static void add(struct accel_plan *plan, const char *key, const char *value, const char *origin)
{
    plan->facts[plan->fact_count++] = (struct accel_profile_pair){key, value, origin};
}

static void add_device(struct accel_plan *plan)
{
    const struct accel_device_info *info = &plan->device->info;
    struct accel_device_pairs device;
    accel_device_pairs_fill(plan->device, &device);
    if (plan->platform == NULL)
        plan->platform = info->driver;
    for (uint32_t i = 0; i < device.count; i++)
        add(plan, device.pairs[i].key, accel_plan_text(plan, "%s", device.pairs[i].value), device.pairs[i].origin);
    add(plan, "device.count", accel_plan_text(plan, "%" PRIu32, count_alike(plan->context, info)), info->name);
}

static void note_model(struct accel_plan *plan)
{
    static const struct {
        const char *key, *before, *after;
    } words[] = {
        {"model.family", "", ""},           {"model.layers", ", ", " layers"},
        {"model.hidden", " x ", ""},        {"model.parameters", ", ", " parameters"},
        {"model.weight_bytes", ", ", " B"}, {"model.identity", ", file ", ""},
    };
    plan->model = "";
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *value = accel_plan_fact(plan, words[i].key, NULL);
        if (value)
            plan->model = accel_plan_text(plan, "%s%s%s%s", plan->model, *plan->model ? words[i].before : "", value,
                                          words[i].after);
    }
}

/* Adds model.memory_share: the share of the host's memory that the weights would use. */
static void add_share(struct accel_plan *plan, const struct accel_plan_request *request, uint64_t memory)
{
    for (uint32_t i = 0; i < request->model_count; i++) {
        uint64_t bytes;
        if (strcmp(request->model[i].key, "model.weight_bytes") != 0 ||
            !accel_parse_u64(request->model[i].value, &bytes))
            continue;
        add(plan, "model.memory_share", accel_plan_text(plan, "%.0f", ceil(100.0 * (double)bytes / (double)memory)),
            "model.weight_bytes of host.memory");
        return;
    }
}

bool accel_plan_is_device_fact(const char *key)
{
    return accel_word_is_among("device.count device.memory device.reserve device.bandwidth device.compute", key);
}

/* Adds a fact about absent devices that the caller gives among the settings. */
static int32_t add_given(struct accel_plan *plan, const struct accel_named_value *given, struct accel_error *error)
{
    const struct accel_fact_row *fact = accel_known_fact_find(given->key);
    const bool is_count = strcmp(given->key, "device.count") == 0;
    const char *origin = accel_plan_text(plan, "%.160s", given->origin), *unit = "", *why = NULL;
    const char *remedy = "name devices of a platform that is not here: --platform NAME --device 4xPROFILE";
    int64_t number = 0;
    if (plan->device) {
        why = accel_plan_text(plan, "is for devices that are not here, and %s is one that is", plan->device->info.name);
    } else if (plan->described_count > 1 || (is_count && plan->described_count == 1 && plan->described[0].has_count)) {
        why = accel_plan_text(plan, "is for devices of one kind%s, and %s", is_count ? " without a count" : "",
                              plan->described_origin);
        remedy = is_count ? "leave one of the two counts out" : "name devices of one kind: --device 4xPROFILE";
    } else if (!accel_number_parse(given->value, &number, &unit) || strcmp(unit, fact->unit) != 0 ||
               number < (strcmp(given->key, "device.reserve") != 0) || (is_count && number > ACCEL_PLAN_DESCRIBED)) {
        why = *fact->unit ? "is no size"
              : is_count  ? accel_plan_text(plan, "is no number from 1 to %u", ACCEL_PLAN_DESCRIBED)
                          : "is no number of operations a second";
        remedy = *fact->unit ? "write a whole number with its unit, as 36GiB, 1536MiB or 360GB"
                 : is_count  ? "write how many devices there are, as 4"
                             : "write a whole number of 10^12 operations a second, as 65";
    }
    if (why) {
        accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_INVALID, "%s: %s %s", origin, given->key, why);
        return accel_error_advise(error, ACCEL_E_INVALID, "%s", remedy);
    }
    if (!is_count)
        add(plan, fact->name, accel_plan_text(plan, "%" PRId64, number), origin);
    plan->described_devices = is_count ? (uint32_t)number : plan->described_devices;
    plan->described_origin = is_count ? origin : plan->described_origin;
    return ACCEL_OK;
}

int32_t accel_plan_make_facts(struct accel_plan *plan, const struct accel_plan_request *request,
                              struct accel_error *error)
{
    const struct accel_machine *machine = accel_topology_machine(plan->context->topology);
    const struct accel_amount *memory = &machine->memory_usable;
    int32_t code = ACCEL_OK;
    plan->fact_count = 0;
    plan->facts = accel_arena_array(
        &plan->arena, (size_t)request->model_count + request->override_count + ACCEL_DEVICE_PAIRS + OTHER_FACTS,
        sizeof(*plan->facts));
    if (plan->facts == NULL)
        return accel_error_no_memory(error, "for a plan");
    if (plan->device)
        add_device(plan);
    else
        add(plan, "platform", plan->platform, "the request names it");
    if (plan->device_profile)
        add(plan, "device.profile", plan->device_profile, "the request names it");
    for (uint32_t i = 0; i < request->override_count && code == ACCEL_OK; i++)
        if (accel_plan_is_device_fact(request->overrides[i].key))
            code = add_given(plan, &request->overrides[i], error);
    if (plan->described_origin)
        add(plan, "device.count", accel_plan_text(plan, "%" PRIu32, plan->described_devices), plan->described_origin);
    if (plan->described_name) {
        add(plan, "device.name", plan->described_name, plan->described_origin);
        add(plan, "device.list", plan->described_name, plan->described_origin);
    }
    add(plan, "host.threads", accel_plan_text(plan, "%u", machine->allowed_cpu_count), machine->allowed_origin);
    if (memory->origin)
        add(plan, "host.memory", accel_plan_text(plan, "%" PRIu64, memory->bytes), memory->origin);
    for (uint32_t i = 0; i < request->model_count; i++)
        add(plan, accel_plan_text(plan, "%s", request->model[i].key),
            accel_plan_text(plan, "%s", request->model[i].value),
            accel_plan_text(plan, "%s", request->model[i].origin));
    if (memory->origin && memory->bytes != 0)
        add_share(plan, request, memory->bytes);
    return code;
}

int32_t accel_plan_import_facts(struct accel_plan *plan, struct accel_error *error)
{
    plan->fact_count = plan->settings->fact_count;
    plan->shown = accel_arena_array(&plan->arena, plan->fact_count, sizeof(*plan->shown));
    if (plan->shown == NULL)
        return accel_error_no_memory(error, "for a plan");
    for (uint32_t i = 0; i < plan->fact_count; i++) {
        const struct accel_profile_fact *fact = &plan->settings->facts[i];
        plan->shown[i] = (struct accel_named_value){fact->key, fact->value, fact->place};
    }
    note_model(plan);
    return ACCEL_OK;
}

const char *accel_plan_fact(const struct accel_plan *plan, const char *key, const char **out_origin)
{
    for (uint32_t i = plan->shown ? plan->fact_count : 0; i-- > 0;)
        if (strcmp(plan->shown[i].key, key) == 0) {
            if (out_origin)
                *out_origin = plan->shown[i].origin;
            return plan->shown[i].value;
        }
    return NULL;
}

bool accel_plan_fact_number(const struct accel_plan *plan, const char *key, uint64_t *out_number,
                            const char **out_origin)
{
    const char *text = accel_plan_fact(plan, key, out_origin);
    return text && accel_parse_u64(text, out_number);
}

uint32_t accel_plan_fact_count(const struct accel_plan *plan)
{
    return plan ? plan->fact_count : 0;
}

const struct accel_named_value *accel_plan_fact_get(const struct accel_plan *plan, uint32_t index)
{
    return index < accel_plan_fact_count(plan) ? &plan->shown[index] : NULL;
}

const char *accel_plan_platform(const struct accel_plan *plan)
{
    return plan && plan->platform ? plan->platform : "";
}

const char *accel_plan_model(const struct accel_plan *plan)
{
    return plan && plan->model ? plan->model : "";
}
