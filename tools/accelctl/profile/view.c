/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/profile/view.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/habits.h"
#include "tools/accelctl/model.h"
#include "tools/accelctl/profile/rule.h"
#include "tools/accelctl/words.h"

/* A client, a device and a model are passed to a plan as a setting and facts. */
enum { OWN = 2 };

static const struct accel_fact_row *find_fact(const char *name)
{
    for (uint32_t i = 0; i < accel_fact_row_count(); i++)
        if (strcmp(accel_fact_row_get(i)->name, name) == 0)
            return accel_fact_row_get(i);
    return NULL;
}

/* Returns true for a whole number with a unit of the fact, or without one. */
static bool is_number_of(const struct accel_fact_row *row, const char *value)
{
    static const char *const sizes[] = {"", "B", "KiB", "MiB", "GiB", "TiB", "MB", "GB"};
    size_t length = strspn(value, "0123456789");
    const char *unit = value + length + (value[length] == ' ');

    if (length == 0)
        return false;
    for (uint32_t i = 0; strcmp(row->unit, "bytes") == 0 && i < sizeof(sizes) / sizeof(*sizes); i++)
        if (strcmp(unit, sizes[i]) == 0)
            return true;
    return unit[0] == '\0' || strcmp(unit, row->unit) == 0;
}

static int check_facts(const struct accel_named_value *facts, uint32_t count, uint32_t json)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_fact_row *row = find_fact(facts[i].key);
        const char *nearest = NULL;
        uint32_t least = unrelated_distance(facts[i].key);

        if (row != NULL && (row->unit[0] == '\0' || is_number_of(row, facts[i].value)))
            continue;
        if (row != NULL)
            return report_error_format(json, EXIT_USAGE, "usage", "accelctl profile facts lists facts with their units",
                                       "%.100s: requires a whole number, with its unit (%s)", facts[i].origin,
                                       strcmp(row->unit, "bytes") == 0 ? "as 8GiB" : row->unit);
        for (uint32_t f = 0; f < accel_fact_row_count(); f++)
            if (is_nearer(facts[i].key, accel_fact_row_get(f)->name, &least))
                nearest = accel_fact_row_get(f)->name;
        return report_error_format(json, EXIT_USAGE, "usage", "accelctl profile facts lists them",
                                   "%.60s: there is no fact \"%.40s\"%s%s%s", facts[i].origin, facts[i].key,
                                   nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                                   nearest == NULL ? "" : "\"?");
    }
    return -1;
}

/* Returns the only platform that the conditions of a device's file name, or NULL. */
static const struct profile_info *platform_of(const struct profile_files *files, const struct profile_info *device)
{
    const struct profile_info *found = NULL;

    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];
        size_t length = strlen(info->name);

        if (info->layer != ACCEL_LAYER_PLATFORM)
            continue;
        for (const char *at = strstr(device->match, info->name); at != NULL; at = strstr(at + 1, info->name)) {
            if (at == device->match || strchr(" [,", at[-1]) == NULL || strchr(" ],", at[length]) == NULL)
                continue;
            if (found != NULL && found != info)
                return NULL;
            found = info;
        }
    }
    return found;
}

static int choose_platform(const struct profile_files *files, uint32_t json, struct selection *selection)
{
    const struct profile_info *named = selection->device != NULL ? selection->device : selection->client;
    char text[256], remedy[160];

    if (selection->platform != NULL || named == NULL)
        return -1;
    selection->platform = platform_of(files, named);
    if (selection->platform != NULL)
        return -1;
    snprintf(text, sizeof(text), "%s \"%s\" does not state the platform that it is used with",
             profile_layer(named->layer, 0), named->name);
    snprintf(remedy, sizeof(remedy), "join it with one that accelctl profile list platforms names: PLATFORM+%.64s",
             named->name);
    return report_error_text(json, EXIT_USAGE, "usage", text, remedy);
}

/* Selects --model: a file or folder, which describes itself, or a name of the list. */
static int select_model(struct accel_context *context, const char *name, uint32_t json, struct view *view)
{
    struct accel_model_description *description = NULL;
    struct selection found = {.model = NULL};
    struct accel_error error = {0};
    int code = -1;

    if (access(name, F_OK) == 0) {
        if (accel_model_describe(context, name, &view->description, &error) != ACCEL_OK)
            return report_error(json, &error);
        if (view->selection.model != NULL)
            return report_error_text(json, EXIT_USAGE, "usage", "--model and a name give two models", NULL);
        return -1;
    }
    /* The list has a model under one name; Hugging Face's name of it is another. */
    if (accel_model_describe(context, name, &description, &error) == ACCEL_OK)
        name = accel_model_description_fact(description, "model.name");
    code = select_profiles(&view->files, name, json, &found);
    accel_model_description_free(description);
    if (code >= 0)
        return code;
    if (found.model == NULL)
        return report_error_text(json, EXIT_INPUT, accel_error_name(ACCEL_E_NOT_FOUND), "--model names no model",
                                 "accelctl profile list models lists them");
    if (view->selection.model != NULL && view->selection.model != found.model)
        return report_error_text(json, EXIT_USAGE, "usage", "--model and a name give two models", NULL);
    view->selection.model = found.model;
    return -1;
}

