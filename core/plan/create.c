/* SPDX-License-Identifier: Apache-2.0 */
/* Creates a plan: chooses the device and resolves the settings. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/run.h>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/open.h"
#include "core/base/strbuf.h"
#include "core/base/text.h"
#include "core/plan/honored.h"
#include "core/plan/settings.h"
#include "core/profile/keys.h"
#include "core/registry/rank.h"

const char *accel_plan_text(struct accel_plan *plan, const char *format, ...)
{
    const char *text;
    va_list values;
    va_start(values, format);
    text = accel_plan_vtext(plan, format, values);
    va_end(values);
    return text;
}

const char *accel_plan_vtext(struct accel_plan *plan, const char *format, va_list values)
{
    struct accel_strbuf text = {0};
    const char *copy;
    accel_strbuf_vprintf(&text, format, values);
    copy = text.failed ? NULL : accel_arena_strdup(&plan->arena, accel_strbuf_get(&text));
    accel_strbuf_free(&text);
    plan->out_of_memory |= copy == NULL;
    return copy ? copy : "";
}

void accel_plan_append(struct accel_plan *plan, struct accel_rows *rows, const void *record, size_t bytes)
{
    plan->out_of_memory |= !accel_rows_add_copy(rows, &plan->arena, record, bytes);
}

int32_t accel_plan_finish(struct accel_plan *plan, int32_t code, struct accel_error *error)
{
    if (!plan->out_of_memory)
        return code;
    plan->out_of_memory = false;
    if (code != ACCEL_OK)
        accel_error_clear(error);
    return accel_error_no_memory(error, "for a plan");
}

/* ---- the device ---- */

/* Collects the reasons why a driver offers no device, and the first remedy. */
struct reasons {
    struct accel_strbuf text;
    const char *remedy; /* NULL: no reason has a remedy */
};

static void add_reason(struct reasons *reasons, const char *who, const char *what, const char *text, const char *remedy)
{
    accel_strbuf_printf(&reasons->text, "; %s%s%s: %s", who, *who && *what ? ", " : "", what, text);
    if (*remedy && reasons->remedy == NULL)
        reasons->remedy = remedy;
    else if (*remedy)
        accel_strbuf_printf(&reasons->text, " (%s)", remedy);
}

/* Adds the plugin state and the verdicts of one driver, or of all drivers if `driver` is NULL. */
static void add_reasons(const struct accel_context *context, const char *driver, struct reasons *reasons)
{
    char name[80];
    for (uint32_t i = 0; i < accel_plugin_count(context); i++) {
        const struct accel_plugin_info *plugin = accel_plugin_get(context, i);
        if (plugin->state != ACCEL_PLUGIN_REFUSED || (driver && strcmp(plugin->name, driver) != 0))
            continue;
        snprintf(name, sizeof(name), "plugin %s", plugin->name);
        add_reason(reasons, name, "", plugin->text, plugin->remedy);
    }
    for (uint32_t i = 0; i < accel_verdict_count(context); i++) {
        const struct accel_verdict *verdict = accel_verdict_get(context, i);
        if (driver == NULL || strcmp(verdict->driver, driver) == 0)
            add_reason(reasons, verdict->driver, verdict->subject, verdict->text, verdict->remedy);
    }
}

/* Refuses with the remedy that the named driver itself reported. */
static int32_t refuse_for(const struct accel_context *context, const char *driver, const char *begin,
                          const char *otherwise, struct accel_error *error)
{
    struct reasons reasons = {.remedy = NULL};
    int32_t code;
    accel_strbuf_init(&reasons.text, 4096);
    accel_strbuf_text(&reasons.text, begin);
    add_reasons(context, driver, &reasons);
    code = accel_error_by(error, ACCEL_FROM_DEVICE, ACCEL_E_NOT_FOUND, "%s", accel_strbuf_get(&reasons.text));
    accel_error_remedy(error, "%s", driver && reasons.remedy ? reasons.remedy : otherwise);
    accel_strbuf_free(&reasons.text);
    return code;
}

/* Refuses an unknown device. Reports the reasons of every driver in the list; if a word is no driver, it may be a
 * device kind, and the reasons of all drivers are reported. */
