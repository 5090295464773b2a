/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl profile settings, facts and schema: print the tables of the library. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/accelctl/driver_options.h"
#include "tools/accelctl/profile/profile.h"
#include "tools/accelctl/profile/schema.h"
#include "tools/accelctl/setting_names.h"
#include "tools/accelctl/setting_words.h"
#include "tools/accelctl/words.h"

/* Returns whether no names are given, or `name` is one of them or lies below one: kv.type.k below kv and kv.type. */
static bool is_wanted(const char *name, int count, char **arguments)
{
    for (int i = 0; i < count; i++) {
        size_t length = strlen(arguments[i]);

        if (strncmp(name, arguments[i], length) == 0 && (name[length] == '\0' || name[length] == '.'))
            return true;
    }
    return count == 0;
}

/* Rows to print: of the table of facts, or of the table of settings and then the options of the drivers of `context`,
 * which may be NULL. */
struct rows {
    uint32_t facts;
    const struct accel_context *context;
};

/* Names a row; NULL past the last one. The name of an option lives in `option`. */
static const char *row_name(const struct rows *rows, uint32_t index, struct driver_option *option)
{
    uint32_t count = rows->facts ? accel_fact_row_count() : accel_setting_row_count();

    if (index < count)
        return rows->facts ? accel_fact_row_get(index)->name : accel_setting_row_get(index)->name;
    return rows->context != NULL && get_driver_option(rows->context, index - count, option) ? option->key : NULL;
}

/* Refuses a name that no row has; another name of a setting becomes that of the setting, which lives in `named`.
 * Answers -1, or an exit code. */
static int check_name(const struct rows *rows, uint32_t json, char **argument, char named[SETTING_NAME_BYTES])
{
    const char *name, *option = rows->facts ? NULL : run_option_of_name(*argument);
    uint32_t least = unrelated_distance(*argument);
    struct driver_option of_driver;
    char text[300], near[sizeof(of_driver.key)] = "", remedy[100];

    for (uint32_t i = 0; (name = row_name(rows, i, &of_driver)) != NULL; i++) {
        if (is_wanted(name, 1, argument))
            return -1;
        if (is_nearer(*argument, name, &least))
            snprintf(near, sizeof(near), "%s", name);
    }
    if (!rows->facts && setting_of_name(*argument, named) != NULL) {
        *argument = named;
        return -1;
    }
    snprintf(remedy, sizeof(remedy), "accelctl profile %s lists all", rows->facts ? "facts" : "settings");
    if (option != NULL) {
        snprintf(text, sizeof(text), "\"%.60s\" is no setting, but an option of run and chat", *argument);
        snprintf(remedy, sizeof(remedy), "accelctl run --help explains --%s", option);
    } else {
        snprintf(text, sizeof(text), "there is no %s \"%.60s\"%s%s%s", rows->facts ? "fact" : "setting", *argument,
                 near[0] == '\0' ? "" : "; did you mean \"", near, near[0] == '\0' ? "" : "\"?");
    }
    return report_error_text(json, EXIT_USAGE, "usage", text, remedy);
}

static uint32_t name_width(const struct rows *rows, int count, char **arguments)
{
    struct driver_option option;
    uint32_t width = 8;
    const char *name;

    for (uint32_t i = 0; (name = row_name(rows, i, &option)) != NULL; i++) {
        uint32_t length = (uint32_t)strlen(name);

        if (is_wanted(name, count, arguments) && length > width)
            width = length;
    }
    return width;
}

static void print_setting(const struct accel_setting_row *row, uint32_t width)
{
    char values[400], preset[64], honored[120], text[800];

    print("%s%-*s%s  ", paint(PAINT_HEADING), (int)width, row->name, paint(PAINT_PLAIN));
    print_wrapped(width + 2, width + 2, row->help);
    snprintf(text, sizeof(text), "%s; built in %s; %s", setting_values(row, values, sizeof(values)),
             setting_preset(row, preset, sizeof(preset)), setting_honored_words(row, honored, sizeof(honored)));
    print_wrapped((uint32_t)print("%*s", (int)width + 2, ""), width + 2, text);
}

