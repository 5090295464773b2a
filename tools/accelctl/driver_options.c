/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/driver_options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/clean_text.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/habits.h"
#include "tools/accelctl/output.h"
#include "tools/accelctl/setting_words.h"
#include "tools/accelctl/words.h"

extern char **environ;

bool describe_driver_option(const struct accel_plugin_info *plugin, uint32_t index, struct driver_option *out)
{
    static const uint32_t types[] = {[ACCEL_OPTION_INTEGER] = ACCEL_SETTING_INTEGER,
                                     [ACCEL_OPTION_REAL] = ACCEL_SETTING_TEXT,
                                     [ACCEL_OPTION_TEXT] = ACCEL_SETTING_TEXT,
                                     [ACCEL_OPTION_FLAG] = ACCEL_SETTING_FLAG};
    const struct accel_option *option;
    size_t length = strlen(plugin->name);

    if (index >= plugin->option_count)
        return false;
    option = plugin->options[index];
    *out = (struct driver_option){.plugin = plugin, .option = option};
    if (strncmp(option->name, plugin->name, length) == 0 && option->name[length] == '.')
        length = 0; /* tables of options name their rows with or without the driver's name */
    snprintf(out->key, sizeof(out->key), "%.*s%s%s", (int)length, plugin->name, length == 0 ? "" : ".", option->name);
    if (option->type == ACCEL_OPTION_REAL)
        snprintf(out->preset, sizeof(out->preset), "%g", option->real);
    else
        snprintf(out->preset, sizeof(out->preset), "%" PRId64, option->integer);
    out->row = (struct accel_setting_row){.size = sizeof(out->row),
                                          .type = option->choices != NULL ? ACCEL_SETTING_CHOICE : types[option->type],
                                          .honored = ACCEL_HONORED_DRIVER,
                                          .name = out->key,
                                          .unit = "",
                                          .words = option->choices != NULL ? option->choices : "",
                                          .preset = option->type == ACCEL_OPTION_TEXT   ? option->text
                                                    : option->type != ACCEL_OPTION_FLAG ? out->preset
                                                    : option->integer != 0              ? "true"
                                                                                        : "false",
                                          .by = plugin->name,
                                          .help = option->help,
                                          .lowest = option->lowest,
                                          .highest = option->highest};
    return true;
}

bool get_driver_option(const struct accel_context *context, uint32_t index, struct driver_option *out)
{
    for (uint32_t i = 0; i < accel_plugin_count(context); i++) {
        const struct accel_plugin_info *plugin = accel_plugin_get(context, i);

        if (index < plugin->option_count)
            return describe_driver_option(plugin, index, out);
        index -= plugin->option_count;
    }
    return false;
}

bool find_driver_option(const struct accel_context *context, const char *key, struct driver_option *out)
{
    for (uint32_t i = 0; get_driver_option(context, i, out); i++)
        if (strcmp(out->key, key) == 0)
            return true;
    return false;
}

void describe_missing_option(const struct accel_context *context, const char *key, char *why, size_t size)
{
    struct driver_option option;
    const char *nearest = NULL;
    char near[sizeof(option.key)];
    uint32_t least = unrelated_distance(key);

    for (uint32_t i = 0; get_driver_option(context, i, &option); i++)
        if (is_nearer(key, option.key, &least))
            nearest = strcpy(near, option.key);
    snprintf(why, size, "the driver %.*s has no option \"%.60s\"%s%s%s", (int)strcspn(key, "."), key,
             key + strcspn(key, ".") + 1, nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
             nearest == NULL ? "" : "\"?");
}

/* Returns whether a variable, of `length` bytes, is that of a setting. */
static bool sets_setting(const char *variable, size_t length)
{
    char name[96];

    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        if (accel_setting_variable(accel_setting_row_get(i)->name, name, sizeof(name)) == ACCEL_OK &&
            strlen(name) == length && strncmp(name, variable, length) == 0)
            return true;
    return false;
}

