/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/profile/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/profile.h>

/* The schema accepts numbers and booleans both with and without quotes: people write 128 and true, which editors
 * read as a number and a boolean; the library reads all of them as text. */

#define REASON "why, with the document and the line where there is one"

static json_t *reference(const char *definition)
{
    char text[192];

    snprintf(text, sizeof(text), "#/$defs/%s", definition);
    return json_pack("{s:s}", "$ref", text);
}

static json_t *pattern(const char *text)
{
    return json_pack("{s:s, s:s}", "type", "string", "pattern", text);
}

/* Appends each of the words, and its number beside it if it is one. */
static void append_words(json_t *list, const char *words)
{
    while (*words != '\0') {
        size_t length = strcspn(words, " ");

        if (strspn(words, "0123456789") == length)
            json_array_append_new(list, json_integer(atoll(words)));
        json_array_append_new(list, json_stringn(words, length));
        words += length + (words[length] == ' ');
    }
}

static json_t *one_of_words(const char *words)
{
    json_t *list = json_array();

    append_words(list, words);
    return json_pack("{s:o}", "enum", list);
}

/* Makes the schema of a number with the unit "bytes", "ms" or "tok" or, if the unit is empty, without. */
static json_t *number_schema(const char *unit, json_int_t lowest, json_int_t highest)
{
    if (strcmp(unit, "bytes") == 0)
        return pattern("^[0-9]+ ?([KMGT]iB|[MG]B|B)$");
    if (strcmp(unit, "ms") == 0)
        return pattern("^[0-9]+ ?(ms|s|min)$");
    if (strcmp(unit, "tok") == 0)
        return pattern("^[0-9]+ ?(tok|[KkM])$");
    return json_pack("{s:[{s:s, s:I, s:I}, o]}", "anyOf", "type", "integer", "minimum", lowest, "maximum", highest,
                     pattern("^[0-9]+$"));
}

static json_t *value_schema(const struct accel_setting_row *row)
{
    json_t *ways = json_array();

    if (row->type == ACCEL_SETTING_FLAG)
        json_array_append_new(ways, json_pack("{s:[b, b, s, s]}", "enum", 1, 0, "true", "false"));
    else if (row->words[0] != '\0')
        json_array_append_new(ways, one_of_words(row->words));
    if (row->type == ACCEL_SETTING_TEXT)
        json_array_append_new(ways, json_pack("{s:[s, s, s]}", "type", "string", "integer", "boolean"));
    else if (row->type == ACCEL_SETTING_EXTENT)
        json_array_append_new(ways, pattern("^[0-9]+(x[0-9]+){0,2}$"));
    else if (strcmp(row->unit, "tok") == 0)
        json_array_append_new(ways, json_pack("{s:[{s:s, s:I, s:I}, o]}", "anyOf", "type", "integer", "minimum",
                                              (json_int_t)row->lowest, "maximum", (json_int_t)row->highest,
                                              pattern("^[0-9]+ ?(tok|[KkM])?$")));
    else if (row->type == ACCEL_SETTING_SIZE || row->type == ACCEL_SETTING_INTEGER)
        json_array_append_new(ways, number_schema(row->unit, row->lowest, row->highest));
    else if (row->type == ACCEL_SETTING_DURATION)
        json_array_append_new(ways, number_schema("ms", 0, 0));
    return json_pack("{s:s, s:o}", "description", row->help, "anyOf", ways);
}

/* Builds the pattern of drivers' options: the name of a platform, a dot, a name. NULL without memory. */
static char *option_pattern(const struct profile_files *files)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    uint32_t count = 0;

    if (out == NULL)
        return NULL;
    fputs("^(", out);
    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];

        if (info->layer == ACCEL_LAYER_PLATFORM)
            fprintf(out, "%s%s", count++ == 0 ? "" : "|", info->name);
    }
    fputs(")\\.[a-z0-9_.]+$", out);
    fclose(out);
    return text;
}

/* Makes the mapping of the settings that are honored, or of the others, each to its value or, if `with_reason`, to
 * {value, because} as well. */
static json_t *settings_schema(uint32_t with_reason, uint32_t later, const char *options)
{
    json_t *properties = json_object();
    json_t *text = json_pack("{s:[s, s, s]}", "type", "string", "integer", "boolean");
    json_t *schema;

    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        const struct accel_setting_row *row = accel_setting_row_get(i);
        char name[128];
        json_t *value;

        if ((row->honored == ACCEL_HONORED_LATER) != later)
            continue;
        snprintf(name, sizeof(name), "value/properties/%s", row->name);
        value = with_reason ? reference(name) : value_schema(row);
        if (with_reason)
            value = json_pack("{s:s, s:[O, {s:s, s:[s, s], s:b, s:{s:o, s:o}}]}", "description", row->help, "anyOf",
                              value, "type", "object", "required", "value", "because", "additionalProperties", 0,
                              "properties", "value", value, "because", reference("because"));
        json_object_set_new(properties, row->name, value);
        /* Adds the name that sets both caches. */
        if (strcmp(row->name, "kv.type.k") == 0)
            json_object_set(properties, "kv.type", value);
    }
    schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
    if (options != NULL)
        json_object_set_new(schema, "patternProperties",
                            with_reason ? json_pack("{s:{s:[o, {s:s, s:[s, s], s:{s:{}, s:o}}]}}", options, "anyOf",
                                                    text, "type", "object", "required", "value", "because",
                                                    "properties", "value", "because", reference("because"))
                                        : json_pack("{s:o}", options, text));
    else
        json_decref(text);
    return schema;
}

