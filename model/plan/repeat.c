/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans again from a recorded plan. Settings that come out differently are overridden with the recorded values, so
 * that edited profiles and environment variables cannot change a run; any remaining difference is refused (compare.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/fault.h"
#include "model/file/open_struct.h"
#include "model/plan/compare.h"
#include "model/plan/identity.h"

#define MIB 1048576.0

/* Bytes of the key of a driver's option. */
enum { OPTION_TEXT = 120 };

static const char *or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

static void free_record(struct plan_record *record)
{
    for (uint32_t i = 0; i < record->text_count; i++)
        free(record->texts[i]);
    free(record->texts);
    free(record->overrides);
    free(record->json);
    json_decref(record->root);
}

/* ---- settings ---- */

/* Returns the driver of the recorded device, or NULL. */
static const struct accel_plugin_info *find_driver(const struct accel_context *context,
                                                   const struct plan_record *record)
{
    return plan_find_driver(context, plan_record_text(plan_record_part(record, "device"), "driver"));
}

/* Imports the settings of the recorded request. */
static int32_t import_overrides(const struct accel_context *context, struct plan_record *record,
                                struct accel_error *error)
{
    const struct accel_plugin_info *driver = find_driver(context, record);
    const size_t options = driver == NULL ? 0 : driver->option_count;
    json_t *recorded = json_object_get(plan_record_part(record, "request"), "given");
    size_t settings = json_object_size(plan_record_part(record, "settings"));
    json_t *row;
    size_t i;

    record->overrides = calloc(json_array_size(recorded) + settings + options + 1, sizeof(*record->overrides));
    record->texts = calloc(settings + options + 1, sizeof(*record->texts));
    if (record->overrides == NULL || record->texts == NULL)
        return accel_error_no_memory(error, "to repeat a plan");
    json_array_foreach(recorded, i, row) record->overrides[record->override_count++] = (struct accel_named_value){
        plan_record_text(row, "key"), plan_record_text(row, "value"), plan_record_text(row, "origin")};
    return ACCEL_OK;
}

static bool is_same(const struct accel_plan_setting *now, const json_t *then)
{
    json_t *value = now == NULL ? NULL : plan_text_json(now->value);
    bool same = value != NULL && json_equal(json_object_get(then, "value"), value) &&
                strcmp(now->unit, plan_record_text(then, "unit")) == 0;

    json_decref(value);
    return same;
}

/* Adds the text "AB" to those of the record. NULL without memory. */
static const char *add_text(struct plan_record *record, const char *a, const char *b, struct accel_error *error)
{
    const size_t bytes = strlen(a) + strlen(b) + 1;
    char *text = malloc(bytes);

    if (text == NULL) {
        accel_error_no_memory(error, "to repeat a plan");
        return NULL;
    }
    snprintf(text, bytes, "%s%s", a, b);
    return record->texts[record->text_count++] = text;
}

/* Overrides a setting with the recorded value, formatted as the settings language requires: sizes recorded in
 * bytes get their unit. */
static int32_t override_setting(struct plan_record *record, const char *key, const json_t *setting,
                                struct accel_error *error)
{
    const char *unit = plan_record_text(setting, "unit");
    const char *text =
        add_text(record, plan_record_text(setting, "value"), strcmp(unit, "bytes") == 0 ? "B" : unit, error);

    if (text == NULL)
        return ACCEL_E_MEMORY;
    record->overrides[record->override_count++] = (struct accel_named_value){key, text, record->path};
    return ACCEL_OK;
}

/* Describes the first setting that profiles and variables give another value today, or that was edited. */
static void describe_change(struct plan_record *record, const char *key, const json_t *setting,
                            const struct accel_plan_setting *now)
{
    const struct accel_named_value *then = &record->overrides[record->override_count - 1];

    if (record->changed[0] != '\0' || now == NULL)
        return;
    snprintf(record->changed, sizeof(record->changed), "; line %d has %.40s=%.40s, %.40s%s without it",
             plan_record_line_of(record, json_object_get(setting, "value")), key, then->value, now->value,
             strcmp(now->unit, "bytes") == 0 ? "B" : now->unit);
    snprintf(record->remedy, sizeof(record->remedy), ", and --set %.40s=%.60s to keep that value", key, then->value);
}

/* Returns whether the recorded request states the value that a setting has now. */
static bool is_requested(const struct plan_record *record, uint32_t requested, const struct accel_plan_setting *now)
{
    for (uint32_t i = 0; now != NULL && now->origin == ACCEL_ORIGIN_GIVEN && i < requested; i++)
        if (strcmp(record->overrides[i].key, now->key) == 0)
            return true;
    return false;
}

/* Returns whether runs honor the setting, or it is an option of a driver. */
static bool is_honored(const char *key)
{
    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        if (strcmp(accel_setting_row_get(i)->name, key) == 0)
            return accel_setting_row_get(i)->honored == ACCEL_HONORED_RUN;
    return true;
}

/* Overrides the settings that are not those of a plan; of NULL, all that runs honor. A value of the recorded request
 * stays, so that a record which contradicts its request is refused. */
static int32_t override_differing(struct plan_record *record, const struct accel_plan *plan, struct accel_error *error)
{
    json_t *settings = plan_record_part(record, "settings");
    const uint32_t requested = record->override_count;
    int32_t code = ACCEL_OK;
    const char *key;
    json_t *setting;

    json_object_foreach(settings, key, setting)
    {
        const struct accel_plan_setting *now = accel_plan_setting_find(plan, key);

        if (code != ACCEL_OK || !(plan == NULL ? is_honored(key) : !is_same(now, setting)) ||
            is_requested(record, requested, now))
            continue;
        code = override_setting(record, key, setting, error);
        if (code == ACCEL_OK)
            describe_change(record, key, setting, now);
    }
    return code;
}

/* Overrides options of the recorded device's driver with no value, which leaves them to the driver: options that the
 * record does not have, and variables or profiles of today set. Those are in `plan`; if it is NULL, overrides all that
 * the record does not have. */
static int32_t reset_options(const struct accel_context *context, struct plan_record *record,
                             const struct accel_plan *plan, struct accel_error *error)
{
    const struct accel_plugin_info *driver = find_driver(context, record);
    const json_t *settings = plan_record_part(record, "settings");
    const uint32_t given = record->override_count;
    char key[OPTION_TEXT];

    for (uint32_t i = 0; driver != NULL && i < driver->option_count; i++) {
        const char *name;
        bool is_given = snprintf(key, sizeof(key), "%s.%s", driver->name, driver->options[i]->name) >= OPTION_TEXT;

        for (uint32_t j = 0; j < given; j++)
            is_given = is_given || strcmp(record->overrides[j].key, key) == 0;
        if (is_given || json_object_get(settings, key) != NULL ||
            (plan != NULL && accel_plan_setting_find(plan, key) == NULL))
            continue;
        name = add_text(record, key, "", error);
        if (name == NULL)
            return ACCEL_E_MEMORY;
        record->overrides[record->override_count++] = (struct accel_named_value){name, "", record->path};
    }
    return ACCEL_OK;
}

/* ---- memory ---- */

static int32_t check_memory(const struct plan_record *record, const struct accel_model_plan *plan,
                            struct accel_error *error)
{
    struct accel_plan_fit fit = model_plan_verdict(plan);
    const bool is_users = strncmp(fit.budget_origin, "memory.budget", strlen("memory.budget")) == 0;

    if (fit.fits)
        return ACCEL_OK;
    accel_error_set(
        error, ACCEL_E_MEMORY,
        accel_plan_fit_is_of_one(&fit)
            ? "%s: needs %.1f MiB, and one of its devices lacks %.1f MiB now (%s); the plan was made with %.1f MiB"
        : is_users ? "%s: needs %.1f MiB, %.1f MiB more than the plan may take (%s); the plan was made with %.1f MiB"
                   : "%s: needs %.1f MiB, %.1f MiB more than there are now (%s); the plan was made with %.1f MiB",
        record->path, (double)fit.needed / MIB, (double)fit.short_by / MIB, fit.budget_origin,
        (double)json_integer_value(json_object_get(plan_record_part(record, "verdict"), "budget")) / MIB);
    accel_error_remedy(error, is_users
                                  ? "make the plan anew with a larger memory.budget or without it, or with settings "
                                    "that need less: accelctl plan MODEL --set memory.budget=SIZE --fit"
                                  : "end other programs, or make the plan anew: accelctl plan MODEL --fit");
    return ACCEL_E_MEMORY;
}

static int32_t compare(const struct plan_record *record, const struct accel_model_plan *plan, struct accel_error *error)
{
    json_t *now;
    int32_t code = plan->session == NULL ? model_plan_no_session(plan, error) : ACCEL_OK;

    if (code != ACCEL_OK)
        return code;
    now = plan_document(plan);
    code = now == NULL ? accel_error_no_memory(error, "to repeat a plan") : plan_compare(record, now, error);
    json_decref(now);
    return code == ACCEL_OK ? check_memory(record, plan, error) : code;
}

/* Returns whether a layer lies on another device than the plan's. */
static bool is_spread(const struct plan_record *record)
{
    const char *name = plan_record_text(plan_record_part(record, "device"), "name");
    json_t *layers;
    size_t i;

    json_array_foreach(plan_record_part(record, "layers"), i, layers)
    {
        if (strcmp(plan_record_text(layers, "device"), name) != 0)
            return true;
    }
    return false;
}

/* Refuses variables that set an option of the driver of a device: stages of a plan over several devices follow them,
 * and the record lacks them. */
static int32_t refuse_variables(const struct accel_context *context, const struct plan_record *record,
                                const char *device, struct accel_error *error)
{
    char name[OPTION_TEXT], key[OPTION_TEXT], variable[OPTION_TEXT + 8];
    const struct accel_plugin_info *driver;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(device, ":"), device);
    driver = plan_find_driver(context, name);
    for (uint32_t i = 0; driver != NULL && i < driver->option_count; i++) {
        bool is_given = snprintf(key, sizeof(key), "%s.%s", name, driver->options[i]->name) >= OPTION_TEXT;
        const char *value =
            accel_setting_variable(key, variable, sizeof(variable)) == ACCEL_OK ? getenv(variable) : NULL;

        for (uint32_t j = 0; j < record->override_count; j++)
            is_given = is_given || strcmp(record->overrides[j].key, key) == 0;
        if (is_given || value == NULL || value[0] == '\0' ||
            json_object_get(plan_record_part(record, "settings"), key) != NULL)
            continue;
        accel_error_set(error, ACCEL_E_REFUSED,
                        "environment %s=%.80s: layers of the plan %.200s lie on %.80s, and it was made without %s",
                        variable, value, record->path, device, key);
        accel_error_remedy(error, "unset %s, or make the plan anew with --set %s=%.80s", variable, key, value);
        return ACCEL_E_REFUSED;
    }
    return ACCEL_OK;
}

