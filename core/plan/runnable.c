/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of this version does not do. A setting of keys.def that plans alone count with is refused where it asks
 * for something else than a run does anyhow; one for drivers is refused where the caller asked for it.
 */
#include "config.h"

#include <string.h>

#include "core/plan/plan.h"
#include "core/profile/keys.h"

static bool is(const struct accel_plan *plan, const char *key, const char *value)
{
    return strcmp(accel_plan_value(plan, key)->value, value) == 0;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- what a run does anyhow ---- */

/* Types and groups of weights: matrices are converted when they are loaded, where a sketch says to what; norms and
 * biases are not. Without a sketch, the file's usual type says whether anything has to be. */
static bool as_in_file(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    const char *file = accel_plan_fact(plan, "model.weights", NULL);
    if (plan->sketched)
        return strcmp(setting->key, "role.norm") != 0 || plan->converted_vectors == 0;
    return strcmp(setting->key, "weights.type") == 0 && file && begins(file, setting->value) &&
           (file[strlen(setting->value)] == '\0' || file[strlen(setting->value)] == '_');
}

/* Pages of a mapped file come when they are first read, one by one, and there is no second copy. */
static bool maps(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    (void)setting;
    /* A session has settled what auto comes to. */
    return strcmp(accel_plan_setting_find(plan, "weights.load")->value, "map") == 0;
}

/* The kernels that the driver named work on blocks of scores, unless they are called eager. */
static bool attention_is(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    bool eager = strcmp(setting->value, "eager") == 0;
    for (uint32_t i = 0; plan->placed && i < plan->node_count; i++)
        if (strcmp(plan->nodes[i].op, "attention") == 0 && (strstr(plan->nodes[i].kernel, "eager") != NULL) != eager)
            return false;
    return plan->placed;
}

/* Layers that lie on several devices run as one piece on each, where every device is of this machine. */
static bool devices_are_here(const struct accel_plan *plan)
{
    for (uint32_t i = 0; i < plan->layers.count; i++) {
        const struct accel_plan_layer *row = plan->layers.items[i];
        const struct accel_listed *device = accel_context_find(plan->context, row->device);
        if (device == NULL || (device->info.facts->flags & ACCEL_DEVICE_TARGET) != 0)
            return false;
    }
    return plan->component_count < 2;
}

static bool placed_here(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    return plan->sketched ? !plan->spread || devices_are_here(plan)
                          : strcmp(setting->value, "auto") == 0 || strcmp(setting->value, "balanced") == 0;
}

static bool one_component(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    const char *kind = accel_plan_fact(plan, "model.kind", NULL);
    (void)setting;
    return plan->sketched ? plan->component_count < 2 : kind == NULL || strcmp(kind, "generation") == 0;
}

static bool fits(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    (void)setting;
    return plan->judged && plan->fit.fits;
}

static bool one_sequence(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    return strcmp(setting->value, "latency") == 0 && is(plan, "sequences", "1");
}

/* The other word of a setting that a run has always done. */
static bool computes_in_f32(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    (void)plan;
    return strcmp(setting->value, "f32") == 0;
}

static const struct {
    const char *key; /* with a dot behind it: all that begin so */
    bool (*holds)(const struct accel_plan *plan, const struct accel_profile_setting *setting);
} satisfied[] = {
    {"weights.type", as_in_file},
    {"weights.group", as_in_file},
    {"weights.scheme", as_in_file},
    {"weights.least", as_in_file},
    {"precision.adaptive", as_in_file},
    {"precision.default", as_in_file},
    {"precision.critical", as_in_file},
    {"role.", as_in_file},
    {"vision.type", as_in_file},
    {"text.type", as_in_file},
    {"language.type", as_in_file},
    {"audio.type", as_in_file},
    {"attention.kernel", attention_is},
    {"placement", placed_here},
    {"encoders.parallel", one_component},
    {"load.parallel", one_component},
    {"vision.features", one_component},
    {"video.frames", one_component},
    {"memory.device", fits},
    {"goal", one_sequence},
    {"compute.type", computes_in_f32},
    {"load.strategy", maps},
    {"vision.load", maps},
    {"language.load", maps},
    {"load.progressive", maps},
    {"load.chunk", maps},
    {"memory.efficient", maps},
};

static bool is_satisfied(const struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    for (size_t i = 0; i < sizeof(satisfied) / sizeof(satisfied[0]); i++) {
        const char *key = satisfied[i].key;
        bool matches = key[strlen(key) - 1] == '.' ? begins(setting->key, key) : strcmp(setting->key, key) == 0;
        if (matches)
            return satisfied[i].holds(plan, setting);
    }
    return false;
}

/* ---- who asked ---- */

/* From the environment by another program's name of it: whoever set it may not know of this one, so it is only noted.
 */
static bool is_alias(const struct accel_profile_setting *setting)
{
    return setting->layer == ACCEL_PROFILE_ENVIRONMENT && !begins(setting->place, "environment ACCEL_");
}

/* The next setting from *index on that asks for something that a run does not do, or NULL; *index is then behind it. */
static const struct accel_profile_setting *next_unmet(const struct accel_plan *plan, uint32_t *index)
{
    while (*index < accel_key_count()) {
        const struct accel_key *key = accel_key_get((*index)++);
        const struct accel_profile_setting *setting = accel_plan_value(plan, key->name);
        if (key->carried == ACCEL_KEY_BY_RUN || strcmp(setting->value, key->preset) == 0 ||
            is_satisfied(plan, setting) || accel_plan_option_of(plan, key) != NULL)
            continue;
        if (key->carried == ACCEL_KEY_BY_PLAN || setting->layer >= ACCEL_PROFILE_ENVIRONMENT)
            return setting;
    }
    return NULL;
}

/* Settings that a file in other types would satisfy. */
static bool is_for_weights(const char *key)
{
    for (size_t i = 0; i < sizeof(satisfied) / sizeof(satisfied[0]); i++)
        if (satisfied[i].holds == as_in_file && (strcmp(satisfied[i].key, key) == 0 || begins(key, "role.")))
            return true;
    return false;
}

/* As it is written behind a number; words have none. */
static const char *unit_of(const struct accel_profile_setting *setting, const char *preset)
{
    if (*preset == '\0' || preset[strspn(preset, "0123456789")] != '\0')
        return "";
    return strcmp(setting->unit, "bytes") == 0 ? "B" : setting->unit;
}

static int32_t refuse_unmet(const struct accel_plan *plan, const struct accel_profile_setting *setting,
                            struct accel_error *error)
{
    const struct accel_key *key = accel_key_find(setting->key);
    const char *preset = key->preset;
    if (key->carried == ACCEL_KEY_BY_DRIVER)
        accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: %s=%s is for drivers that know it, and the driver %s does not",
                        setting->place, setting->key, setting->value, plan->device->owner->driver->name);
    else
        accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: %s=%s is planned with, and a run does not carry it out",
                        setting->place, setting->key, setting->value);
    if (is_for_weights(setting->key))
        accel_error_remedy(error, "accelctl quantize writes a file with other types; %s=%s runs this one as it is",
                           setting->key, preset);
    else
        accel_error_remedy(error, "set %s=%s%s for a run", setting->key, preset, unit_of(setting, preset));
    return ACCEL_E_UNSUPPORTED;
}

