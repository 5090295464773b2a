/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl profile env: lists the variables of the environment, and the effect of those that are set. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/array.h"
#include "tools/accelctl/profile/profile.h"
#include "tools/accelctl/setting_words.h"
#include "tools/accelctl/words.h"

extern char **environ;

enum variable_kind {
    VARIABLE_SETTING,  /* ACCEL_ and the name of a setting */
    VARIABLE_OPTION,   /* ACCEL_, a driver and its option */
    VARIABLE_DOCUMENT, /* a name of the documents */
    VARIABLE_LIBRARY,  /* of the library and the command themselves */
    VARIABLE_UNKNOWN   /* looks like one of these, and is none */
};

struct variable {
    enum variable_kind kind;
    char name[96];
    const char *value;   /* NULL: it is not set */
    const char *keys;    /* settings that it sets, or empty */
    const char *unit;    /* of its number, or empty */
    const char *help;    /* what it may be, or is for */
    const char *place;   /* where it is described, or empty */
    const char *reason;  /* or empty */
    const char *nearest; /* of an unknown one: what may have been meant, or NULL */
};

struct list {
    struct variable *rows;
    uint32_t count;
    size_t capacity;
};

/* Adds a row; NULL without memory. */
static struct variable *add(struct list *list, enum variable_kind kind, const char *name)
{
    struct variable *row;

    if (!array_reserve(&list->rows, &list->capacity, list->count + 1, sizeof(*list->rows)))
        return NULL;
    row = &list->rows[list->count++];
    *row = (struct variable){.kind = kind, .keys = "", .unit = "", .help = "", .place = "", .reason = ""};
    snprintf(row->name, sizeof(row->name), "%s", name);
    row->value = getenv(row->name);
    return row;
}

static struct variable *find(const struct list *list, const char *name, size_t length)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (strlen(list->rows[i].name) == length && strncmp(list->rows[i].name, name, length) == 0)
            return &list->rows[i];
    return NULL;
}

static void add_known(struct list *list, const struct profile_files *files)
{
    struct variable *row;
    char name[96];

    for (uint32_t i = 0; i < files->variable_count; i++) {
        const struct profile_variable *variable = &files->variables[i];

        row = add(list, VARIABLE_DOCUMENT, variable->name);
        if (row == NULL)
            return;
        row->keys = variable->keys;
        row->unit = variable->unit;
        row->help = variable->values;
        row->place = variable->place;
        row->reason = variable->reason;
    }
    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        const struct accel_setting_row *setting = accel_setting_row_get(i);

        row = add(list, VARIABLE_SETTING, setting_variable(setting, name, sizeof(name)));
        if (row == NULL)
            return;
        row->keys = setting->name;
    }
    for (const struct word_row *words = environment_rows; words->left != NULL; words++)
        if (strcmp(words->left, "ACCEL_KEY") != 0 && (row = add(list, VARIABLE_LIBRARY, words->left)) != NULL)
            row->help = words->right;
}

/* Returns the platform whose option `name` sets: it is ACCEL_, the name of a platform in capitals, and more. NULL if
 * it is none. */
static const char *platform_of_option(const struct profile_files *files, const char *name)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct profile_info *info = &files->list[i];
        size_t length = strlen(info->name);
        char capitals[64];

        if (info->layer != ACCEL_LAYER_PLATFORM || length >= sizeof(capitals))
            continue;
        for (size_t c = 0; c <= length; c++)
            capitals[c] = info->name[c] >= 'a' && info->name[c] <= 'z' ? (char)(info->name[c] - 'a' + 'A')
                          : info->name[c] == '-'                       ? '_'
                                                                       : info->name[c];
        if (strncmp(name, "ACCEL_", 6) == 0 && strncmp(name + 6, capitals, length) == 0 && name[6 + length] == '_')
            return info->name;
    }
    return NULL;
}

/* Formats the key of an option from its variable: "cpu.isa" of ACCEL_CPU_ISA. */
static const char *option_key(const struct profile_files *files, const char *name, char key[96])
{
    const char *platform = platform_of_option(files, name);
    size_t length = strlen(platform);

    snprintf(key, 96, "%s.%s", platform, name + 6 + length + 1);
    for (char *at = key + length + 1; *at != '\0'; at++)
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    return key;
}

