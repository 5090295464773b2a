/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/explain.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <accel/profile.h>

#include "tools/accelctl/driver_options.h"
#include "tools/accelctl/print/plan.h"
#include "tools/accelctl/setting_names.h"
#include "tools/accelctl/setting_words.h"
#include "tools/accelctl/words.h"

/* Column of the origins of overridden values, with the reasons below them. */
enum { OVERRIDDEN = HEAD + 11 };

/* Returns whether settings lie below a name, as kv.window lies below kv. */
static bool begins_settings(const char *name)
{
    size_t length = strlen(name);

    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        if (strncmp(accel_setting_row_get(i)->name, name, length) == 0 && accel_setting_row_get(i)->name[length] == '.')
            return true;
    return false;
}

static int refuse_key(const struct opened *opened, const char *key, uint32_t json)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const char *nearest = NULL, *group, *option = run_option_of_name(key);
    uint32_t least = unrelated_distance(key);
    struct driver_option of_driver;
    char text[200], near[sizeof(of_driver.key)];

    if (option != NULL) {
        snprintf(text, sizeof(text), "--explain: %.60s is no setting, but an option of run and chat", key);
        snprintf(near, sizeof(near), "accelctl run --help explains --%s", option);
        return report_error_text(json, EXIT_USAGE, "usage", text, near);
    }
    if (begins_settings(key)) {
        snprintf(text, sizeof(text), "--explain: %.60s is the beginning of several settings", key);
        snprintf(near, sizeof(near), "name one: accelctl profile settings %s lists them", key);
        return report_error_text(json, EXIT_USAGE, "usage", text, near);
    }
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++) {
        const char *name = accel_plan_setting_get(plan, i)->key;

        if (is_nearer(key, name, &least))
            nearest = name;
    }
    for (uint32_t i = 0; (group = setting_group(i)) != NULL; i++)
        if (is_nearer(key, group, &least))
            nearest = group;
    for (uint32_t i = 0; get_driver_option(opened->context, i, &of_driver); i++)
        if (is_nearer(key, of_driver.key, &least))
            nearest = strcpy(near, of_driver.key);
    snprintf(text, sizeof(text), "--explain: there is no setting '%.60s'%s%s%s", key,
             nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
    return report_error_text(json, EXIT_USAGE, "usage", text,
                             "accelctl profile settings lists the settings, those of drivers too");
}

/* Returns the object of a setting in the document of a plan, with the key in it. */
static json_t *setting_object(const json_t *document, const char *key)
{
    json_t *setting = json_incref(json_object_get(json_object_get(document, "settings"), key));
    json_t *rows = json_array(), *row;
    size_t i;

    json_object_set_new(setting, "key", json_string(key));
    json_object_set_new(setting, "not_honored", rows);
    json_array_foreach(json_object_get(document, "not_honored"), i, row)
    {
        if (strcmp(json_member_text(row, "key"), key) == 0)
            json_array_append(rows, row);
    }
    return setting;
}

/* Returns the next setting of the plan from *index on that refines `key`: its name continues with '_'; or NULL. */
static const struct accel_plan_setting *next_refining(const struct accel_plan *plan, const char *key, uint32_t *index)
{
    const size_t length = strlen(key);

    while (*index < accel_plan_setting_count(plan)) {
        const struct accel_plan_setting *s = accel_plan_setting_get(plan, (*index)++);

        if (strncmp(s->key, key, length) == 0 && s->key[length] == '_')
            return s;
    }
    return NULL;
}

/* Adds the objects of settings that refine the one of `answer`. */
static void add_refining(const struct accel_plan *plan, const json_t *document, const char *key, json_t *answer)
{
    const struct accel_plan_setting *s;
    json_t *list = json_array();

    for (uint32_t i = 0; (s = next_refining(plan, key, &i)) != NULL;)
        json_array_append_new(list, setting_object(document, s->key));
    json_object_set_new(answer, "refined_by", list);
}

/* Prints a setting, or the members of a name for several settings. */
static int explain_json(const struct opened *opened, const char *key, const char *const *members)
{
    struct accel_error error = {0};
    json_t *document = plan_json(opened, &error), *answer;

    if (document == NULL)
        return report_error(1, &error);
    if (members != NULL)
        answer = json_pack("{s:s, s:[o, o]}", "key", key, "members", setting_object(document, members[0]),
                           setting_object(document, members[1]));
    else
        answer = setting_object(document, key);
    if (members == NULL)
        add_refining(accel_model_plan_plan(opened->made), document, key, answer);
    json_decref(document);
    return print_json(answer, "accelctl/explain/1");
}

static void print_meaning(const struct accel_setting_row *row, const char *values)
{
    char variable[256];

    print_wrapped((uint32_t)print("  is       "), HEAD, row->help);
    print_wrapped((uint32_t)print("  values   "), HEAD, row->type == ACCEL_SETTING_CHOICE ? row->words : values);
    if (accel_setting_variable(row->name, variable, sizeof(variable)) == ACCEL_OK)
        print("  variable %s\n", variable);
}

/* Prints the device that an option of a driver is for: its facts state what the driver chose. */
static void print_effect(const struct accel_plan *plan, const struct driver_option *option)
{
    const struct accel_device_info *device = accel_plan_device(plan);

    if (device == NULL || strcmp(device->driver, option->plugin->name) != 0)
        print("  device   none of the driver %s: the option changes nothing here\n", option->plugin->name);
    else
        print_wrapped((uint32_t)print("  device   %s: ", device->name), HEAD, device->facts->detail);
}