static int32_t refuse_device(const struct accel_context *context, const char *name, struct accel_error *error)
{
    char driver[64], choices[200], guess[ACCEL_DID_YOU_MEAN], begin[560] = "there is no device";
    accel_context_choices(context, NULL, choices, sizeof(choices));
    if (name) {
        snprintf(driver, sizeof(driver), "%.*s", (int)strcspn(name, ":,"), name);
        snprintf(begin, sizeof(begin), "there is no device %.200s%s%s%s%s", *name ? name : "without a name",
                 accel_is_device_kind(name) ? " that is hardware" : "", *choices ? "; here are " : "", choices,
                 accel_context_guess(context, name, guess, sizeof(guess)));
    }
    return refuse_for(context, name && strchr(name, ',') == NULL && !accel_is_device_kind(name) ? driver : NULL, begin,
                      "name DRIVER:ID, DRIVER, ID, a kind of hardware (cpu, gpu, npu, other), or a list of these, of "
                      "which the first that is here is used; accelctl devices --all shows why others are missing; a "
                      "device of a profile also needs its platform",
                      error);
}

int32_t accel_plan_need_device(const struct accel_plan *plan, struct accel_error *error)
{
    char begin[300];
    bool installed = false;
    if (plan->device)
        return ACCEL_OK;
    for (uint32_t i = 0; i < accel_plugin_count(plan->context); i++)
        installed |= strcmp(accel_plugin_get(plan->context, i)->name, plan->platform) == 0;
    snprintf(begin, sizeof(begin), "the plan is for the platform %s, %s", plan->platform,
             installed ? "and no device of it is here" : "of which no driver is installed");
    return refuse_for(plan->context, plan->platform, begin,
                      installed ? "accelctl devices --all shows why" : "accelctl plugins lists drivers that are",
                      error);
}

int32_t accel_plan_refuse_unranked(const struct accel_context *context, const struct accel_listed *unranked,
                                   bool may_name, struct accel_error *error)
{
    const struct accel_error *why = unranked->unranked;
    char choices[160];
    int32_t code = accel_error_by(
        error, why->origin, why->code, "%s cannot be ranked, so that the best device is not known: %s%s%s%s",
        unranked->info.name, why->text, *why->remedy ? " (" : "", why->remedy, *why->remedy ? ")" : "");
    accel_context_choices(context, NULL, choices, sizeof(choices));
    return accel_error_advise(error, code, "correct the profile or variable%s%s",
                              may_name ? ", or choose by --device; here are " : "", may_name ? choices : "");
}

static bool may_run(const struct accel_listed *listed, const void *data)
{
    (void)data;
    return (listed->info.facts->flags & ACCEL_DEVICE_TARGET) == 0;
}

/* Returns the first device of the list that can run something. The list is sorted, best first. */
static const struct accel_listed *best_device(const struct accel_context *context,
                                              const struct accel_listed **out_unranked)
{
    *out_unranked = accel_context_unranked(context, may_run, NULL);
    for (uint32_t i = 0; i < context->devices.count; i++) {
        const struct accel_listed *listed = context->devices.items[i];
        if (listed->info.duplicate_of < 0 && may_run(listed, NULL))
            return listed;
    }
    return NULL;
}

/* ---- settings ---- */

