/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans again from a recorded plan. Settings that come out differently are overridden with the recorded values, so
 * that edited profiles and environment variables cannot change a run; any remaining difference is refused by name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/file/fault.h"
#include "model/file/open_struct.h"
#include "model/plan/identity.h"
#include "model/plan/json.h"

#define MIB 1048576.0

/* Plans of the largest models take some megabytes; a larger file is no plan. */
#define BYTES_MOST (INT64_C(8) << 20)
enum { SETTINGS_MOST = 4096, GIVEN_MOST = 4096, NODES_MOST = 65536 };

/* A JSON value takes at least two bytes of text and about seventy of memory, so the count is bounded before the
 * file is parsed. */
enum { VALUES_MOST = 1 << 20 };

struct record {
    const char *path;
    json_t *root;
    struct accel_named_value *overrides; /* settings of the request, then the overridden ones */
    uint32_t override_count;
    char **texts; /* setting values formatted with their units */
    uint32_t text_count;
};

static const char *member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

static json_t *part(const struct record *record, const char *key)
{
    return json_object_get(record->root, key);
}

static const char *or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

static int32_t refuse_difference(struct accel_error *error)
{
    accel_error_remedy(error, "where the change is meant, make the plan anew: accelctl plan MODEL --out FILE");
    return ACCEL_E_REFUSED;
}

/* ---- parsing ---- */

static int32_t malformed(const struct record *record, const char *what, struct accel_error *error)
{
    accel_error_set(error, ACCEL_E_CORRUPT, "%s: is no plan: %s", record->path, what);
    accel_error_remedy(error, "accelctl plan MODEL --out FILE writes one");
    return accel_error_origin(error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT);
}

static int32_t check_counts(const struct record *record, struct accel_error *error)
{
    if (json_object_size(part(record, "settings")) > SETTINGS_MOST)
        return malformed(record, "it has more than 4096 settings", error);
    if (json_array_size(json_object_get(part(record, "request"), "given")) > GIVEN_MOST)
        return malformed(record, "more than 4096 settings were given", error);
    if (json_array_size(part(record, "nodes")) > NODES_MOST)
        return malformed(record, "it has more than 65536 nodes", error);
    return ACCEL_OK;
}

static int32_t check_request(const struct record *record, struct accel_error *error)
{
    const json_t *request = part(record, "request"), *length = json_object_get(request, "length"),
                 *mode = json_object_get(request, "mode"), *given = json_object_get(request, "given"),
                 *platform = json_object_get(request, "platform");

    if (!json_is_object(request) || (given != NULL && !json_is_array(given)) ||
        (platform != NULL && !json_is_string(platform)))
        return malformed(record, "request is missing, or its settings are no list, or its platform is no name", error);
    if (length != NULL && (!json_is_integer(length) || json_integer_value(length) < 0))
        return malformed(record, "request.length is no number of tokens", error);
    if (mode != NULL &&
        (!json_is_string(mode) || (json_string_length(mode) != 0 && !model_plan_is_mode(json_string_value(mode)))))
        return malformed(record, "request.mode is none of: stream components", error);
    return ACCEL_OK;
}

/* Checks the texts that are compared with the device and the nodes of the new plan. */
static int32_t check_placement(const struct record *record, struct accel_error *error)
{
    static const char *const texts[] = {"name", "device", "kernel"};
    const json_t *device = part(record, "device");
    json_t *node;
    size_t i;

    if (device == NULL || (!json_is_null(device) && (member(device, "name")[0] == '\0' ||
                                                     !json_is_string(json_object_get(device, "driver_version")))))
        return malformed(record, "its device is missing, or has no name or no driver_version", error);
    json_array_foreach(part(record, "nodes"), i, node)
    {
        for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
            if (!json_is_string(json_object_get(node, texts[t])))
                return malformed(record, "a node has no name, device or kernel", error);
    }
    return check_request(record, error);
}

