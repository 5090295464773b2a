/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a row of the table of settings in words: its values, its default, and the part that honors it. */
#ifndef ACCELCTL_SETTING_WORDS_H
#define ACCELCTL_SETTING_WORDS_H

#include <jansson.h>

#include <accel/profile.h>

/* Describes the values: "auto or 1 to 4096 tok", "f32, f16 or q8", "true or false". */
const char *setting_values(const struct accel_setting_row *row, char *text, size_t size);

/* Formats the default as a profile writes it. */
const char *setting_preset(const struct accel_setting_row *row, char *text, size_t size);

/* Says who honors a setting: "honored by runs", "later: webgpu driver". */
const char *setting_honored_words(const struct accel_setting_row *row, char *text, size_t size);

/* Names the environment variable of a setting: "ACCEL_KV_TYPE_K". */
const char *setting_variable(const struct accel_setting_row *row, char *text, size_t size);

/* Returns the row as an object of JSON. */
json_t *setting_json(const struct accel_setting_row *row);

/* Finds the row of a setting, or NULL. */
const struct accel_setting_row *find_setting(const char *name);

#endif