static void print_fact(const struct accel_fact_row *row, uint32_t width)
{
    char text[400];

    snprintf(text, sizeof(text), "%s%s%s%s", row->help, row->unit[0] == '\0' ? "" : " (", row->unit,
             row->unit[0] == '\0' ? "" : ")");
    print("%s%-*s%s  ", paint(PAINT_HEADING), (int)width, row->name, paint(PAINT_PLAIN));
    print_wrapped(width + 2, width + 2, text);
}

static json_t *fact_json(const struct accel_fact_row *row)
{
    return json_pack("{s:s, s:s, s:s}", "name", row->name, "unit", row->unit, "help", row->help);
}

/* Prints the rows that `arguments` select, or adds them to the lists of a document. */
static void print_rows(const struct rows *rows, const struct profile_options *chosen, int count, char **arguments,
                       json_t *list, json_t *options)
{
    uint32_t width = name_width(rows, count, arguments);
    struct driver_option option;
    const char *name;

    for (uint32_t i = 0; (name = row_name(rows, i, &option)) != NULL; i++) {
        const struct accel_setting_row *setting = rows->facts ? NULL : accel_setting_row_get(i);

        if (!is_wanted(name, count, arguments))
            continue;
        if (chosen->common.json && rows->facts)
            json_array_append_new(list, fact_json(accel_fact_row_get(i)));
        else if (chosen->common.json)
            json_array_append_new(setting != NULL ? list : options,
                                  setting != NULL ? setting_json(setting) : driver_option_json(&option));
        else if (chosen->names)
            print("%s\n", name);
        else if (rows->facts)
            print_fact(accel_fact_row_get(i), width);
        else if (setting != NULL)
            print_setting(setting, width);
        else
            print_driver_option(&option, 0, width);
    }
}

static int print_table(const struct rows *rows, const struct profile_options *chosen, int count, char **arguments)
{
    char named[100][SETTING_NAME_BYTES];
    json_t *list, *options;
    int code = -1;

    for (int i = 0; i < count && code < 0; i++)
        code = check_name(rows, chosen->common.json, &arguments[i], named[i]);
    if (code >= 0)
        return code;
    list = json_array();
    options = json_array();
    print_rows(rows, chosen, count, arguments, list, options);
    code = EXIT_DONE;
    if (chosen->common.json && rows->facts)
        code = print_json(json_pack("{s:O}", "facts", list), "accelctl/profile-facts/1");
    else if (chosen->common.json)
        code = print_json(json_pack("{s:{s:s, s:s}, s:O, s:O}", "origin", "settings", "builtin", "options",
                                    "claimed: the driver", "settings", list, "options", options),
                          "accelctl/profile-settings/1");
    json_decref(list);
    json_decref(options);
    return code;
}

/* Returns whether the arguments name settings of the table alone, so that no driver has to be loaded. */
static bool are_settings(int count, char **arguments)
{
    for (int i = 0; i < count; i++)
        if (find_setting(arguments[i]) == NULL)
            return false;
    return count > 0;
}

int profile_settings(const struct profile_options *chosen, int count, char **arguments)
{
    struct accel_context *context = NULL;
    struct rows rows = {0};
    int code = -1;

    if (!are_settings(count, arguments)) {
        context = open_context(&chosen->common, &code);
        if (context == NULL)
            return code;
    }
    rows.context = context;
    if (context != NULL)
        warn_variables(context);
    code = print_table(&rows, chosen, count, arguments);
    if (context != NULL)
        close_context(context);
    return code;
}

int profile_facts(const struct profile_options *chosen, int count, char **arguments)
{
    static const struct rows rows = {.facts = 1};

    return print_table(&rows, chosen, count, arguments);
}

int profile_schema_print(const struct profile_options *chosen, int count, char **arguments)
{
    struct profile_files files;
    json_t *schema;
    int code;

    (void)count;
    (void)arguments;
    code = open_profiles(&chosen->common, &files);
    if (code >= 0)
        return code;
    /* The document is itself a schema, so it has no member with the name of one of ours. */
    schema = profile_schema(&files);
    code = json_dumpf(schema, output(), JSON_INDENT(2)) == 0 && print_char('\n') != EOF ? EXIT_DONE : EXIT_FAILED;
    json_decref(schema);
    profile_files_free(&files);
    return code;
}
