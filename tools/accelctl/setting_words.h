/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a row of the table of settings in words: its values, its default, and the part that honors it. */
#ifndef ACCELCTL_SETTING_WORDS_H
#define ACCELCTL_SETTING_WORDS_H

#include <jansson.h>

#include <accel/profile.h>

/* Describes the values: "auto or 1 to 4096 tok", "f32, f16 or q8", "true or false". */
const char *setting_values(const struct accel_setting_row *row, char *text, size_t size);

/* Formats a number of the row's base unit as a profile writes it: "256tok", "100MiB", "250ms", "12". */
const char *setting_number(const struct accel_setting_row *row, int64_t number, char *text, size_t size);

/* Formats the default as a profile writes it. */
const char *setting_preset(const struct accel_setting_row *row, char *text, size_t size);

/* Names the type of a setting: "choice", "size", ... */
const char *setting_type(const struct accel_setting_row *row);

/* Names the part that honors a setting: "run", "driver" or "later"; and in words, "later: webgpu driver". */
const char *setting_honored(const struct accel_setting_row *row);
const char *setting_honored_words(const struct accel_setting_row *row, char *text, size_t size);

/* Names the environment variable of a setting: "ACCEL_KV_TYPE_K". */
const char *setting_variable(const struct accel_setting_row *row, char *text, size_t size);

/* Returns the row as an object of JSON. */
json_t *setting_json(const struct accel_setting_row *row);

/* Finds the row of a setting, or NULL. */
const struct accel_setting_row *find_setting(const char *name);

#endif