static int32_t check_members(const struct record *record, struct accel_error *error)
{
    json_t *settings = part(record, "settings");
    const char *key;
    json_t *setting;
    size_t i;

    if (strcmp(member(record->root, "schema"), PLAN_SCHEMA) != 0)
        return malformed(record, "its schema is not " PLAN_SCHEMA, error);
    if (member(part(record, "model"), "path")[0] == '\0' || !json_is_object(settings) ||
        !json_is_array(part(record, "nodes")))
        return malformed(record, "model.path, settings or nodes are missing", error);
    if (check_counts(record, error) != ACCEL_OK)
        return ACCEL_E_CORRUPT;
    json_object_foreach(settings, key, setting)
    {
        if (!json_is_string(json_object_get(setting, "value")) || !json_is_string(json_object_get(setting, "unit")))
            return malformed(record, "a setting has no value or no unit", error);
    }
    json_array_foreach(json_object_get(part(record, "request"), "given"), i, setting)
    {
        if (member(setting, "key")[0] == '\0' || !json_is_string(json_object_get(setting, "value")))
            return malformed(record, "a given setting has no key or no value", error);
    }
    return check_placement(record, error);
}

/* Returns whether the text has too many values. Every value but the last of an object or list is followed by a
 * comma, and every list starts with a bracket; those inside strings are counted too, but a plan has few. */
static bool has_too_many(const char *text, size_t length)
{
    size_t values = 0;

    for (size_t i = 0; i < length; i++)
        values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return values > VALUES_MOST;
}

static int32_t parse(struct record *record, int fd, size_t most, struct accel_error *error)
{
    json_error_t where = {0};
    char *text = malloc(most);
    size_t length = 0;
    int32_t code = text == NULL ? accel_error_no_memory(error, "to repeat a plan") : ACCEL_OK;

    while (code == ACCEL_OK && length < most) {
        ssize_t got = read(fd, text + length, most - length);

        if (got < 0 && errno != EINTR)
            code = model_fault_errno(error, record->path, "cannot read", errno);
        if (got == 0)
            break;
        length += got > 0 ? (size_t)got : 0;
    }
    if (code == ACCEL_OK && has_too_many(text, length))
        code = malformed(record, "it has over a million values", error);
    if (code == ACCEL_OK)
        record->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    free(text);
    if (code != ACCEL_OK || record->root != NULL)
        return code;
    accel_error_set(error, ACCEL_E_CORRUPT, "%s:%d:%d: %s", record->path, where.line, where.column, where.text);
    return accel_error_origin(error, ACCEL_FROM_FILE, ACCEL_E_CORRUPT);
}

/* Opens the file without blocking on a pipe, and checks and reads it through one descriptor. */
static int32_t load(struct record *record, struct accel_error *error)
{
    int fd = open(record->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    int32_t code;

    if (fd < 0)
        return model_fault_errno(error, record->path, "cannot open", errno);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > BYTES_MOST)
        code = malformed(record, "it is no regular file of at most 8 MiB", error);
    else
        code = parse(record, fd, (size_t)status.st_size + 1, error);
    close(fd);
    return code;
}

/* Refuses a plan by formula, with the recorded reason and its remedy. */
static int32_t check_exact(const struct record *record, struct accel_error *error)
{
    const json_t *verdict = part(record, "verdict");
    const char *reason = member(verdict, "reason"), *remedy = member(verdict, "remedy");
    const char *model = member(part(record, "model"), "path");

    if (json_is_true(json_object_get(verdict, "exact")))
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_REFUSED, "%s: is a plan by formula, which no run can follow%s%.400s", record->path,
                    reason[0] == '\0' ? "" : ": ", reason);
    /* Without the model's files a device of another platform is not the only reason. */
    if (json_array_size(json_object_get(part(record, "model"), "files")) == 0 &&
        json_is_null(json_object_get(record->root, "device")))
        accel_error_remedy(error,
                           "accelctl run PATH runs the GGUF file or the Hugging Face folder of a model on a device "
                           "of this machine");
    else if (json_array_size(json_object_get(part(record, "model"), "files")) != 0)
        accel_error_remedy(error,
                           "accelctl run %.200s runs the model on a device of this machine, and accelctl plan %.200s "
                           "--out FILE, without --platform and --host, writes a plan that a run can follow",
                           model, model);
    else
        accel_error_remedy(error, "%.400s",
                           remedy[0] == '\0' ? "plan a model that is here, for a device that is here" : remedy);
    return ACCEL_E_REFUSED;
}

static int32_t read_record(struct record *record, struct accel_error *error)
{
    int32_t code = load(record, error);

    if (code == ACCEL_OK)
        code = check_members(record, error);
    return code == ACCEL_OK ? check_exact(record, error) : code;
}

static void free_record(struct record *record)
{
    for (uint32_t i = 0; i < record->text_count; i++)
        free(record->texts[i]);
    free(record->texts);
    free(record->overrides);
    json_decref(record->root);
}

/* ---- settings ---- */