static const char *nearest_name(const struct list *list, const char *name)
{
    const char *nearest = NULL;
    uint32_t least = unrelated_distance(name);

    /* ACCEL_DEVICE is an option of the command, not a setting. */
    if (strcmp(name, "ACCEL_DEVICE") == 0)
        return "--device NAME";
    for (uint32_t i = 0; i < list->count; i++)
        if (is_nearer(name, list->rows[i].name, &least))
            nearest = list->rows[i].name;
    return nearest;
}

/* Returns whether a name shares its prefix, up to the first '_', with those of the library or of the documents. */
static bool is_alike(const struct list *list, uint32_t known, const char *name)
{
    size_t length = strcspn(name, "_=") + 1;

    for (uint32_t i = 0; i < known && name[length - 1] == '_'; i++)
        if (list->rows[i].kind != VARIABLE_LIBRARY && strncmp(list->rows[i].name, name, length) == 0)
            return true;
    return false;
}

/* Adds variables of the environment that look as if they were meant for the library. */
static void add_others(struct list *list, const struct profile_files *files)
{
    uint32_t known = list->count;

    for (char **at = environ; *at != NULL; at++) {
        size_t length = strcspn(*at, "=");
        struct list names = {list->rows, known, 0};
        char name[96];
        struct variable *row;
        uint32_t option;

        if (!is_alike(list, known, *at) || find(list, *at, length) != NULL || length >= sizeof(name))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)length, *at);
        option = platform_of_option(files, name) != NULL;
        row = add(list, option ? VARIABLE_OPTION : VARIABLE_UNKNOWN, name);
        if (row == NULL)
            return;
        names.rows = list->rows;
        row->help = option ? "an option of a driver" : "";
        row->nearest = option ? NULL : nearest_name(&names, name);
    }
}

/* ---- effect of a variable ---- */

/* Translates `value` by a table "1=q4 0=auto"; 0 if it is not listed. */
static uint32_t map_value(const char *table, const char *value, char *text, size_t size)
{
    size_t length = strlen(value);

    for (const char *at = table; *at != '\0';) {
        size_t word = strcspn(at, " ");

        if (strncmp(at, value, length) == 0 && at[length] == '=' && length < word) {
            snprintf(text, size, "%.*s", (int)(word - length - 1), at + length + 1);
            return 1;
        }
        at += word + (at[word] == ' ');
    }
    return 0;
}

/* Returns the variable that overrides this one for the key: that of the setting's own name. */
static const char *overruled_by(const struct list *list, const char *key, size_t length)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct variable *row = &list->rows[i];

        if (row->kind == VARIABLE_SETTING && row->value != NULL && strlen(row->keys) == length &&
            strncmp(row->keys, key, length) == 0)
            return row->name;
    }
    return NULL;
}

/* Extracts the value for a setting from `word`: all of it if the variable sets one, else the part of
 * "kv.prune:usage,kv.full:prune" behind its name. 0 if there is none. */
static uint32_t parse_part(const struct variable *row, const char *word, const char *key, char *text, size_t size)
{
    size_t length = strlen(key);

    if (strchr(row->keys, ' ') == NULL) {
        snprintf(text, size, "%s%s", word, word[strspn(word, "0123456789")] == '\0' ? row->unit : "");
        return 1;
    }
    for (const char *at = word; *at != '\0'; at += at[0] == ',') {
        if (strncmp(at, key, length) == 0 && at[length] == ':') {
            snprintf(text, size, "%.*s", (int)strcspn(at + length + 1, ","), at + length + 1);
            return 1;
        }
        at += strcspn(at, ",");
    }
    return 0;
}

/* Writes "key = value" for each setting of a variable, or why its value is invalid. Answers 1 if it is valid. */
static uint32_t put_settings(const struct list *list, const struct variable *row, const char *word, char *text,
                             size_t size)
{
    size_t used = 0;
    size_t length;

    for (const char *at = row->keys; *at != '\0' && used < size; at += length + (at[length] == ' ')) {
        struct accel_error error = {0};
        char key[96], value[200];
        const char *stronger;

        length = strcspn(at, " ");
        snprintf(key, sizeof(key), "%.*s", (int)length, at);
        if (!parse_part(row, word, key, value, sizeof(value)))
            continue;
        if (accel_setting_check(key, value, &error) != ACCEL_OK) {
            snprintf(text, size, "%s", error.text);
            return 0;
        }
        stronger = row->kind == VARIABLE_DOCUMENT ? overruled_by(list, at, length) : NULL;
        used += (size_t)snprintf(text + used, size - used, "%s%s = %s%s%s", used == 0 ? "" : ", ", key, value,
                                 stronger == NULL ? "" : ", overruled by ", stronger == NULL ? "" : stronger);
    }
    if (used == 0)
        snprintf(text, size, "sets nothing");
    return 1;
}