static int32_t check_named_values(const struct accel_named_value *settings, uint32_t count, const char *what,
                                  struct accel_error *error)
{
    if (count && settings == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_create: %s is NULL", what);
    for (uint32_t i = 0; i < count; i++)
        if (!settings[i].key || !settings[i].value || !settings[i].origin)
            return accel_error_set(error, ACCEL_E_INVALID,
                                   "accel_plan_create: %s %" PRIu32 " has no key, value or origin", what, i);
    return ACCEL_OK;
}

static int32_t resolve(struct accel_plan *plan, const struct accel_plan_request *request, struct accel_error *error)
{
    const struct accel_profile *profile = plan->context->profile;
    struct accel_profile_pair *settings;
    uint32_t count = 0;
    int32_t code;
    if (profile == NULL) {
        const struct accel_error *why = &plan->context->profile_error;
        return why->code != ACCEL_OK ? accel_error_copy(error, why)
                                     : accel_error_set(error, ACCEL_E_NOT_FOUND, "no profiles were found");
    }
    code = accel_plan_make_facts(plan, request, error);
    if (code != ACCEL_OK)
        return code;
    settings = accel_arena_array(&plan->arena, request->override_count, sizeof(*settings));
    if (settings == NULL)
        return accel_error_no_memory(error, "for a plan");
    for (uint32_t i = 0; i < request->override_count; i++)
        if (!accel_plan_is_device_fact(request->overrides[i].key))
            settings[count++] = (struct accel_profile_pair){request->overrides[i].key, request->overrides[i].value,
                                                            request->overrides[i].origin};
    accel_settings_free(plan->settings);
    plan->settings = NULL;
    code = accel_profile_resolve(profile, plan->facts, plan->fact_count, settings, count, &plan->settings, error);
    if (code == ACCEL_OK)
        code = accel_plan_import_facts(plan, error);
    return code == ACCEL_OK ? accel_plan_describe_devices(plan, error) : code;
}

/* Handles a named device that is not present. No profile may substitute another one; the environment and the
 * caller may, since both know the name that they override. */
static int32_t replace_device(struct accel_plan *plan, const struct accel_plan_request *request,
                              struct accel_error *error)
{
    struct accel_error why = {0};
    const struct accel_profile_setting *policy;
    const struct accel_listed *unranked;
    refuse_device(plan->context, request->device, &why);
    plan->device = best_device(plan->context, &unranked);
    if (plan->device == NULL || resolve(plan, request, NULL) != ACCEL_OK)
        return refuse_device(plan->context, request->device, error);
    policy = &plan->settings->values->fallback_device;
    if (policy->word == ACCEL_WORD_DENY || policy->layer < ACCEL_LAYER_ENVIRONMENT)
        return refuse_device(plan->context, request->device, error);
    if (unranked)
        return accel_plan_refuse_unranked(plan->context, unranked, true, error);
    if (policy->word == ACCEL_WORD_WARN)
        accel_log_write(&plan->context->log, ACCEL_LOG_WARN, "plan", "fallback=device from=%s to=%s reason=\"%s\"",
                        request->device, plan->device->info.name, why.text);
    plan->moved = accel_plan_text(plan, "%s stands in for %s: %s", plan->device->info.name, request->device, why.text);
    return ACCEL_OK;
}

/* Lists the available names in the error if neither a device nor a file of the profiles has the requested name. */
static int32_t add_choices(const struct accel_plan *plan, struct accel_error *error)
{
    const struct accel_error before = error ? *error : (struct accel_error){0};
    char choices[160];
    accel_context_choices(plan->context, plan->platform, choices, sizeof(choices));
    if (*choices == '\0')
        return ACCEL_E_NOT_FOUND;
    accel_error_clear(error);
    accel_error_by(error, before.origin, ACCEL_E_NOT_FOUND, "%s; of the platform %s here are %s", before.text,
                   plan->platform, choices);
    return accel_error_advise(error, ACCEL_E_NOT_FOUND, "%s", before.remedy);
}

/* Copies a name in lower case, which the names of drivers and profiles have. */
static const char *lower_case(struct accel_plan *plan, const char *name)
{
    char *copy = accel_arena_strdup(&plan->arena, name);
    for (char *at = copy; at && *at; at++)
        *at = accel_lower(*at);
    plan->out_of_memory |= copy == NULL;
    return copy ? copy : "";
}

/* Chooses a platform by its name. A present device of the platform is used, unless a file describes another one;
 * if none is present, the plan uses the facts that the profiles state for the platform. */
static int32_t choose_platform(struct accel_plan *plan, const struct accel_plan_request *request,
                               struct accel_error *error)
{
    const char *platform = plan->platform = lower_case(plan, request->platform);
    const char *named = request->device ? request->device : platform;
    const struct accel_listed *unranked = NULL;
    const struct accel_listed *device = accel_context_choose(plan->context, named, platform, &unranked);
    int32_t code = ACCEL_OK;
    if (unranked)
        return accel_plan_refuse_unranked(plan->context, unranked, true, error);
    if (device == NULL)
        device = accel_context_find(plan->context, named);
    plan->names_platform = true;
    if (device && strcmp(device->info.driver, platform) == 0) {
        plan->device = device;
    } else if (device) {
        accel_error_by(error, ACCEL_FROM_DEVICE, ACCEL_E_NOT_FOUND,
                       "device %.160s is of the driver %s, not of the platform %.60s", named, device->info.driver,
                       platform);
        return accel_error_advise(error, ACCEL_E_NOT_FOUND,
                                  "leave --platform %.60s out, or name the platform of the device: --platform %s",
                                  platform, device->info.driver);
    }
    if (plan->device == NULL && request->device) {
        if (plan->context->profile)
            code = accel_profile_check_platform(plan->context->profile, platform, error);
        if (code != ACCEL_OK)
            return code;
        code = accel_plan_parse_described(plan, lower_case(plan, request->device), error);
    }
    if (code == ACCEL_E_NOT_FOUND)
        return add_choices(plan, error);
    if (code == ACCEL_OK)
        code = accel_plan_check_platforms(plan, error);
    return code == ACCEL_OK ? resolve(plan, request, error) : code;
}

/* Refuses a name that is no present device but has a profile: planning for it requires its platform, too. */
static int32_t refuse_described(struct accel_plan *plan, const struct accel_plan_request *request,
                                struct accel_error *error)
{
    const char *platforms;
    if (error == NULL || accel_plan_parse_described(plan, lower_case(plan, request->device), NULL) != ACCEL_OK)
        return ACCEL_E_NOT_FOUND;
    accel_error_clear(error);
    accel_error_by(error, ACCEL_FROM_DEVICE, ACCEL_E_NOT_FOUND, "there is no device %.160s here; profiles describe it",
                   request->device);
    platforms = plan->described[0].platforms;
    return accel_error_advise(error, ACCEL_E_NOT_FOUND,
                              "name its platform, too, to plan for it: --platform %.*s --device %.160s%s",
                              (int)strcspn(platforms ? platforms : "NAME", ","), platforms ? platforms : "NAME",
                              request->device, platforms ? "" : " (accelctl profile list names the platforms)");
}

/* ---- layers on the GPU ---- */

static int32_t refuse_layers(const struct accel_plan *plan, const struct accel_profile_setting *setting,
                             struct accel_error *error)
{
    char choices[200], begin[450];
    accel_context_choices(plan->context, NULL, choices, sizeof(choices));
    snprintf(begin, sizeof(begin), "%.100s: gpu.layers=%s: there is no GPU that is hardware; here are %s",
             setting->place, setting->value, choices);
    refuse_for(plan->context, NULL, begin,
               "gpu.layers=0 (-ngl 0) runs on the processors; --device NAME takes a device by its name, software "
               "too; with fallback.device=warn a run goes on without a GPU; accelctl doctor looks for the cause",
               error);
    /* No requested device was missing: the fallback policy is deny. */
    if (error)
        error->code = ACCEL_E_FALLBACK;
    return ACCEL_E_FALLBACK;
}

/* Continues without a GPU if the caller or the environment allows the fallback, as for a named device. */
static int32_t replace_gpu(struct accel_plan *plan, struct accel_error *error)
{
    const struct accel_profile_setting *setting = &plan->settings->values->gpu_layers;
    const struct accel_profile_setting *policy = &plan->settings->values->fallback_device;
    if (policy->word == ACCEL_WORD_DENY || policy->layer < ACCEL_LAYER_ENVIRONMENT)
        return refuse_layers(plan, setting, error);
    if (policy->word == ACCEL_WORD_WARN)
        accel_log_write(&plan->context->log, ACCEL_LOG_WARN, "plan", "fallback=device from=gpu to=%s",
                        plan->device->info.name);
    plan->moved = accel_plan_text(plan, "%s stands in for a GPU (%s, gpu.layers=%s): there is none that is hardware",
                                  plan->device->info.name, setting->place, setting->value);
    return ACCEL_OK;
}

/* Returns whether a later word of a list of devices selects `device`. */
static bool lists_device(const struct accel_context *context, const char *names, const struct accel_listed *device)
{
    const struct accel_listed *unranked;
    while ((names = strchr(names, ',')) != NULL)
        if (accel_context_choose(context, ++names, NULL, &unranked) == device)
            return true;
    return false;
}

/* Chooses the device for gpu.layers: 0 layers need a plan on the CPU, more layers a plan on a GPU. */
static int32_t choose_for_layers(struct accel_plan *plan, const struct accel_plan_request *request,
                                 struct accel_error *error)
{
    const struct accel_profile_setting *setting = &plan->settings->values->gpu_layers;
    const struct accel_listed *unranked = NULL, *device;
    bool is_none = setting->is_number && setting->number == 0;
    if (setting->word == ACCEL_WORD_AUTO || is_none == (plan->device->info.facts->kind == ACCEL_DEVICE_CPU))
        return ACCEL_OK;
    device = accel_context_choose(plan->context, is_none ? "cpu" : "gpu", NULL, &unranked);
    if (plan->is_asked && !(is_none && device && lists_device(plan->context, request->device, device))) {
        accel_error_by(error, accel_setting_origin(setting), ACCEL_E_INVALID,
                       "%.160s: gpu.layers=%s %s, and the request names the device %s", setting->place, setting->value,
                       is_none ? "leaves no layer to a GPU" : "needs a GPU", plan->device->info.name);
        return accel_error_advise(error, ACCEL_E_INVALID, "leave --device or gpu.layers (-ngl) out");
    }
    if (unranked)
        return accel_plan_refuse_unranked(plan->context, unranked, true, error);
    if (device == NULL)
        return is_none ? refuse_device(plan->context, "cpu", error) : replace_gpu(plan, error);
    plan->device = device;
    plan->is_asked = false;
    return resolve(plan, request, error);
}

/* ---- the request ---- */

static int32_t choose(struct accel_plan *plan, const struct accel_plan_request *request, struct accel_error *error)
{
    const struct accel_listed *unranked = NULL;
    int32_t code;
    plan->asked = request->device ? accel_plan_text(plan, "%s", request->device) : NULL;
    if (ACCEL_HAS(request, platform) && request->platform)
        return choose_platform(plan, request, error);
    plan->device = request->device ? accel_context_choose(plan->context, request->device, NULL, &unranked)
                                   : best_device(plan->context, &unranked);
    if (unranked)
        return accel_plan_refuse_unranked(plan->context, unranked, true, error);
    plan->is_asked = plan->device && request->device;
    if (plan->device) {
        code = resolve(plan, request, error);
        return code == ACCEL_OK ? choose_for_layers(plan, request, error) : code;
    }
    if (request->device == NULL)
        return refuse_device(plan->context, NULL, error);
    code = replace_device(plan, request, error);
    return code == ACCEL_E_NOT_FOUND ? refuse_described(plan, request, error) : code;
}

static int32_t check_request(const struct accel_context *context, const struct accel_plan_request *request,
                             struct accel_error *error)
{
    int32_t code;
    if (context == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_create needs a context");
    code = accel_open_check(request, ACCEL_END_OF(struct accel_plan_request, zero), sizeof(*request), "the caller",
                            "accel_plan_request", error);
    if (code != ACCEL_OK)
        return code;
    if (request->zero != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_create: member zero of the request is not 0");
    if (context->topology == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_create: the context has not discovered");
    code = check_named_values(request->overrides, request->override_count, "overrides", error);
    return code == ACCEL_OK ? check_named_values(request->model, request->model_count, "model", error) : code;
}

/* Applies log.level to the context's log. A level that the application chose can only be raised. */
static int32_t apply_log_level(struct accel_plan *plan, struct accel_error *error)
{
    static const uint32_t words[] = {
        [ACCEL_LOG_ERROR] = ACCEL_WORD_ERROR, ACCEL_WORD_WARN, ACCEL_WORD_INFO, ACCEL_WORD_DEBUG};
    struct accel_context *context = plan->context;
    uint32_t word = plan->settings->values->log_level.word, level = ACCEL_LOG_DEBUG;
    (void)error;
    while (level > ACCEL_LOG_ERROR && words[level] != word)
        level--;
    if (word != ACCEL_WORD_AUTO && (context->options.log_level == 0 || level > context->log.level))
        context->log.level = level;
    return ACCEL_OK;
}

int32_t accel_plan_create(struct accel_context *context, const struct accel_plan_request *request,
                          struct accel_plan **out_plan, struct accel_error *error)
{
    static int32_t (*const steps[])(struct accel_plan *, struct accel_error *) = {
        accel_plan_make_records, apply_log_level, accel_plan_decline_unmet, accel_plan_choose_threads,
        accel_plan_hint_unhonored};
    struct accel_plan *plan;
    int32_t code;
    if (out_plan == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_create: out_plan is NULL");
    *out_plan = NULL;
    code = check_request(context, request, error);
    if (code != ACCEL_OK)
        return code;
    plan = calloc(1, sizeof(*plan));
    if (plan == NULL)
        return accel_error_no_memory(error, "for a plan");
    /* The plan borrows records of the context, which must not be freed or run discovery again while the plan lives. */
    plan->context = context;
    atomic_fetch_add(&context->children, 1);
    code = choose(plan, request, error);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && code == ACCEL_OK; i++)
        code = steps[i](plan, error);
    if (code == ACCEL_OK)
        accel_plan_note_variant(plan);
    code = accel_plan_finish(plan, code, error);
    if (code != ACCEL_OK) {
        accel_plan_free(plan);
        return code;
    }
    *out_plan = plan;
    return ACCEL_OK;
}

void accel_plan_free(struct accel_plan *plan)
{
    if (plan == NULL)
        return;
    for (uint32_t i = 0; i < plan->stages.count; i++)
        accel_plan_free(plan->stages.items[i]);
    accel_rows_free(&plan->stages);
    accel_device_free(plan->opened);
    accel_settings_free(plan->settings);
    accel_thread_plan_free(&plan->threads);
    accel_arena_free(&plan->arena);
    atomic_fetch_sub(&plan->context->children, 1);
    free(plan);
}

const struct accel_device_info *accel_plan_device(const struct accel_plan *plan)
{
    return plan && plan->device ? &plan->device->info : NULL;
}