int32_t accel_plan_runnable(const struct accel_plan *plan, struct accel_error *error)
{
    const struct accel_profile_setting *setting;
    uint32_t index = 0;
    int32_t code;
    if (plan == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_runnable wants a plan");
    code = accel_plan_need_device(plan, error);
    if (code == ACCEL_OK)
        code = accel_replay_refuse(plan->context, plan->device->info.name, error);
    while (code == ACCEL_OK && (setting = next_unmet(plan, &index)) != NULL)
        if (!is_alias(setting))
            code = refuse_unmet(plan, setting, error);
    return code;
}

static int32_t hint_fallback(struct accel_plan *plan, const char *policy, const char *text, struct accel_error *error)
{
    return text ? accel_plan_add_hint(plan, ACCEL_NOTE_WARN, policy, "", error, "%s; %s is %s", text, policy,
                                      accel_plan_value(plan, policy)->value)
                : ACCEL_OK;
}

/* What a plan is told of the environment. */
struct unknowns {
    struct accel_plan *plan;
    int32_t code;
    struct accel_error *error;
};

/* Who misspelt a setting reads the plan; a variable that is like none may be another program's. */
static void hint_unknown(void *data, uint32_t level, const char *name, const char *near)
{
    struct unknowns *unknowns = data;
    if (level > ACCEL_LOG_WARN || unknowns->code != ACCEL_OK)
        return;
    unknowns->code = accel_plan_add_hint(unknowns->plan, ACCEL_NOTE_WARN, "", "", unknowns->error,
                                         "environment %s: nobody knows it, so that it does nothing%s%s%s", name,
                                         near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int32_t hint_unknowns(struct accel_plan *plan, struct accel_error *error)
{
    const struct accel_profile *profile = accel_context_profile(plan->context);
    struct unknowns unknowns = {plan, ACCEL_OK, error};
    int32_t code = profile ? accel_profile_unknown_each(profile, hint_unknown, &unknowns, error) : ACCEL_OK;
    return code == ACCEL_OK ? unknowns.code : code;
}

int32_t accel_plan_hint_carried(struct accel_plan *plan, struct accel_error *error)
{
    const struct accel_profile_setting *setting;
    uint32_t index = 0;
    int32_t code = hint_fallback(plan, "fallback.device", plan->moved, error);
    if (code == ACCEL_OK)
        code = hint_fallback(plan, "fallback.threads", plan->fewer, error);
    if (code == ACCEL_OK)
        code = hint_unknowns(plan, error);
    while (code == ACCEL_OK && (setting = next_unmet(plan, &index)) != NULL)
        code = accel_plan_add_hint(plan, is_alias(setting) ? ACCEL_NOTE_INFO : ACCEL_NOTE_WARN, setting->key, "", error,
                                   "a run does not carry out %s=%s (%s)", setting->key, setting->value, setting->place);
    return code;
}