/* Refuses such variables for each device that has layers, if those are several. */
static int32_t check_variables(const struct accel_context *context, const struct plan_record *record,
                               struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    json_t *layers;
    size_t i;

    json_array_foreach(plan_record_part(record, "layers"), i, layers)
    {
        if (code == ACCEL_OK && is_spread(record))
            code = refuse_variables(context, record, plan_record_text(layers, "device"), error);
    }
    return code;
}

/* Returns the device to plan for: that of the plan; of a plan with layers on several devices, the requested one. */
static const char *find_device(const struct plan_record *record)
{
    return or_null(is_spread(record) ? plan_record_text(plan_record_part(record, "request"), "device")
                                     : plan_record_text(plan_record_part(record, "device"), "name"));
}

/* Sets the path of the model, where the caller names another file than the recorded one. */
static void set_moved(struct plan_record *record, const char *path)
{
    const char *then = plan_record_text(plan_record_part(record, "model"), "path");
    char *real = path == NULL ? NULL : realpath(path, NULL);

    if (path == NULL || (real != NULL && strcmp(real, then) == 0) || strcmp(path, then) == 0)
        record->moved = NULL;
    else
        record->moved = path;
    if (record->moved != NULL)
        snprintf(record->remedy, sizeof(record->remedy), "; its model was %.100s", then);
    free(real);
}