/* Selects the file of an option in a folder of the profiles; a `name` of NULL: the option is not given. */
static int select_option(const char *name, const char *folder, uint32_t json, struct view *view)
{
    char title[160];

    if (name == NULL)
        return -1;
    snprintf(title, sizeof(title), "%s%.120s", folder, name);
    return select_profiles(&view->files, title, json, &view->selection);
}

/* Returns --device if it names no file of the folder devices, but a device of this machine; else NULL. */
static const char *device_here(const struct profile_options *chosen, const struct profile_files *files)
{
    for (uint32_t i = 0; chosen->common.device != NULL && i < files->count; i++)
        if (files->list[i].layer == ACCEL_LAYER_DEVICE && strcmp(files->list[i].name, chosen->common.device) == 0)
            return NULL;
    return chosen->common.device;
}

static int select_names(struct accel_context *context, const struct profile_options *chosen, int count, char **names,
                        struct view *view)
{
    uint32_t json = chosen->common.json;
    int code = -1;

    for (int i = 0; i < count && code < 0; i++)
        code = select_profiles(&view->files, names[i], json, &view->selection);
    if (code < 0)
        code = select_option(chosen->platform, "", json, view);
    if (code < 0 && device_here(chosen, &view->files) == NULL)
        code = select_option(chosen->common.device, "devices/", json, view);
    if (code < 0)
        code = select_option(chosen->common.client, "clients/", json, view);
    if (code < 0 && chosen->model != NULL)
        code = select_model(context, chosen->model, json, view);
    return code < 0 ? choose_platform(&view->files, json, &view->selection) : code;
}

/* Collects the values of an option, NAME=VALUE each, with the command line as their origin. Their texts live in
 * *out_texts. */
static int parse_named_values(const struct text_list *list, const char *option, uint32_t json,
                              struct accel_named_value out_values[LIST_MOST], char **out_texts)
{
    const bool is_setting = strcmp(option, "set") == 0;
    size_t bytes = 1;
    char *at;

    *out_texts = NULL;
    for (uint32_t i = 0; i < list->count; i++)
        bytes += 2 * strlen(list->items[i]) + SETTING_WORD_LONGER + strlen(option) + sizeof("command line -- ") + 1;
    at = malloc(bytes);
    if (at == NULL)
        return report_error_text(json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for what the command line gives", NULL);
    *out_texts = at;
    for (uint32_t i = 0; i < list->count; i++) {
        const char *item = list->items[i];
        const char *equals = strchr(item, '=');

        if (equals == NULL || equals == item) {
            char text[256], remedy[64];

            snprintf(text, sizeof(text), "--%s requires NAME=VALUE, not '%s'", option, item);
            snprintf(remedy, sizeof(remedy), "accelctl profile %ss lists the names", is_setting ? "setting" : option);
            return report_error_text(json, EXIT_USAGE, "usage", text, remedy);
        }
        out_values[i].key = at;
        at += sprintf(at, "%.*s", (int)(equals - item), item) + 1;
        out_values[i].value = at;
        at += sprintf(at, "%s", is_setting ? setting_word(out_values[i].key, equals + 1) : equals + 1) + 1;
        out_values[i].origin = at;
        at += sprintf(at, "command line --%s %s", option, item) + 1;
    }
    return -1;
}

/* Reports that the platform does not drive the device, with the platforms that do: those of which a plan can be made.
 */
static int refuse_platform(struct accel_context *context, struct accel_plan_request *request, uint32_t json,
                           const struct accel_error *error, const struct view *view)
{
    const struct selection *s = &view->selection;
    char remedy[400], first[80] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < view->files.count && used < sizeof(remedy); i++) {
        const struct profile_info *info = &view->files.list[i];
        struct accel_plan *plan = NULL;

        request->platform = info->name;
        if (info->layer != ACCEL_LAYER_PLATFORM || accel_plan_create(context, request, &plan, NULL) != ACCEL_OK)
            continue;
        accel_plan_free(plan);
        if (first[0] == '\0')
            snprintf(first, sizeof(first), "%.79s", info->name);
        used += (size_t)snprintf(remedy + used, sizeof(remedy) - used, "%s%s", used == 0 ? "" : ", ", info->name);
    }
    if (used == 0 || used + strlen(first) + strlen(s->device->name) + 80 > sizeof(remedy))
        return report_session_error(json, error);
    snprintf(remedy + used, sizeof(remedy) - used, " %s %s: name it as %s+%s",
             used == strlen(first) ? "drives" : "drive", s->device->name, first, s->device->name);
    return report_error_text(json, EXIT_USAGE, "usage", error->text, remedy);
}