/* Makes the schema of "FACT OPERATOR VALUE" with a fact of the table. */
static json_t *condition_schema(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    json_t *schema;

    if (out == NULL)
        return json_object();
    fputs("^(", out);
    for (uint32_t i = 0; i < accel_fact_row_count(); i++) {
        const char *name = accel_fact_row_get(i)->name;

        fputs(i == 0 ? "" : "|", out);
        for (; *name != '\0'; name++)
            fprintf(out, *name == '.' ? "\\." : "%c", *name);
    }
    fputs(") ((==|!=|<=?|>=?|contains) .+|(not )?in \\[.+\\])$", out);
    fclose(out);
    schema = json_pack("{s:s, s:s, s:s}", "type", "string", "description", "FACT OPERATOR VALUE: device.memory < 8GiB",
                       "pattern", text);
    free(text);
    return schema;
}

static json_t *one_or_list(const char *definition)
{
    return json_pack("{s:[o, {s:s, s:o}]}", "anyOf", reference(definition), "type", "array", "items",
                     reference(definition));
}

static json_t *facts_schema(void)
{
    json_t *properties = json_object();

    for (uint32_t i = 0; i < accel_fact_row_count(); i++) {
        const struct accel_fact_row *row = accel_fact_row_get(i);
        json_t *value = row->unit[0] == '\0' ? json_pack("{s:[s, s, s]}", "type", "string", "integer", "boolean")
                                             : number_schema(row->unit, 0, 0);

        json_object_set_new(properties, row->name,
                            json_pack("{s:s, s:[O, {s:s, s:[s, s], s:b, s:{s:o, s:o}}]}", "description", row->help,
                                      "anyOf", value, "type", "object", "required", "value", "because",
                                      "additionalProperties", 0, "properties", "value", value, "because",
                                      reference("because")));
    }
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
}

/* Makes the schema of the name of a setting or of a driver's option. */
static json_t *name_schema(const char *options)
{
    json_t *names = json_array();

    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        json_array_append_new(names, json_string(accel_setting_row_get(i)->name));
    return json_pack("{s:[{s:o}, o]}", "anyOf", "enum", names, options == NULL ? json_false() : pattern(options));
}

static json_t *rule_schema(const char *settings)
{
    return json_pack("{s:s, s:[s, s], s:b, s:{s:o, s:o, s:o}}", "type", "object", "required", "set", "because",
                     "additionalProperties", 0, "properties", "when", one_or_list("condition"), "set",
                     reference(settings), "because", reference("because"));
}

static json_t *text_schema(const char *description)
{
    return json_pack("{s:s, s:s}", "type", "string", "description", description);
}

static json_t *profile_definition(void)
{
    json_t *properties = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:{s:s, s:o}, s:{s:s, s:o}, s:o}", "accel-profile",
        json_pack("{s:[i, s], s:s}", "enum", 1, "1", "description", "version of the language"), "about",
        text_schema("what it is for, for people"), "inherits", one_or_list("name"), "match", one_or_list("condition"),
        "facts", reference("facts"), "defaults", reference("default"), "rules", "type", "array", "items",
        reference("rule"), "later", "type", "array", "items", reference("later"), "lock", reference("lock"));

    return json_pack("{s:s, s:[s], s:b, s:o}", "type", "object", "required", "accel-profile", "additionalProperties", 0,
                     "properties", properties);
}

/* Makes the schema of the documents' variables: one setting by its name, with its words or with a unit, or
 * settings for each value. */
static json_t *environment_definition(void)
{
    json_t *scalar = json_pack("{s:[s, s, s]}", "type", "string", "integer", "boolean");
    json_t *variable = json_pack(
        "{s:s, s:b, s:[s], s:[{s:[s]}, {s:[s]}], s:{s:o, s:{s:s}, s:{s:s, s:o}, s:{s:s, s:o}, s:o}}", "type", "object",
        "additionalProperties", 0, "required", "because", "oneOf", "required", "key", "required", "set", "properties",
        "key", reference("setting"), "unit", "type", "string", "values", "type", "object", "additionalProperties",
        scalar, "set", "type", "object", "additionalProperties", reference("value"), "because", reference("because"));

    return json_pack("{s:s, s:[s, s], s:b, s:{s:{s:[i, s]}, s:{s:s}, s:{s:s, s:{s:s}}, s:{s:s, s:o}}}", "type",
                     "object", "required", "accel-environment", "variables", "additionalProperties", 0, "properties",
                     "accel-environment", "enum", 1, "1", "about", "type", "string", "prefixes", "type", "array",
                     "items", "type", "string", "variables", "type", "object", "additionalProperties", variable);
}

json_t *profile_schema(const struct profile_files *files)
{
    char *options = option_pattern(files);
    json_t *definitions = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "profile", profile_definition(),
        "environment", environment_definition(), "rule", rule_schema("value"), "later", rule_schema("later-value"),
        "because", text_schema(REASON), "name", pattern("^([a-z]+/)?[a-z0-9._-]+$"), "condition", condition_schema(),
        "lock", json_pack("{s:s, s:o}", "type", "array", "items", reference("setting")), "setting",
        name_schema(options), "facts", facts_schema(), "default", settings_schema(1, 0, options), "value",
        settings_schema(0, 0, options), "later-value", settings_schema(0, 1, NULL));

    free(options);
    return json_pack("{s:s, s:s, s:s, s:{s:[s]}, s:o, s:o, s:o}", "$schema",
                     "https://json-schema.org/draft/2020-12/schema", "title", "accel profile", "description",
                     "Profiles turn facts about device and model into settings; see accel-profile(5)", "if", "required",
                     "accel-environment", "then", reference("environment"), "else", reference("profile"), "$defs",
                     definitions);
}
