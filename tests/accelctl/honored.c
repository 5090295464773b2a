/* SPDX-License-Identifier: Apache-2.0 */
/*
 * honored PLAN.json RUN.err PLACE NAME DEVICE: prints a row for each setting of which a value comes from a place that
 * contains PLACE ("/t4.yaml", "environment WEBGPU_TRACE"): honored, noted with the line that the run printed, kept for
 * later without a line, or overruled by a stronger value. Exit status 1: the run printed no line for a value that the
 * plan does not honor, or the plan has a value that is in no way accounted for.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024 };

struct table {
    const char *place, *name, *device;
    char *printed; /* what the run printed on its error output */
    unsigned failed;
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

static int is_from(const struct table *table, const json_t *object)
{
    return strstr(text_of(object, "place"), table->place) != NULL;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 65536);

    if (file == NULL || text == NULL || (fread(text, 1, 65535, file) == 0 && ferror(file))) {
        perror(path);
        exit(2);
    }
    fclose(file);
    return text;
}

/* The line that the run printed about a key, or NULL. */
static const char *find_line(const struct table *table, const char *key, char line[LINE])
{
    char words[200];
    const char *at;

    snprintf(words, sizeof(words), "not honored: %s=", key);
    at = strstr(table->printed, words);
    if (at == NULL)
        return NULL;
    snprintf(line, LINE, "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

static void print_row(const struct table *table, const char *key, const char *value, const char *outcome,
                      const char *line)
{
    char setting[200];

    snprintf(setting, sizeof(setting), "%s=%s", key, value);
    printf("%-37s %-7s %-36s %-9s %s\n", table->name, table->device, setting, outcome, line);
}

static void print_unhonored(struct table *table, const json_t *row)
{
    const char *key = text_of(row, "key"), *outcome = text_of(row, "outcome");
    char text[LINE];
    const char *line = find_line(table, key, text);

    print_row(table, key, text_of(row, "value"), outcome, line == NULL ? "SILENT" : line);
    if (line == NULL || strcmp(outcome, "noted") != 0) {
        fprintf(stderr, "%s on %s: %s is %s, and the run says: %s\n", table->name, table->device, key, outcome,
                line == NULL ? "nothing" : line);
        table->failed = 1;
    }
}

/* A value that a profile keeps for what will honor it. The run prints no line about it. */
static void print_later(struct table *table, const json_t *row)
{
    const char *key = text_of(row, "key");
    char text[LINE];

    print_row(table, key, text_of(row, "value"), "later", text_of(row, "later"));
    if (find_line(table, key, text) != NULL) {
        fprintf(stderr, "%s on %s: %s is for later, and the run says: %s\n", table->name, table->device, key, text);
        table->failed = 1;
    }
}

static int is_listed(const json_t *rows, const char *key)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (strcmp(text_of(json_array_get(rows, i), "key"), key) == 0)
            return 1;
    return 0;
}

static void print_setting(const struct table *table, const json_t *rows, const char *key, const json_t *setting)
{
    const json_t *origin = json_object_get(setting, "origin"), *losers = json_object_get(origin, "losers");
    char line[LINE];

    if (is_listed(rows, key))
        return;
    if (is_from(table, origin)) {
        print_row(table, key, text_of(setting, "value"), "honored", "");
        return;
    }
    for (size_t i = 0; i < json_array_size(losers); i++) {
        const json_t *loser = json_array_get(losers, i);

        if (!is_from(table, loser))
            continue;
        snprintf(line, sizeof(line), "by %s: %s", text_of(origin, "place"), text_of(setting, "value"));
        print_row(table, key, text_of(loser, "value"), "overruled", line);
    }
}

int main(int count, char **arguments)
{
    struct table table = {0};
    json_error_t error;
    json_t *plan, *setting;
    const json_t *rows;
    const char *key;

    if (count != 6)
        return 2;
    table = (struct table){arguments[3], arguments[4], arguments[5], read_text(arguments[2]), 0};
    plan = json_load_file(arguments[1], 0, &error);
    rows = json_object_get(plan, "not_honored");
    if (plan == NULL || !json_is_array(rows)) {
        fprintf(stderr, "%s: no plan with a list of what is not honored: %s\n", arguments[1], error.text);
        return 2;
    }
    json_object_foreach(json_object_get(plan, "settings"), key, setting) print_setting(&table, rows, key, setting);
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (is_from(&table, json_array_get(rows, i)))
            print_unhonored(&table, json_array_get(rows, i));
    rows = json_object_get(plan, "later");
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (is_from(&table, json_array_get(rows, i)))
            print_later(&table, json_array_get(rows, i));
    json_decref(plan);
    free(table.printed);
    return table.failed != 0;
}