/* Describes the effect of a variable. Answers 1 if its value is valid. */
static uint32_t outcome(const struct list *list, const struct variable *row, char *text, size_t size)
{
    struct accel_error error = {0};
    char word[96];

    if (row->kind == VARIABLE_UNKNOWN) {
        snprintf(text, size, "not a variable of accel%s%s%s", row->nearest == NULL ? "" : "; did you mean ",
                 row->nearest == NULL ? "" : row->nearest, row->nearest == NULL ? "" : "?");
        return 0;
    }
    snprintf(text, size, "%s", row->help);
    if (row->kind == VARIABLE_LIBRARY && row->value[0] != '\0' &&
        accel_setting_check(row->name, row->value, &error) == ACCEL_E_INVALID) {
        /* The variable is named beside it. */
        snprintf(text, size, "%s", strchr(error.text, ':') + 2);
        return 0;
    }
    if (row->keys[0] == '\0')
        return 1;
    if (row->kind != VARIABLE_DOCUMENT || row->help[0] == '\0')
        return put_settings(list, row, row->value, text, size);
    if (map_value(row->help, row->value, word, sizeof(word)))
        return put_settings(list, row, word, text, size);
    snprintf(text, size, "none of its values: %s", row->help);
    return 0;
}

/* ---- output ---- */

static const char *kind_name(enum variable_kind kind)
{
    static const char *const names[] = {"setting", "option", "document", "library", "unknown"};

    return names[kind];
}

static const char *describe(const struct variable *row, char *text, size_t size)
{
    char values[400];
    const struct accel_setting_row *setting = row->kind == VARIABLE_SETTING ? find_setting(row->keys) : NULL;

    if (setting != NULL)
        snprintf(text, size, "%s: %s", row->keys, setting_values(setting, values, sizeof(values)));
    else
        snprintf(text, size, "%s%s%s", row->keys, row->keys[0] == '\0' || row->help[0] == '\0' ? "" : ": ", row->help);
    return text;
}

/* Returns the larger of a width and the columns of a text. */
static uint32_t wider_of(uint32_t width, const char *text)
{
    return strlen(text) > width ? (uint32_t)strlen(text) : width;
}

static void print_set(const struct list *list)
{
    uint32_t width = 12, set = 0;
    char text[800], line[200];

    for (uint32_t i = 0; i < list->count; i++) {
        const struct variable *row = &list->rows[i];
        size_t length = row->value == NULL ? 0 : strlen(row->name) + strlen(row->value) + 1;

        width = length > width && length <= 44 ? (uint32_t)length : width;
        set += row->value != NULL;
    }
    if (set == 0)
        return;
    print("%sset%s\n", paint(PAINT_HEADING), paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < list->count; i++) {
        const struct variable *row = &list->rows[i];

        if (row->value == NULL)
            continue;
        snprintf(line, sizeof(line), "%s=%s", row->name, row->value);
        print("%s  %-*s%s  ", paint(outcome(list, row, text, sizeof(text)) ? PAINT_PLAIN : PAINT_BAD), (int)width, line,
              paint(PAINT_PLAIN));
        print_wrapped(wider_of(width, line) + 4, width + 4, text);
    }
}

static void print_kind(const struct list *list, enum variable_kind kind, const char *heading)
{
    char text[800];
    uint32_t width = 12;

    for (uint32_t i = 0; i < list->count; i++)
        if (list->rows[i].kind == kind && strlen(list->rows[i].name) > width)
            width = (uint32_t)strlen(list->rows[i].name);
    print("%s%s%s\n", paint(PAINT_HEADING), heading, paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < list->count; i++)
        if (list->rows[i].kind == kind)
            print_wrapped((uint32_t)print("  %-*s  ", (int)width, list->rows[i].name), width + 4,
                          describe(&list->rows[i], text, sizeof(text)));
}