static int32_t plan_again(struct accel_context *context, struct plan_record *record,
                          const struct accel_model_plan_options *given, struct accel_model_plan **out_plan,
                          struct accel_error *error)
{
    const json_t *request = plan_record_part(record, "request");
    struct accel_model_plan_options again = {
        .size = sizeof(again),
        .path = record->moved != NULL ? record->moved : plan_record_text(plan_record_part(record, "model"), "path"),
        .platform = or_null(plan_record_text(request, "platform")),
        .device = find_device(record),
        .mode = or_null(plan_record_text(request, "mode")),
        .request_length = (uint64_t)json_integer_value(json_object_get(request, "length")),
        .flags = given->flags,
        .outputs = given->outputs,
    };

    again.overrides = record->overrides;
    again.override_count = record->override_count;
    return accel_model_plan_create(context, &again, out_plan, error);
}

int32_t accel_model_plan_repeat(struct accel_context *context, const char *path,
                                const struct accel_model_plan_options *options, struct accel_model_plan **out_plan,
                                struct accel_error *error)
{
    struct plan_record record = {.path = path};
    struct accel_model_plan_options given = {0};
    struct accel_error today = {0};
    struct accel_model_plan *plan = NULL;
    uint32_t recorded;
    int32_t code = ACCEL_OK;