/* Writes the key of the option that a variable with a value sets, as "cpu.isa". Returns false if it is of no option of
 * the driver, or sets a setting. */
static bool write_key(const struct accel_plugin_info *plugin, const char *entry, char *key, size_t size)
{
    const size_t length = strcspn(entry, "=");
    char prefix[96];
    size_t begin;

    if (plugin->option_count == 0 || accel_setting_variable(plugin->name, prefix, sizeof(prefix)) != ACCEL_OK)
        return false;
    begin = strlen(prefix);
    if (strncmp(entry, prefix, begin) != 0 || entry[begin] != '_' || length <= begin + 1 || entry[length] == '\0' ||
        entry[length + 1] == '\0' || sets_setting(entry, length))
        return false;
    snprintf(key, size, "%s.%.*s", plugin->name, (int)(length - begin - 1), entry + begin + 1);
    for (char *at = key + strlen(plugin->name); *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    return true;
}

void warn_option_variables(const struct accel_context *context)
{
    static bool are_printed;
    struct driver_option option;
    char key[sizeof(option.key)], why[300], name[200];

    for (char **entry = environ; !are_printed && *entry != NULL; entry++)
        for (uint32_t i = 0; i < accel_plugin_count(context); i++) {
            if (!write_key(accel_plugin_get(context, i), *entry, key, sizeof(key)) ||
                find_driver_option(context, key, &option))
                continue;
            describe_missing_option(context, key, why, sizeof(why));
            snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
            fprintf(error_output(), "warn: environment %s has no effect: %s\n", clean_text(name, key, sizeof(key)),
                    why);
        }
    are_printed = true;
}

const char *driver_option_values(const struct driver_option *option, char *text, size_t size)
{
    if (option->option->type != ACCEL_OPTION_REAL)
        return setting_values(&option->row, text, size);
    snprintf(text, size, "a number");
    return text;
}

bool check_driver_option(const struct driver_option *option, const char *value, char *why, size_t size)
{
    const struct accel_option *o = option->option;
    char *end = NULL, values[400];
    bool is_valid = true;
    int64_t integer;

    errno = 0; /* the same values as accel_device_open accepts */
    if (o->type == ACCEL_OPTION_FLAG)
        is_valid = is_one_of("true false on off yes no 1 0", value);
    else if (o->type == ACCEL_OPTION_REAL)
        is_valid = isfinite(strtod(value, &end)) && errno == 0 && end != value && *end == '\0';
    else if (o->type == ACCEL_OPTION_INTEGER) {
        integer = strtoll(value, &end, 10);
        is_valid = errno == 0 && end != value && *end == '\0' && integer >= o->lowest && integer <= o->highest;
    } else if (o->choices != NULL)
        is_valid = is_one_of(o->choices, value);
    if (!is_valid)
        snprintf(why, size, "%s: \"%.60s\" is not %s", option->key, value,
                 driver_option_values(option, values, sizeof(values)));
    return is_valid;
}

void print_driver_option(const struct driver_option *option, uint32_t indent, uint32_t width)
{
    const uint32_t column = indent + width + 2;
    char values[400], text[800];

    print("%*s%s%-*s%s  ", (int)indent, "", paint(PAINT_HEADING), (int)width, option->key, paint(PAINT_PLAIN));
    print_wrapped(column, column, option->option->help);
    snprintf(text, sizeof(text), "%s; built in %s; honored by the driver %s",
             driver_option_values(option, values, sizeof(values)),
             option->row.preset[0] == '\0' ? "empty" : option->row.preset, option->plugin->name);
    print_wrapped((uint32_t)print("%*s", (int)column, ""), column, text);
}

json_t *driver_option_json(const struct driver_option *option)
{
    json_t *document = setting_json(&option->row);
    char values[400];

    json_object_set_new(document, "values", json_string(driver_option_values(option, values, sizeof(values))));
    if (option->option->type == ACCEL_OPTION_REAL)
        json_object_set_new(document, "type", json_string("real"));
    return document;
}
