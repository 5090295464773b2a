/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/explain.h"

#include <stdio.h>
#include <string.h>

#include <accel/profile.h>

#include "tools/accelctl/print/plan.h"
#include "tools/accelctl/words.h"

/* Column of the origins of overridden values, with the reasons below them. */
enum { OVERRIDDEN = HEAD + 11 };

static int refuse_key(const struct accel_plan *plan, const char *key, uint32_t json)
{
    const char *nearest = NULL, *group;
    uint32_t least = unrelated_distance(key);
    char text[200];

    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++) {
        const char *name = accel_plan_setting_get(plan, i)->key;

        if (is_nearer(key, name, &least))
            nearest = name;
    }
    for (uint32_t i = 0; (group = setting_group(i)) != NULL; i++)
        if (is_nearer(key, group, &least))
            nearest = group;
    snprintf(text, sizeof(text), "--explain: there is no setting '%.60s'%s%s%s", key,
             nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
    return report_error_text(json, EXIT_USAGE, "usage", text, "accelctl plan --all MODEL lists the settings");
}

/* Returns the object of a setting in the document of a plan, with the key in it. */
static json_t *setting_object(const json_t *document, const char *key)
{
    json_t *setting = json_incref(json_object_get(json_object_get(document, "settings"), key));

    json_object_set_new(setting, "key", json_string(key));
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

/* Prints the row of the table of settings: its purpose, its values and its environment variable. */
static void print_row(const char *key)
{
    char variable[128];

    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        const struct accel_setting_row *row = accel_setting_row_get(i);

        if (strcmp(row->name, key) != 0)
            continue;
        print_wrapped((uint32_t)print("  is       "), HEAD, row->help);
        if (row->type == ACCEL_SETTING_CHOICE)
            print_wrapped((uint32_t)print("  values   "), HEAD, row->words);
        if (accel_setting_variable(key, variable, sizeof(variable)) == ACCEL_OK)
            print("  variable %s\n", variable);
    }
}

static void explain_one(const struct accel_plan_setting *s)
{
    char value[64], place[1200], reason[4400];

    print("%s = %s\n", s->key, value_text(s->value, s->unit, value));
    print_row(s->key);
    print("  from     %s\n", real_place(s->place, place, sizeof(place)));
    if (s->reason[0] != '\0')
        print_wrapped((uint32_t)print("  because  "), HEAD, short_places(s->reason, reason, sizeof(reason)));
    for (uint32_t i = 0; i < s->overridden_count; i++) {
        const struct accel_plan_overridden *row = &s->overridden[i];

        print("  over     %-10s %s\n", value_text(row->value, row->unit, value),
              real_place(row->place, place, sizeof(place)));
        if (row->reason[0] != '\0')
            print_wrapped((uint32_t)print("%*s", OVERRIDDEN, ""), OVERRIDDEN,
                          short_places(row->reason, reason, sizeof(reason)));
    }
}

int explain_setting(const struct opened *opened, const char *key, uint32_t json)
{
    const struct accel_plan *plan = accel_model_plan_plan(opened->made);
    const struct accel_plan_setting *s = accel_plan_setting_find(plan, key);
    const char *const *members = setting_members(key);

    if (s == NULL && members == NULL)
        return refuse_key(plan, key, json);
    if (json)
        return explain_json(opened, key, members);
    if (members == NULL) {
        explain_one(s);
        for (uint32_t i = 0; (s = next_refining(plan, key, &i)) != NULL;)
            explain_one(s);
        return EXIT_DONE;
    }
    print("%s sets %s and %s\n", key, members[0], members[1]);
    for (uint32_t i = 0; i < 2; i++)
        explain_one(accel_plan_setting_find(plan, members[i]));
    return EXIT_DONE;
}