/* Plans with `facts` of the command line, followed by those that the names stand for. */
static int plan(struct accel_context *context, struct accel_named_value *settings, uint32_t setting_count,
                struct accel_named_value *facts, uint32_t fact_count, const struct profile_options *chosen,
                struct view *view)
{
    const char *here = device_here(chosen, &view->files);
    const uint32_t json = chosen->common.json;
    const struct selection *s = &view->selection;
    struct accel_plan_request request = {.size = sizeof(request), .overrides = settings, .model = facts};
    struct accel_error error = {0};
    const struct accel_named_value *described;
    uint32_t count = 0;

    if (s->client != NULL)
        settings[setting_count++] = (struct accel_named_value){"client", s->client->name, "command line"};
    if (s->model != NULL)
        facts[fact_count++] = (struct accel_named_value){"model.name", s->model->name, "command line"};
    described = view->description == NULL ? NULL : accel_model_description_facts(view->description, &count);
    for (uint32_t i = 0; i < count; i++)
        facts[fact_count++] = described[i];
    request.override_count = setting_count;
    request.model_count = fact_count;
    request.platform = s->platform == NULL ? NULL : s->platform->name;
    request.device = s->device == NULL ? here : s->device->name;
    if (accel_plan_create(context, &request, &view->plan, &error) == ACCEL_OK) {
        print_variable_notes(view->plan);
        return -1;
    }
    if (error.code == ACCEL_E_NOT_FOUND && s->platform != NULL && s->device != NULL)
        return refuse_platform(context, &request, json, &error, view);
    return report_session_error(json, &error);
}

