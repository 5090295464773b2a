/* SPDX-License-Identifier: Apache-2.0 */
/* The first part of a plan: which device, and which settings. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/open.h"
#include "core/base/strbuf.h"
#include "core/plan/plan.h"

const char *accel_plan_text(struct accel_plan *plan, const char *format, ...)
{
    struct accel_strbuf text;
    const char *copy = NULL;
    va_list values;
    accel_strbuf_init(&text, 0);
    va_start(values, format);
    accel_strbuf_vprintf(&text, format, values);
    va_end(values);
    if (!text.failed)
        copy = accel_arena_strdup(&plan->arena, accel_strbuf_get(&text));
    accel_strbuf_free(&text);
    return copy;
}

int32_t accel_plan_no_memory(struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_MEMORY, "no memory for a plan");
}

/* ---- the device ---- */

/* Why a driver brings no device: texts, and the first remedy. */
struct reasons {
    struct accel_strbuf text;
    const char *remedy; /* NULL: none has one */
};

static void add_reason(struct reasons *reasons, const char *who, const char *what, const char *text, const char *remedy)
{
    accel_strbuf_printf(&reasons->text, "; %s%s%s: %s", who, *who && *what ? ", " : "", what, text);
    if (*remedy && reasons->remedy == NULL)
        reasons->remedy = remedy;
    else if (*remedy)
        accel_strbuf_printf(&reasons->text, " (%s)", remedy);
}

/* Of a driver, or of any where `driver` is NULL: its plugin's state and its verdicts. */
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

/* The remedy is the one of the driver that was named, as it says it. */
static int32_t refuse_for(const struct accel_context *context, const char *driver, const char *begin,
                          const char *otherwise, struct accel_error *error)
{
    struct reasons reasons = {.remedy = NULL};
    int32_t code;
    accel_strbuf_init(&reasons.text, 4096);
    accel_strbuf_text(&reasons.text, begin);
    add_reasons(context, driver, &reasons);
    code = accel_error_set(error, ACCEL_E_NOT_FOUND, "%s", accel_strbuf_get(&reasons.text));
    if (driver && reasons.remedy)
        accel_error_remedy(error, "%s", reasons.remedy);
    else
        accel_error_remedy(error, "%s", otherwise);
    accel_strbuf_free(&reasons.text);
    return code;
}

static bool is_kind(const char *name)
{
    for (uint32_t kind = ACCEL_DEVICE_CPU; kind <= ACCEL_DEVICE_OTHER; kind++)
        if (strcmp(name, accel_device_kind_name(kind)) == 0)
            return true;
    return false;
}

/* Every driver that a list names says why; a word that is no driver may be a kind, and so all say. */
static int32_t refuse_device(const struct accel_context *context, const char *name, struct accel_error *error)
{
    char driver[64], choices[200], begin[450] = "there is no device";
    accel_context_choices(context, NULL, choices, sizeof(choices));
    if (name) {
        snprintf(driver, sizeof(driver), "%.*s", (int)strcspn(name, ":,"), name);
        snprintf(begin, sizeof(begin), "there is no device %.200s%s%s%s", *name ? name : "without a name",
                 is_kind(name) ? " that is hardware" : "", *choices ? "; here are " : "", choices);
    }
    return refuse_for(context, name && strchr(name, ',') == NULL && !is_kind(name) ? driver : NULL, begin,
                      "a device is named as DRIVER:ID, DRIVER, ID, a kind (cpu, gpu, npu, other: none that is "
                      "software), or a list of these, of which the first that is here counts; accelctl devices --all "
                      "says why others are none; one of a profile needs its platform too",
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
                      installed ? "accelctl devices --all says why" : "accelctl plugins lists drivers that are", error);
}

int32_t accel_plan_refuse_unranked(const struct accel_context *context, const struct accel_listed *unranked,
                                   bool may_name, struct accel_error *error)
{
    const struct accel_error *why = unranked->unranked;
    char choices[160];
    int32_t code =
        accel_error_set(error, why->code, "%s cannot be ranked, so that the best device is not known: %s%s%s%s",
                        unranked->info.name, why->text, *why->remedy ? " (" : "", why->remedy, *why->remedy ? ")" : "");
    accel_context_choices(context, NULL, choices, sizeof(choices));
    if (may_name)
        accel_error_remedy(error, "correct the profile, or choose by --device; here are %s", choices);
    else
        accel_error_remedy(error, "correct the profile");
    return code;
}

static bool may_run(const struct accel_listed *listed, const void *data)
{
    (void)data;
    return (listed->info.facts->flags & ACCEL_DEVICE_TARGET) == 0;
}

/* The first of the list that can run something: it is sorted, best first. */
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

