/* SPDX-License-Identifier: Apache-2.0 */
/* Determines which values a run of this version honors. keys.def states what honors a setting; the tables below state
 * when a run honors a setting for plans, and why it does not. Values of the user that no run honors are refused. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/driver_module.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/plan/honored.h"
#include "core/plan/settings.h"
#include "core/profile/environment.h"
#include "core/profile/keys.h"
#include "core/registry/machine.h"

/* ---- values that a run honors under a condition ---- */

/* Returns whether types and groups of weights are honored. Matrices are converted at load time to the type of a
 * shape plan; norms and biases are not converted. Without a shape plan, the file's usual type decides whether a
 * conversion would be needed. */
static bool as_in_file(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    const char *file = accel_plan_fact(plan, "model.weights", NULL);
    if (plan->has_shapes)
        return strcmp(setting->key, "role.norm") != 0 || plan->converted_vectors == 0;
    return strcmp(setting->key, "weights.type") == 0 && file && accel_has_prefix(file, setting->value) &&
           (file[strlen(setting->value)] == '\0' || file[strlen(setting->value)] == '_');
}

/* Returns whether weights.load=mmap is honored: weights that are used in place in the mapped file have no second copy.
 * The session decides "auto". */
static bool maps(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    (void)setting;
    return plan->records[&plan->settings->values->weights_load - plan->settings->settings].word != ACCEL_WORD_READ;
}

/* Returns whether a kernel of attention is honored. Kernels work on blocks of scores unless their claim states
 * otherwise. Before nodes are placed the kernels are not known, and every value counts as honored. */
static bool attention_is(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    bool eager = setting->word == ACCEL_WORD_EAGER;
    for (uint32_t i = 0; plan->placed && i < plan->node_count; i++)
        if (strcmp(plan->nodes[i].op, "attention") == 0 && (plan->nodes[i].variant == ACCEL_VARIANT_EAGER) != eager)
            return false;
    return true;
}

/* Returns whether a type of a component is honored: types of a component that the model lacks change nothing. */
static bool has_component(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    size_t length = strcspn(setting->key, ".");
    bool language = accel_has_prefix(setting->key, "language.");
    for (uint32_t i = 0; i < plan->parts.count; i++) {
        const char *component = ((const struct accel_plan_part *)plan->parts.items[i])->component;
        if ((strlen(component) == length && accel_has_prefix(setting->key, component)) ||
            (language && strcmp(component, "decoder") == 0))
            return as_in_file(plan, setting);
    }
    return !plan->has_shapes && as_in_file(plan, setting);
}

static bool computes_in_f32(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    (void)plan;
    return setting->word == ACCEL_WORD_F32;
}

/* Returns whether a placement is honored: each pipeline stage runs on a device of this machine. A plan without a
 * shape plan has one device. */
static bool is_spread_here(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    const char *layers = accel_plan_fact(plan, "model.layers", NULL);
    if (!plan->has_shapes)
        return strcmp(setting->key, "gpu.layers") == 0 &&
               (!setting->is_number || setting->number == 0 ||
                (layers && setting->number > (int64_t)strtoull(layers, NULL, 10)));
    for (uint32_t i = 0; plan->spread && i < plan->layers.count; i++) {
        const struct accel_plan_layer *row = plan->layers.items[i];
        const struct accel_listed *device = accel_context_find(plan->context, row->device);
        if (device == NULL || (device->info.facts->flags & ACCEL_DEVICE_TARGET) != 0)
            return false;
    }
    return !plan->spread || plan->component_count < 2;
}

/* Returns whether the user's placement has several devices to place layers on; auto fills one as well. */
static bool is_placed(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    return plan->spread || !plan->has_shapes || accel_plan_recommends(setting) || setting->word == ACCEL_WORD_AUTO;
}