static int make_plan(struct accel_context *context, const struct profile_options *chosen, struct view *view)
{
    struct accel_named_value settings[LIST_MOST + OWN];
    struct accel_named_value *facts;
    uint32_t json = chosen->common.json;
    uint32_t described = 0;
    int code = parse_named_values(&chosen->common.sets, "set", json, settings, &view->texts[0]);

    if (code >= 0)
        return code;
    if (view->description != NULL)
        accel_model_description_facts(view->description, &described);
    facts = calloc(LIST_MOST + OWN + (size_t)described, sizeof(*facts));
    if (facts == NULL)
        return report_error_text(json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for facts", NULL);
    code = parse_named_values(&chosen->facts, "fact", json, facts, &view->texts[1]);
    if (code < 0)
        code = check_facts(facts, chosen->facts.count, json);
    if (code < 0)
        code = plan(context, settings, chosen->common.sets.count, facts, chosen->facts.count, chosen, view);
    free(facts);
    return code;
}

int view_open(struct accel_context *context, const struct profile_options *chosen, int count, char **names,
              struct view *view)
{
    struct accel_error error = {0};
    int code;

    if (profile_files_read(&view->files, context, NULL, &error) != ACCEL_OK)
        return report_error(chosen->common.json, &error);
    code = select_names(context, chosen, count, names, view);
    if (code < 0)
        code = make_plan(context, chosen, view);
    for (uint32_t i = 0; code < 0 && i < view->files.count; i++) {
        const struct profile_info *info = &view->files.list[i];

        if (info->layer == ACCEL_LAYER_PLATFORM && strcmp(info->name, accel_plan_platform(view->plan)) == 0)
            view->selection.platform = info;
    }
    return code;
}

void view_close(struct view *view)
{
    accel_plan_free(view->plan);
    accel_model_description_free(view->description);
    profile_files_free(&view->files);
    free(view->texts[0]);
    free(view->texts[1]);
}

/* Formats bytes in the largest unit that divides them, as profiles state them; else rounded. */
static const char *size_text(uint64_t bytes, char *text, size_t size)
{
    static const struct unit {
        const char *name;
        uint64_t factor;
    } units[] = {{"GiB", UINT64_C(1) << 30},
                 {"GB", UINT64_C(1000000000)},
                 {"MiB", UINT64_C(1) << 20},
                 {"MB", UINT64_C(1000000)},
                 {"KiB", UINT64_C(1) << 10}};
    char rounded[32];

    for (uint32_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (bytes == 0 || bytes % units[i].factor != 0 || bytes / units[i].factor > 9999)
            continue;
        snprintf(text, size, "%" PRIu64 " %s", bytes / units[i].factor, units[i].name);
        return text;
    }
    snprintf(text, size, "%s", bytes_text(bytes, rounded));
    return text;
}

const char *view_value(const char *value, const char *unit, char *text, size_t size)
{
    bool is_number = value[0] >= '0' && value[0] <= '9';

    if (is_number && strcmp(unit, "bytes") == 0)
        return size_text(strtoull(value, NULL, 10), text, size);
    return end_cut_list(
        text, size,
        snprintf(text, size, "%s%s%s", value, is_number && unit[0] != '\0' ? " " : "", is_number ? unit : ""));
}

const char *view_fact(const struct accel_named_value *fact, char *text, size_t size)
{
    const struct accel_fact_row *row = find_fact(fact->key);

    return view_value(fact->value, row == NULL ? "" : row->unit, text, size);
}

/* ---- JSON ---- */

static const char *kind_name(uint32_t origin)
{
    static const char *const names[] = {"?", "measured", "estimated", "claimed", "profile", "file", "given", "builtin"};

    return origin < sizeof(names) / sizeof(*names) ? names[origin] : "?";
}

/* Adds the origin and the reason: its place, and file and line if that is FILE:LINE. */
static void add_place(json_t *object, const char *place, const char *reason)
{
    const char *colon = strrchr(place, ':');
    char *file;

    json_object_set_new(object, "place", json_text(place));
    json_object_set_new(object, "because", json_text(reason));
    if (colon == NULL || colon[1] == '\0' || colon[1 + strspn(colon + 1, "0123456789")] != '\0')
        return;
    file = strndup(place, (size_t)(colon - place));
    json_object_set_new(object, "file", file == NULL ? NULL : json_text(file));
    free(file);
    json_object_set_new(object, "line", json_integer(strtoll(colon + 1, NULL, 10)));
}

json_t *view_setting_json(const struct accel_plan *plan, const struct accel_plan_setting *setting)
{
    json_t *origin = json_pack("{s:s}", "kind", kind_name(setting->origin));
    json_t *overridden = json_array(), *object;
    struct rule rule;

    add_place(origin, setting->place, setting->reason);
    for (uint32_t i = 0; i < setting->overridden_count; i++) {
        const struct accel_plan_overridden *over = &setting->overridden[i];
        json_t *row = json_pack("{s:o, s:s}", "value", json_text(over->value), "unit", over->unit);

        add_place(row, over->place, over->reason);
        json_add(overridden, row);
    }
    json_object_set_new(origin, "losers", overridden);
    object = json_pack("{s:o, s:s, s:o}", "value", json_text(setting->value), "unit", setting->unit, "origin", origin);
    if (find_rule(plan, setting, &rule))
        json_object_set_new(object, "rule", json_string(rule.reason));
    return object;
}

json_t *view_later_json(const struct accel_plan_unhonored *row)
{
    json_t *object =
        json_pack("{s:o, s:s, s:s}", "value", json_text(row->value), "unit", row->unit, "later", row->reason);

    add_place(object, row->place, row->value_reason);
    return object;
}

static json_t *name_json(const struct profile_info *info)
{
    return info == NULL ? json_null() : json_text(info->name);
}

static json_t *model_json(const struct view *view)
{
    if (view->description != NULL)
        return json_text(accel_model_description_path(view->description));
    return name_json(view->selection.model);
}

json_t *view_json(const struct view *view)
{
    const struct accel_device_info *device = accel_plan_device(view->plan);
    json_t *settings = json_object();
    json_t *facts = json_object();
    json_t *later = json_object();

    for (uint32_t i = 0; i < accel_plan_setting_count(view->plan); i++) {
        const struct accel_plan_setting *setting = accel_plan_setting_get(view->plan, i);

        json_object_set_new(settings, setting->key, view_setting_json(view->plan, setting));
    }
    for (uint32_t i = 0; i < accel_plan_fact_count(view->plan); i++) {
        const struct accel_named_value *fact = accel_plan_fact_get(view->plan, i);

        json_object_set_new(
            facts, fact->key,
            json_pack("{s:o, s:o}", "value", json_text(fact->value), "origin", json_text(fact->origin)));
    }
    for (uint32_t i = 0; i < accel_plan_unhonored_count(view->plan); i++) {
        const struct accel_plan_unhonored *row = accel_plan_unhonored_get(view->plan, i);

        if (row->outcome == ACCEL_UNHONORED_LATER)
            json_object_set_new(later, row->key, view_later_json(row));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "platform", accel_plan_platform(view->plan), "device",
                     device == NULL ? json_null() : json_string(device->name), "device_profile",
                     name_json(view->selection.device), "client", name_json(view->selection.client), "model",
                     model_json(view), "facts", facts, "settings", settings, "later", later);
}