/* Prints purpose, values and variable of a setting or an option of a driver. */
static void print_row(const struct opened *opened, const char *key)
{
    const struct accel_setting_row *row = find_setting(key);
    struct driver_option option;
    char values[400];

    if (row != NULL) {
        print_meaning(row, setting_values(row, values, sizeof(values)));
    } else if (find_driver_option(opened->context, key, &option)) {
        print_meaning(&option.row, driver_option_values(&option, values, sizeof(values)));
        print_effect(accel_model_plan_plan(opened->made), &option);
    }
}

/* Prints why a run does not follow the value of a setting, if it does not, as the plan states it. */
static void print_outcome(const struct accel_plan *plan, const char *key)
{
    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++) {
        const struct accel_plan_unhonored *row = accel_plan_unhonored_get(plan, i);
        char value[64], reason[600], line[700];

        if (strcmp(row->key, key) != 0)
            continue;
        snprintf(line, sizeof(line), "%s=%s, %s", key, value_text(row->value, row->unit, value, sizeof(value)),
                 short_places(row->reason, reason, sizeof(reason)));
        print_wrapped((uint32_t)print("  %s: ", row->outcome == ACCEL_UNHONORED_REFUSED ? "refused by a run"
                                                : row->outcome == ACCEL_UNHONORED_LATER ? "later"
                                                                                        : "not honored"),
                      HEAD, line);
    }
}

static void explain_one(const struct opened *opened, const struct accel_plan_setting *s)
{
    struct driver_option option;
    char value[1200], place[1200], reason[4400];

    print("%s = %s\n", s->key, value_text(s->value, s->unit, value, sizeof(value)));
    print_row(opened, s->key);
    print("  from     %s\n", real_place(s->place, place, sizeof(place)));
    if (s->reason[0] != '\0')
        print_wrapped((uint32_t)print("  because  "), HEAD, short_places(s->reason, reason, sizeof(reason)));
    for (uint32_t i = 0; i < s->overridden_count; i++) {
        const struct accel_plan_overridden *row = &s->overridden[i];

        print("  over     %-10s %s\n", value_text(row->value, row->unit, value, sizeof(value)),
              real_place(row->place, place, sizeof(place)));
        if (row->reason[0] != '\0')
            print_wrapped((uint32_t)print("%*s", OVERRIDDEN, ""), OVERRIDDEN,
                          short_places(row->reason, reason, sizeof(reason)));
    }
    if (find_driver_option(opened->context, s->key, &option))
        print("  over     %-10s built in the driver %s\n", option.row.preset, option.plugin->name);
    print_outcome(accel_model_plan_plan(opened->made), s->key);
}

/* Returns the setting for any driver that gives the option its value, as kernels.simd does for cpu.simd, or NULL. */
static const struct accel_plan_setting *find_general(const struct accel_plan *plan, const struct driver_option *option)
{
    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        const struct accel_setting_row *row = accel_setting_row_get(i);
        const char *dot = strchr(row->name, '.');
        const struct accel_plan_setting *setting;

        if (row->honored != ACCEL_HONORED_DRIVER || dot == NULL ||
            (strcmp(row->name, option->option->name) != 0 && strcmp(dot + 1, option->option->name) != 0))
            continue;
        setting = accel_plan_setting_find(plan, row->name);
        if (setting != NULL && setting->origin != ACCEL_ORIGIN_BUILTIN)
            return setting;
    }
    return NULL;
}

/* Explains an option that no layer sets. */
static int explain_option(const struct opened *opened, const struct driver_option *option, uint32_t json)
{
    const struct accel_plan_setting *general = find_general(accel_model_plan_plan(opened->made), option);
    const char *value = general == NULL ? option->row.preset : general->value;
    char origin[200], place[1200];

    if (general == NULL)
        snprintf(origin, sizeof(origin), "built in the driver %s", option->plugin->name);
    else
        snprintf(origin, sizeof(origin), "%s=%s, %s", general->key, general->value,
                 real_place(general->place, place, sizeof(place)));
    if (json)
        return print_json(json_pack("{s:s, s:s, s:s, s:{s:s, s:s, s:s, s:[]}}", "key", option->key, "value", value,
                                    "unit", "", "origin", "kind", "driver", "place", origin, "because", "", "losers"),
                          "accelctl/explain/1");
    print("%s = %s\n", option->key, value);
    print_row(opened, option->key);
    print_wrapped((uint32_t)print("  from     "), HEAD, origin);
    return EXIT_DONE;
}

int explain_setting(const struct opened *opened, const char *key, uint32_t json)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_plan_setting *s = accel_plan_setting_find(plan, key);
    const char *const *members = setting_members(key);
    char named[SETTING_NAME_BYTES];
    struct driver_option option;

    if (s == NULL && members == NULL) {
        char own[sizeof(option.key)];
        const char *meant;

        snprintf(own, sizeof(own), "%s.%s", accel_plan_platform(plan), key);
        if (find_driver_option(opened->context, key, &option))
            return explain_option(opened, &option, json);
        if (find_driver_option(opened->context, own, &option))
            return explain_setting(opened, own, json);
        meant = begins_settings(key) ? NULL : setting_of_name(key, named);
        if (meant == NULL)
            return refuse_key(opened, key, json);
        if (!json)
            print("%s sets %s\n", key, meant);
        return explain_setting(opened, meant, json);
    }
    if (json)
        return explain_json(opened, key, members);
    if (members == NULL) {
        explain_one(opened, s);
        for (uint32_t i = 0; (s = next_refining(plan, key, &i)) != NULL;)
            explain_one(opened, s);
        return EXIT_DONE;
    }
    print("%s sets %s and %s\n", key, members[0], members[1]);
    for (uint32_t i = 0; i < 2; i++)
        explain_one(opened, accel_plan_setting_find(plan, members[i]));
    return EXIT_DONE;
}