/* Returns whether the device, or one of those of the layers, runs on threads that can be assigned to processors. */
static bool has_threads(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    const struct accel_listed *device = plan->device;
    (void)setting;
    for (uint32_t i = 0; i < plan->layers.count && !(device && device->info.facts->limits->threads); i++)
        device = accel_context_find(plan->context, ((const struct accel_plan_layer *)plan->layers.items[i])->device);
    return device && device->info.facts->limits->threads != 0;
}

static bool measures(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    (void)setting;
    return plan->settings->values->trace_steps.number || plan->settings->values->measure_memory.number ||
           plan->settings->values->output_attention.number;
}

/* Settings for plans that a run honors under a condition. */
static const struct condition {
    const char *key; /* a trailing dot matches every key with this prefix */
    bool (*holds)(const struct accel_plan *plan, const struct accel_profile_setting *setting);
    const char *reason; /* why the value is not honored if the condition is false */
} conditions[] = {
    {"weights.type", as_in_file, "the weights are not converted"},
    {"weights.group", as_in_file, "the weights are not converted"},
    {"weights.scheme", as_in_file, "the weights are not converted"},
    {"weights.least", as_in_file, "the weights are not converted"},
    {"precision.adaptive", as_in_file, "the weights are not converted"},
    {"precision.default", as_in_file, "the weights are not converted"},
    {"precision.critical", as_in_file, "the weights are not converted"},
    {"role.", as_in_file, "a run converts matrices alone, and neither norms nor biases"},
    {"vision.type", has_component, "the model has no vision encoder"},
    {"text.type", has_component, "the model has no text encoder"},
    {"language.type", has_component, "the model has no language model"},
    {"audio.type", has_component, "the model has no audio encoder"},
    {"attention.kernel", attention_is, "the device has no attention kernel of that kind"},
    {"compute.type", computes_in_f32, "operators of a run pass f32 to each other"},
    {"gpu.layers", is_spread_here, "the layers of one model are spread over devices that are here"},
    {"offload.layers", is_spread_here, "the layers of one model are spread over devices that are here"},
    {"placement", is_placed, "there is only one device, which runs all layers"},
    {"power", has_threads, "the device has no threads to choose processors for"},
    {"cpu.threads", has_threads, "no layer runs on a device with threads"},
    {"measure.folder", measures,
     "nothing is measured: that is trace.steps=true, measure.memory=true and output.attention=true"},
    {"memory.efficient", maps, "weights.load=read makes a second copy of the weights"},
};

static const struct condition *find_condition(const char *name)
{
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        const char *key = conditions[i].key;
        if (key[strlen(key) - 1] == '.' ? accel_has_prefix(name, key) : strcmp(name, key) == 0)
            return &conditions[i];
    }
    return NULL;
}

/* ---- values that no run honors ---- */

/* Returns whether a value is the default and so changes nothing for a run. */
static bool is_default(const struct accel_setting_row *key, const struct accel_profile_setting *setting)
{
    return strcmp(setting->value, key->preset) == 0;
}

bool accel_plan_never_honored(const struct accel_plan *plan, const struct accel_setting_row *key,
                              const struct accel_profile_setting *setting, char reason[ACCEL_PLAN_REASON])
{
    const char *why = strcmp(key->name, "kv.enabled") == 0 ? "a run always has a KV cache" : NULL;
    if ((why == NULL && key->honored != ACCEL_HONORED_DRIVER) || is_default(key, setting) ||
        accel_plan_option_of(plan, key))
        return false;
    if (why)
        snprintf(reason, ACCEL_PLAN_REASON, "%s", why);
    else if (plan->device)
        snprintf(reason, ACCEL_PLAN_REASON, "the driver %s has no such option", plan->device->owner->driver->name);
    else
        snprintf(reason, ACCEL_PLAN_REASON, "it is for drivers that know it, and none of %s is here",
                 plan->platform ? plan->platform : "the platform");
    return true;
}

