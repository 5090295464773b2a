/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl profile settings, facts and schema: print the tables of the library. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/accelctl/profile/profile.h"
#include "tools/accelctl/profile/schema.h"
#include "tools/accelctl/profile/setting_words.h"
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

/* Names a row of one of the two tables. */
static const char *row_name(uint32_t facts, uint32_t index)
{
    return facts ? accel_fact_row_get(index)->name : accel_setting_row_get(index)->name;
}

static uint32_t row_count(uint32_t facts)
{
    return facts ? accel_fact_row_count() : accel_setting_row_count();
}

/* Refuses a name that no row has. Answers -1, or an exit code. */
static int check_names(uint32_t facts, uint32_t json, int count, char **arguments)
{
    for (int a = 0; a < count; a++) {
        const char *nearest = NULL;
        uint32_t least = unrelated_distance(arguments[a]);
        uint32_t found = 0;
        char text[200];

        for (uint32_t i = 0; i < row_count(facts) && !found; i++) {
            found = is_wanted(row_name(facts, i), 1, arguments + a);
            if (is_nearer(arguments[a], row_name(facts, i), &least))
                nearest = row_name(facts, i);
        }
        if (found)
            continue;
        snprintf(text, sizeof(text), "there is no %s \"%.60s\"%s%s%s", facts ? "fact" : "setting", arguments[a],
                 nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                 nearest == NULL ? "" : "\"?");
        return report_error_text(json, EXIT_USAGE, "usage", text,
                                 facts ? "accelctl profile facts lists all" : "accelctl profile settings lists all");
    }
    return -1;
}

static uint32_t name_width(uint32_t facts, int count, char **arguments)
{
    uint32_t width = 8;

    for (uint32_t i = 0; i < row_count(facts); i++) {
        uint32_t length = (uint32_t)strlen(row_name(facts, i));

        if (is_wanted(row_name(facts, i), count, arguments) && length > width)
            width = length;
    }
    return width;
}

static void print_setting(const struct accel_setting_row *row, uint32_t width)
{
    char values[400], preset[64], honored[120], text[800];

    print("%s%-*s%s  ", paint(PAINT_HEADING), (int)width, row->name, paint(PAINT_PLAIN));
    print_wrapped(width + 2, width + 2, row->help);
    snprintf(text, sizeof(text), "%s; default %s%s%s", setting_values(row, values, sizeof(values)),
             setting_preset(row, preset, sizeof(preset)), row->honored == ACCEL_HONORED_RUN ? "" : "; ",
             row->honored == ACCEL_HONORED_RUN ? "" : setting_honored_words(row, honored, sizeof(honored)));
    print_wrapped((uint32_t)print("%*s", (int)width + 2, ""), width + 2, text);
}

static json_t *setting_json(const struct accel_setting_row *row)
{
    char values[400], preset[64], variable[96];
    json_t *words = json_array();

    for (const char *at = row->words; *at != '\0';) {
        size_t length = strcspn(at, " ");

        json_array_append_new(words, json_stringn(at, length));
        at += length + (at[length] == ' ');
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:I, s:I, s:s, s:s, s:s}", "name", row->name, "variable",
                     setting_variable(row, variable, sizeof(variable)), "type", setting_type(row), "unit", row->unit,
                     "values", setting_values(row, values, sizeof(values)), "words", words, "default",
                     setting_preset(row, preset, sizeof(preset)), "lowest", (json_int_t)row->lowest, "highest",
                     (json_int_t)row->highest, "carried", setting_honored(row), "by", row->by, "help", row->help);
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

static int print_table(const struct profile_options *chosen, uint32_t facts, int count, char **arguments)
{
    uint32_t width = name_width(facts, count, arguments);
    json_t *list = json_array();
    int code = check_names(facts, chosen->common.json, count, arguments);

    for (uint32_t i = 0; code < 0 && i < row_count(facts); i++) {
        if (!is_wanted(row_name(facts, i), count, arguments))
            continue;
        if (chosen->common.json)
            json_array_append_new(list,
                                  facts ? fact_json(accel_fact_row_get(i)) : setting_json(accel_setting_row_get(i)));
        else if (chosen->names)
            print("%s\n", row_name(facts, i));
        else if (facts)
            print_fact(accel_fact_row_get(i), width);
        else
            print_setting(accel_setting_row_get(i), width);
    }
    if (code < 0)
        code = !chosen->common.json ? EXIT_DONE
                                    : print_json(json_pack("{s:O}", facts ? "facts" : "settings", list),
                                                 facts ? "accelctl/profile-facts/1" : "accelctl/profile-settings/1");
    json_decref(list);
    return code;
}

int profile_settings(const struct profile_options *chosen, int count, char **arguments)
{
    return print_table(chosen, 0, count, arguments);
}

int profile_facts(const struct profile_options *chosen, int count, char **arguments)
{
    return print_table(chosen, 1, count, arguments);
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
