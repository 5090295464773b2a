/* SPDX-License-Identifier: Apache-2.0 */
/* The options of drivers, described as settings: the option "isa" of the driver "cpu" is the setting "cpu.isa". */
#ifndef ACCELCTL_DRIVER_OPTIONS_H
#define ACCELCTL_DRIVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <accel/context.h>
#include <accel/profile.h>

/* One option. The strings of `row` belong to this struct and to the plugin. */
struct driver_option {
    const struct accel_plugin_info *plugin;
    const struct accel_option *option;
    struct accel_setting_row row;
    char key[192];   /* "cpu.isa" */
    char preset[32]; /* default of a number */
};

/* Describes option `index` of a plugin; false past the last one. */
bool describe_driver_option(const struct accel_plugin_info *plugin, uint32_t index, struct driver_option *out);

/* Describes option `index` of all plugins of the context, one plugin after the other; false past the last one. */
bool get_driver_option(const struct accel_context *context, uint32_t index, struct driver_option *out);

/* Finds an option by its key, "cpu.isa". */
bool find_driver_option(const struct accel_context *context, const char *key, struct driver_option *out);

/* Writes why a key is none of an option of its driver, with the nearest one. */
void describe_missing_option(const struct accel_context *context, const char *key, char *why, size_t size);

/* Warns of variables of the environment that set an option which no loaded driver has, once in a command: plans for
 * another device do not read them. */
void warn_option_variables(const struct accel_context *context);

/* Describes the values: "auto, rows or panels", "0 to 16", "a number". */
const char *driver_option_values(const struct driver_option *option, char *text, size_t size);

/* Checks a value; false with the reason in `why`. */
bool check_driver_option(const struct driver_option *option, const char *value, char *why, size_t size);

/* Prints key, purpose, values and default, wrapped behind a column of `width` for the key that begins at `indent`. */
void print_driver_option(const struct driver_option *option, uint32_t indent, uint32_t width);

/* Returns the members that a setting has in JSON, and the driver. */
json_t *driver_option_json(const struct driver_option *option);

#endif