/* Returns whether a shape plan for devices that are not present honors this placement setting. */
static bool is_planned(const struct accel_plan *plan, const char *key)
{
    return plan->device == NULL && plan->has_shapes &&
           (strcmp(key, "gpu.layers") == 0 || strcmp(key, "offload.layers") == 0);
}

static bool is_unmet(const struct accel_plan *plan, const struct accel_setting_row *key,
                     const struct accel_profile_setting *setting, char reason[ACCEL_PLAN_REASON])
{
    const struct condition *condition = find_condition(key->name);
    if (condition == NULL)
        return accel_plan_never_honored(plan, key, setting, reason);
    if (is_planned(plan, key->name) || is_default(key, setting) || condition->holds(plan, setting))
        return false;
    snprintf(reason, ACCEL_PLAN_REASON, "%s", condition->reason);
    return true;
}

/* Returns the next setting from *index on whose value a run does not honor, or NULL; *index is then past it. */
static const struct accel_profile_setting *next_unmet(const struct accel_plan *plan, uint32_t *index,
                                                      char reason[ACCEL_PLAN_REASON])
{
    while (*index < accel_setting_row_count()) {
        const struct accel_profile_setting *setting = &plan->settings->settings[*index];
        const struct accel_setting_row *key = accel_setting_row_get((*index)++);
        if (setting->layer != ACCEL_LAYER_BUILTIN && is_unmet(plan, key, setting, reason))
            return setting;
    }
    return NULL;
}

const char *accel_plan_unit(const char *unit, const char *value)
{
    bool is_number = *value != '\0' && value[strspn(value, "0123456789")] == '\0';
    return !is_number ? "" : strcmp(unit, "bytes") == 0 ? "B" : unit;
}

static int32_t refuse_unmet(const struct accel_profile_setting *setting, const char *reason, struct accel_error *error)
{
    const char *preset = accel_key_find(setting->key)->preset;
    accel_error_by(error, accel_setting_origin(setting), ACCEL_E_UNSUPPORTED, "%s: %s=%s%s is not honored: %s",
                   setting->place, setting->key, setting->value, accel_plan_unit(setting->unit, setting->value),
                   reason);
    if (strcmp(setting->key, "role.norm") == 0)
        accel_error_remedy(error, "accelctl quantize --role norm=%s writes a file for it; %s=%s runs this one as it is",
                           setting->value, setting->key, preset);
    else
        accel_error_remedy(error, "leave %s out, or set %s=%s%s", setting->key, setting->key, preset,
                           accel_plan_unit(setting->unit, preset));
    return ACCEL_E_UNSUPPORTED;
}

