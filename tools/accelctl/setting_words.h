/* SPDX-License-Identifier: Apache-2.0 */
/* A row of the table of settings in words: what it may be, its default, who acts on it. */
#ifndef ACCELCTL_SETTING_WORDS_H
#define ACCELCTL_SETTING_WORDS_H

#include <accel/profile.h>

/* "auto or 1 to 4096 tok", "f32, f16 or q8", "true or false". */
const char *setting_values(const struct accel_setting_row *row, char *text, size_t size);

/* A number of the row's base unit as a profile writes it: "256tok", "100MiB", "250ms", "12". */
const char *setting_number(const struct accel_setting_row *row, int64_t number, char *text, size_t size);

/* The default as a profile writes it. */
const char *setting_preset(const struct accel_setting_row *row, char *text, size_t size);

/* "choice", "size", ... */
const char *setting_type(const struct accel_setting_row *row);

/* Who acts on it: "run", "plan" or "driver"; and the same as a sentence. */
const char *setting_carried(const struct accel_setting_row *row);
const char *setting_carried_words(const struct accel_setting_row *row);

/* What the environment calls it: "ACCEL_KV_TYPE_K". */
const char *setting_variable(const struct accel_setting_row *row, char *text, size_t size);

/* The row of a setting, or NULL. */
const struct accel_setting_row *find_setting(const char *name);

#endif