/* Prints all details of one variable. */
static void print_one(const struct list *list, const struct variable *row)
{
    char text[800], place[600];

    print("%s%s%s\n", paint(PAINT_HEADING), row->name, paint(PAINT_PLAIN));
    print_wrapped((uint32_t)print(row->keys[0] == '\0' ? "  is        " : "  sets      "), 12,
                  describe(row, text, sizeof(text)));
    if (row->reason[0] != '\0') {
        snprintf(text, sizeof(text), "%s: %s", short_places(row->place, place, sizeof(place)), row->reason);
        print_wrapped((uint32_t)print("  from      "), 12, text);
    }
    if (row->value == NULL) {
        print("  not set\n");
        return;
    }
    print("  value     %s\n", row->value);
    outcome(list, row, text, sizeof(text));
    print_wrapped((uint32_t)print("  comes to  "), 12, text);
}

static json_t *list_json(const struct list *list)
{
    json_t *rows = json_array();
    char text[800], help[800];

    for (uint32_t i = 0; i < list->count; i++) {
        const struct variable *row = &list->rows[i];
        json_t *value = row->value == NULL ? json_null() : json_string(row->value);

        if (row->value != NULL)
            outcome(list, row, text, sizeof(text));
        json_add(rows, json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:o*}", "name", row->name, "kind",
                                 kind_name(row->kind), "keys", row->keys, "values", describe(row, help, sizeof(help)),
                                 "place", json_text(row->place), "because", row->reason, "value",
                                 value == NULL ? json_string("(no UTF-8)") : value, "outcome",
                                 row->value == NULL ? NULL : json_text(text)));
    }
    return json_pack("{s:o}", "variables", rows);
}

static int print_named(const struct list *list, const struct profile_options *chosen, int count, char **arguments)
{
    for (int i = 0; i < count; i++) {
        const char *nearest = nearest_name(list, arguments[i]);

        if (find(list, arguments[i], strlen(arguments[i])) == NULL)
            return report_error_format(chosen->common.json, EXIT_USAGE, "usage",
                                       "accelctl profile env --all lists them", "there is no variable %.90s%s%s%s",
                                       arguments[i], nearest == NULL ? "" : "; did you mean ",
                                       nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?");
    }
    for (int i = 0; i < count && !chosen->common.json; i++)
        print_one(list, find(list, arguments[i], strlen(arguments[i])));
    return -1;
}

static void print_text(const struct list *list, uint32_t all)
{
    uint32_t known = 0, unset = 0;

    print_set(list);
    if (all) {
        print_kind(list, VARIABLE_DOCUMENT, "names of the documents");
        print_kind(list, VARIABLE_SETTING, "settings");
        print_kind(list, VARIABLE_LIBRARY, "of the library and the command");
        return;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        known += list->rows[i].kind != VARIABLE_UNKNOWN;
        unset += list->rows[i].value == NULL;
    }
    print("%s%u of %u variables are not set (--all shows them)\n", unset == known ? "" : "  ", unset, known);
}

/* Checks one variable that is set: an option of a driver by its table. */
static void check_row(const struct list *list, const struct variable *row, const struct profile_files *files,
                      env_error take, void *data)
{
    char text[800], key[96], listing[128];

    if (row->kind != VARIABLE_OPTION) {
        snprintf(listing, sizeof(listing), "env %s", row->name);
        if (!outcome(list, row, text, sizeof(text)))
            take(data, row->name, text, listing);
        return;
    }
    option_key(files, row->name, key);
    snprintf(listing, sizeof(listing), "settings %.*s", (int)strcspn(key, "."), key);
    if (files->check_option != NULL && !profile_option_check(files, key, row->value, text, sizeof(text)))
        take(data, row->name, text, listing);
}

void profile_env_errors(const struct profile_files *files, env_error take, void *data)
{
    struct list list = {NULL, 0, 0};

    add_known(&list, files);
    add_others(&list, files);
    for (uint32_t i = 0; i < list.count; i++)
        if (list.rows[i].value != NULL && list.rows[i].value[0] != '\0' && list.rows[i].kind != VARIABLE_UNKNOWN)
            check_row(&list, &list.rows[i], files, take, data);
    free(list.rows);
}

int profile_env(const struct profile_options *chosen, int count, char **arguments)
{
    struct list list = {NULL, 0, 0};
    struct profile_files files;
    int code;

    code = open_profiles(&chosen->common, &files);
    if (code >= 0)
        return code;
    add_known(&list, &files);
    add_others(&list, &files);
    code = print_named(&list, chosen, count, arguments);
    if (code < 0) {
        code = EXIT_DONE;
        if (chosen->common.json)
            code = print_json(list_json(&list), "accelctl/profile-env/1");
        else if (count == 0)
            print_text(&list, chosen->all);
    }
    free(list.rows);
    profile_files_free(&files);
    return code;
}