/* Imports the settings of the recorded request. */
static int32_t import_overrides(struct record *record, struct accel_error *error)
{
    json_t *recorded = json_object_get(part(record, "request"), "given");
    size_t settings = json_object_size(part(record, "settings"));
    json_t *row;
    size_t i;

    record->overrides = calloc(json_array_size(recorded) + settings + 1, sizeof(*record->overrides));
    record->texts = calloc(settings + 1, sizeof(*record->texts));
    if (record->overrides == NULL || record->texts == NULL)
        return accel_error_no_memory(error, "to repeat a plan");
    json_array_foreach(recorded, i, row) record->overrides[record->override_count++] =
        (struct accel_named_value){member(row, "key"), member(row, "value"), member(row, "origin")};
    return ACCEL_OK;
}

static bool is_same(const struct accel_plan_setting *now, const json_t *then)
{
    json_t *value = now == NULL ? NULL : plan_text_json(now->value);
    bool same = value != NULL && json_equal(json_object_get(then, "value"), value) &&
                strcmp(now->unit, member(then, "unit")) == 0;

    json_decref(value);
    return same;
}

/* Overrides a setting with the recorded value, formatted as the settings language requires: sizes recorded in
 * bytes get their unit. */
static int32_t override_setting(struct record *record, const char *key, const json_t *setting,
                                struct accel_error *error)
{
    const char *value = member(setting, "value"), *unit = member(setting, "unit");
    size_t bytes = strlen(value) + strlen(unit) + 1;
    char *text = malloc(bytes);

    if (text == NULL)
        return accel_error_no_memory(error, "to repeat a plan");
    snprintf(text, bytes, "%s%s", value, strcmp(unit, "bytes") == 0 ? "B" : unit);
    record->texts[record->text_count++] = text;
    record->overrides[record->override_count++] = (struct accel_named_value){key, text, record->path};
    return ACCEL_OK;
}

/* Overrides the settings that are not those of a plan; of NULL, all. */
static int32_t override_differing(struct record *record, const struct accel_plan *plan, struct accel_error *error)
{
    json_t *settings = part(record, "settings");
    int32_t code = ACCEL_OK;
    const char *key;
    json_t *setting;

    json_object_foreach(settings, key, setting)
    {
        if (code == ACCEL_OK && !is_same(accel_plan_setting_find(plan, key), setting))
            code = override_setting(record, key, setting, error);
    }
    return code;
}

static int32_t check_settings(const struct record *record, const struct accel_plan *plan, struct accel_error *error)
{
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++) {
        const struct accel_plan_setting *now = accel_plan_setting_get(plan, i);
        const json_t *then = json_object_get(part(record, "settings"), now->key);

        if (then == NULL && now->origin != ACCEL_ORIGIN_BUILTIN) {
            accel_error_set(error, ACCEL_E_REFUSED, "%s: does not know %s, which is %s (%s)", record->path, now->key,
                            now->value, now->place);
            return refuse_difference(error);
        }
        if (then == NULL || is_same(now, then))
            continue;
        accel_error_set(error, ACCEL_E_REFUSED, "%s: %s was %s and comes to %s (%s)", record->path, now->key,
                        member(then, "value"), now->value, now->place);
        return refuse_difference(error);
    }
    return ACCEL_OK;
}

/* ---- further checks ---- */

static int32_t check_device(const struct record *record, const struct accel_model_plan *plan, struct accel_error *error)
{
    const struct accel_device_info *device = accel_plan_device(accel_model_plan_plan(plan));
    const struct accel_plugin_info *plugin = device == NULL ? NULL : accel_plugin_get(plan->context, device->plugin);
    const json_t *then = part(record, "device");

    if (plugin == NULL || strcmp(device->name, member(then, "name")) != 0) {
        accel_error_set(error, ACCEL_E_REFUSED, "%s: device %s is now %s", record->path,
                        json_is_null(then) ? "none" : member(then, "name"), device == NULL ? "none" : device->name);
        return refuse_difference(error);
    }
    if (strcmp(plugin->version, member(then, "driver_version")) != 0) {
        accel_error_set(error, ACCEL_E_REFUSED, "%s: driver %s was version %s and is %s", record->path, device->driver,
                        member(then, "driver_version"), plugin->version);
        return refuse_difference(error);
    }
    return ACCEL_OK;
}