static int32_t check_given(const struct accel_given *given, uint32_t count, const char *what, struct accel_error *error)
{
    if (count && given == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_create: %s is NULL", what);
    for (uint32_t i = 0; i < count; i++)
        if (!given[i].key || !given[i].value || !given[i].origin)
            return accel_error_set(error, ACCEL_E_INVALID,
                                   "accel_plan_create: %s %" PRIu32 " has no key, value or origin", what, i);
    return ACCEL_OK;
}

static int32_t resolve(struct accel_plan *plan, const struct accel_plan_request *request, struct accel_error *error)
{
    const struct accel_profile *profile = accel_context_profile(plan->context);
    struct accel_profile_pair *given;
    int32_t code;
    if (profile == NULL) {
        const struct accel_error *why = &plan->context->profile_error;
        return why->code != ACCEL_OK ? accel_error_copy(error, why)
                                     : accel_error_set(error, ACCEL_E_NOT_FOUND, "no profiles were found");
    }
    code = accel_plan_make_facts(plan, request, error);
    if (code != ACCEL_OK)
        return code;
    given = accel_arena_array(&plan->arena, request->given_count, sizeof(*given));
    if (given == NULL)
        return accel_plan_no_memory(error);
    for (uint32_t i = 0; i < request->given_count; i++)
        given[i] =
            (struct accel_profile_pair){request->given[i].key, request->given[i].value, request->given[i].origin};
    accel_settings_free(plan->settings);
    plan->settings = NULL;
    code = accel_profile_resolve(profile, plan->facts, plan->fact_count, given, request->given_count, &plan->settings,
                                 error);
    return code == ACCEL_OK ? accel_plan_take_facts(plan, error) : code;
}

/* A named device that is not there. No profile may put another one in its place; the environment and the caller may,
 * since whoever set those knows of the name. */
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
    policy = accel_plan_value(plan, "fallback.device");
    if (strcmp(policy->value, "deny") == 0 || policy->layer < ACCEL_PROFILE_ENVIRONMENT)
        return refuse_device(plan->context, request->device, error);
    if (unranked)
        return accel_plan_refuse_unranked(plan->context, unranked, true, error);
    if (strcmp(policy->value, "warn") == 0)
        accel_log_write(&plan->context->log, ACCEL_LOG_WARN, "plan", "fallback=device from=%s to=%s reason=\"%s\"",
                        request->device, plan->device->info.name, why.text);
    plan->moved = accel_plan_text(plan, "%s stands in for %s: %s", plan->device->info.name, request->device, why.text);
    return plan->moved ? ACCEL_OK : accel_plan_no_memory(error);
}

/* Where neither a device nor a file of the profiles has the name, both are to be chosen from. */
static int32_t add_choices(const struct accel_plan *plan, struct accel_error *error)
{
    char choices[160];
    struct accel_error why = {0};
    accel_context_choices(plan->context, plan->platform, choices, sizeof(choices));
    if (error == NULL || *choices == '\0')
        return ACCEL_E_NOT_FOUND;
    why = *error;
    accel_error_clear(error);
    accel_error_set(error, ACCEL_E_NOT_FOUND, "%.300s; of the platform %s here are %s", why.text, plan->platform,
                    choices);
    accel_error_remedy(error, "%s", why.remedy);
    return ACCEL_E_NOT_FOUND;
}

/* A platform by its name. A device of it that is here is used, unless another one is described by a file; where none is
 * here, the plan is for what the profiles say of the platform. */
static int32_t choose_platform(struct accel_plan *plan, const struct accel_plan_request *request,
                               struct accel_error *error)
{
    const char *named = request->device ? request->device : request->platform;
    const struct accel_listed *unranked = NULL;
    const struct accel_listed *device = accel_context_choose(plan->context, named, request->platform, &unranked);
    int32_t code;
    if (unranked)
        return accel_plan_refuse_unranked(plan->context, unranked, true, error);
    if (device == NULL)
        device = accel_context_find(plan->context, named);
    plan->platform = accel_plan_text(plan, "%s", request->platform);
    if (plan->platform == NULL)
        return accel_plan_no_memory(error);
    if (device && strcmp(device->info.driver, request->platform) == 0)
        plan->device = device;
    else if (device)
        return accel_error_set(error, ACCEL_E_INVALID, "device %s is of the driver %s, not of the platform %s", named,
                               device->info.driver, request->platform);
    else if (request->device)
        plan->device_profile = accel_plan_text(plan, "%s", request->device);
    code = resolve(plan, request, error);
    return code == ACCEL_E_NOT_FOUND && plan->device_profile ? add_choices(plan, error) : code;
}

static int32_t choose(struct accel_plan *plan, const struct accel_plan_request *request, struct accel_error *error)
{
    const struct accel_listed *unranked = NULL;
    if (ACCEL_HAS(request, platform) && request->platform)
        return choose_platform(plan, request, error);
    plan->device = request->device ? accel_context_choose(plan->context, request->device, NULL, &unranked)
                                   : best_device(plan->context, &unranked);
    if (unranked)
        return accel_plan_refuse_unranked(plan->context, unranked, true, error);
    plan->is_asked = plan->device && request->device;
    if (plan->device)
        return resolve(plan, request, error);
    return request->device ? replace_device(plan, request, error) : refuse_device(plan->context, NULL, error);
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
    if (accel_context_topology(context) == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_create: the context has not discovered");
    code = check_given(request->given, request->given_count, "given", error);
    return code == ACCEL_OK ? check_given(request->model, request->model_count, "model", error) : code;
}

int32_t accel_plan_create(struct accel_context *context, const struct accel_plan_request *request,
                          struct accel_plan **out_plan, struct accel_error *error)
{
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
        return accel_plan_no_memory(error);
    /* Records of the context are borrowed, so it may not go or discover while the plan lives. */
    plan->context = context;
    atomic_fetch_add(&context->children, 1);
    code = choose(plan, request, error);
    if (code == ACCEL_OK)
        code = accel_plan_make_records(plan, error);
    if (code == ACCEL_OK)
        code = accel_plan_choose_threads(plan, error);
    if (code == ACCEL_OK)
        code = accel_plan_hint_carried(plan, error);
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