int32_t accel_plan_runnable(const struct accel_plan *plan, struct accel_error *error)
{
    const struct accel_profile_setting *setting;
    char reason[ACCEL_PLAN_REASON];
    uint32_t index = 0;
    int32_t code;
    if (plan == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_runnable requires a plan");
    code = accel_plan_need_device(plan, error);
    if (code == ACCEL_OK)
        code = accel_replay_refuse(plan->context, plan->device->info.name, error);
    while (code == ACCEL_OK && (setting = next_unmet(plan, &index, reason)) != NULL)
        if (!accel_plan_recommends(setting))
            code = refuse_unmet(setting, reason, error);
    return code;
}

static void hint_fallback(struct accel_plan *plan, const struct accel_profile_setting *policy, const char *text)
{
    if (text)
        accel_plan_add_note(plan, &plan->hints, ACCEL_NOTE_WARN, policy->key, "", "%s; %s is %s", text, policy->key,
                            policy->value);
}

/* Adds a hint about an unknown variable: a misspelling, or a name of another version. */
static void hint_unknown(void *data, const char *name, const char *near)
{
    struct accel_plan *plan = data;
    for (uint32_t i = 0; i < accel_plugin_count(plan->context); i++)
        if (accel_environment_is_option(accel_plugin_get(plan->context, i)->name, name))
            return;
    accel_plan_add_note(plan, &plan->hints, ACCEL_NOTE_WARN, "environment", "",
                        "environment %s: unknown variable without effect%s%s%s", name, near ? "; did you mean " : "",
                        near ? near : "", near ? "?" : "");
}

/* Adds a hint about a recommended client "auto", for which the driver has to report its program. A user's is what the
 * driver reports, nothing included. */
static void list_client(struct accel_plan *plan)
{
    const struct accel_profile_setting *client = &plan->settings->values->client;
    if (plan->device && accel_plan_recommends(client) && client->word == ACCEL_WORD_AUTO &&
        accel_plan_fact(plan, "client.name", NULL) == NULL)
        accel_plan_add_unhonored(plan, &plan->unmet, client, 0, "the driver does not say in which program it runs");
}

/* Lists a budget of the user above what the devices have. */
static void list_budget(struct accel_plan *plan, const struct accel_profile_setting *budget)
{
    char size[32];
    if (plan->has_fit && plan->fit.budget && budget->is_number && (uint64_t)budget->number > plan->fit.budget &&
        !accel_plan_recommends(budget))
        accel_plan_add_unhonored(plan, &plan->unmet, budget, ACCEL_UNHONORED_NOTED,
                                 accel_plan_text(plan, "the plan may take %s (%s)",
                                                 accel_plan_size_text(plan->fit.budget, size),
                                                 plan->fit.budget_origin));
}

/* Lists the values that a run does not honor, with recommended ones if the plan's devices are not present. */
static void list_unmet(struct accel_plan *plan)
{
    const struct accel_profile_setting *setting;
    char reason[ACCEL_PLAN_REASON];
    uint32_t index = 0;
    plan->unmet.count = 0;
    while ((setting = next_unmet(plan, &index, reason)) != NULL)
        accel_plan_add_unhonored(plan, &plan->unmet, setting,
                                 accel_plan_recommends(setting) ? ACCEL_UNHONORED_NOTED : ACCEL_UNHONORED_REFUSED,
                                 reason);
    list_client(plan);
    list_budget(plan, &plan->settings->values->memory_budget);
    list_budget(plan, &plan->settings->values->memory_device);
}

/* Adds a hint about a list of devices: a run uses the first that is here, and a plan without any of them fills all. */
static void hint_list(struct accel_plan *plan)
{
    const struct accel_device_info *device = plan->device ? &plan->device->info : NULL;
    bool is_first = device && plan->asked && (plan->is_asked || plan->names_platform);
    /* A driver's device id may contain a comma. */
    if (is_first && strchr(plan->asked, ',') && strcmp(plan->asked, device->name) != 0)
        accel_plan_add_note(plan, &plan->hints, ACCEL_NOTE_INFO, "device",
                            accel_names_device(plan->asked, device)
                                ? "--set placement=balanced spreads the layers over all of the list that are like it"
                                : "",
                            "of %s, %s is the first that is here", plan->asked, device->name);
    else if (plan->described_name)
        accel_plan_add_note(plan, &plan->hints, ACCEL_NOTE_INFO, "device", "",
                            "no device of the list is here: the plan fills all of them, those with the most "
                            "bandwidth first, as far as it needs them, with the settings of %s",
                            plan->device_profile);
}

int32_t accel_plan_hint_unhonored(struct accel_plan *plan, struct accel_error *error)
{
    const struct accel_profile *profile = plan->context->profile;
    int32_t code;
    hint_list(plan);
    hint_fallback(plan, &plan->settings->values->fallback_device, plan->moved);
    hint_fallback(plan, &plan->settings->values->fallback_threads, plan->fewer);
    accel_plan_hint_refused(plan);
    code = profile ? accel_profile_unknown_each(profile, hint_unknown, plan, error) : ACCEL_OK;
    list_unmet(plan);
    return code;
}