static bool is_same_node(const struct accel_plan_node *node, const json_t *then)
{
    json_t *name = plan_text_json(node->name);
    bool same = json_equal(name, json_object_get(then, "name")) && strcmp(node->device, member(then, "device")) == 0 &&
                strcmp(node->kernel, member(then, "kernel")) == 0;

    json_decref(name);
    return same;
}

static int32_t check_nodes(const struct record *record, const struct accel_plan *plan, struct accel_error *error)
{
    const json_t *nodes = part(record, "nodes");
    uint32_t count = accel_plan_node_count(plan);

    if (json_array_size(nodes) != count) {
        accel_error_set(error, ACCEL_E_REFUSED, "%s: the graph had %zu nodes and has %u", record->path,
                        json_array_size(nodes), count);
        return refuse_difference(error);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_node *now = accel_plan_node_get(plan, i);
        const json_t *then = json_array_get(nodes, i);

        if (is_same_node(now, then))
            continue;
        if (strcmp(now->name, member(then, "name")) != 0)
            accel_error_set(error, ACCEL_E_REFUSED, "%s: node %u was %s and is %s", record->path, i,
                            member(then, "name"), now->name);
        else
            accel_error_set(error, ACCEL_E_REFUSED, "%s: node %s ran \"%s\" on %s and runs \"%s\" on %s", record->path,
                            now->name, member(then, "kernel"), member(then, "device"), now->kernel, now->device);
        return refuse_difference(error);
    }
    return ACCEL_OK;
}

static int32_t check_memory(const struct record *record, const struct accel_model_plan *plan, struct accel_error *error)
{
    struct accel_plan_fit fit = model_plan_verdict(plan);

    if (fit.fits)
        return ACCEL_OK;
    accel_error_set(
        error, ACCEL_E_MEMORY,
        fit.needed < fit.budget + fit.short_by
            ? "%s: needs %.1f MiB, and one of its devices lacks %.1f MiB now (%s); the plan was made with %.1f MiB"
            : "%s: needs %.1f MiB, %.1f MiB more than there are now (%s); the plan was made with %.1f MiB",
        record->path, (double)fit.needed / MIB, (double)fit.short_by / MIB, fit.budget_origin,
        (double)json_integer_value(json_object_get(part(record, "verdict"), "budget")) / MIB);
    accel_error_remedy(error, "end other programs, or make the plan anew: accelctl plan MODEL --fit");
    return ACCEL_E_MEMORY;
}

static int32_t compare(const struct record *record, const struct accel_model_plan *plan, struct accel_error *error)
{
    const struct accel_plan *inner = accel_model_plan_plan(plan);
    int32_t code =
        plan_identity_check(plan->subject->model, json_object_get(part(record, "model"), "files"), record->path, error);

    if (code == ACCEL_E_REFUSED)
        refuse_difference(error);
    if (code == ACCEL_OK)
        code = check_device(record, plan, error);
    if (code == ACCEL_OK)
        code = check_settings(record, inner, error);
    if (code == ACCEL_OK)
        code = check_nodes(record, inner, error);
    return code == ACCEL_OK ? check_memory(record, plan, error) : code;
}

static int32_t plan_again(struct accel_context *context, struct record *record,
                          const struct accel_model_plan_options *given, struct accel_model_plan **out_plan,
                          struct accel_error *error)
{
    const json_t *request = part(record, "request");
    struct accel_model_plan_options again = {
        .size = sizeof(again),
        .path = member(part(record, "model"), "path"),
        .platform = or_null(member(request, "platform")),
        .device = or_null(member(part(record, "device"), "name")),
        .mode = or_null(member(request, "mode")),
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
    struct record record = {.path = path};
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
        code = read_record(&record, error);
    if (code == ACCEL_OK)
        code = plan_identity_glance(json_object_get(part(&record, "model"), "files"), path, error);
    if (code == ACCEL_E_REFUSED)
        refuse_difference(error);
    if (code == ACCEL_OK)
        code = import_overrides(&record, error);
    recorded = record.override_count;
    /* Today's environment may permit no plan, and does not matter to one with the recorded settings. */
    if (code == ACCEL_OK && plan_again(context, &record, &given, &plan, &today) != ACCEL_OK)
        plan = NULL;
    if (code == ACCEL_OK)
        code = override_differing(&record, plan == NULL ? NULL : accel_model_plan_plan(plan), error);
    if (code == ACCEL_OK && (plan == NULL || record.override_count != recorded)) {
        accel_model_plan_free(plan);
        plan = NULL;
        code = plan_again(context, &record, &given, &plan, error);
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