    if (context == NULL || path == NULL || out_plan == NULL)
        return model_refuse_null(__func__, error);
    *out_plan = NULL;
    if (options != NULL)
        code = open_struct_import(options, sizeof(options->size), sizeof(given), "accel_model_plan_options", &given,
                                  error);
    if (code == ACCEL_OK)
        code = plan_record_read(&record, error);
    if (code == ACCEL_OK)
        set_moved(&record, given.path);
    if (code == ACCEL_OK && record.moved == NULL)
        code = plan_identity_glance(&record, error);
    if (code == ACCEL_E_REFUSED)
        plan_refuse_difference(&record, error);
    if (code == ACCEL_OK)
        code = import_overrides(context, &record, error);
    if (code == ACCEL_OK)
        code = check_variables(context, &record, error);
    recorded = record.override_count;
    /* Today's environment may permit no plan, and does not matter to one with the recorded settings. */
    if (code == ACCEL_OK && plan_again(context, &record, &given, &plan, &today) != ACCEL_OK)
        plan = NULL;
    if (code == ACCEL_OK)
        code = override_differing(&record, plan == NULL ? NULL : accel_model_plan_plan(plan), error);
    if (code == ACCEL_OK)
        code = reset_options(context, &record, plan == NULL ? NULL : accel_model_plan_plan(plan), error);
    if (code == ACCEL_OK && (plan == NULL || record.override_count != recorded)) {
        accel_model_plan_free(plan);
        plan = NULL;
        code = plan_again(context, &record, &given, &plan, error);
        if (code == ACCEL_E_FALLBACK && error != NULL)
            error->remedy[0] = '\0'; /* which changes a setting, as no run of a plan does */
        if (code == ACCEL_E_FALLBACK)
            accel_error_remedy(error, "make the plan anew on this machine: accelctl plan MODEL --out FILE");
    }
    if (code == ACCEL_OK)
        code = compare(&record, plan, error);
    if (code == ACCEL_OK)
        *out_plan = plan;
    else
        accel_model_plan_free(plan);
    free_record(&record);
    return code;
}
