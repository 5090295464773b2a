/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/setting_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units of bytes and of durations, largest first. */
static const struct unit {
    const char *name;
    int64_t factor;
} size_units[] = {{"TiB", INT64_C(1) << 40},
                  {"GiB", INT64_C(1) << 30},
                  {"MiB", INT64_C(1) << 20},
                  {"KiB", INT64_C(1) << 10},
                  {"B", 1}},
  duration_units[] = {{"min", 60000}, {"s", 1000}, {"ms", 1}};

static const char *whole_units(int64_t number, const struct unit *unit, char *text, size_t size)
{
    while (unit->factor != 1 && (number == 0 || number % unit->factor != 0))
        unit++;
    snprintf(text, size, "%" PRId64 "%s", number / unit->factor, unit->name);
    return text;
}

/* Formats a number of the row's base unit as a profile writes it: "256tok", "100MiB", "250ms", "12". */
static const char *setting_number(const struct accel_setting_row *row, int64_t number, char *text, size_t size)
{
    if (row->type == ACCEL_SETTING_SIZE)
        return whole_units(number, size_units, text, size);
    if (row->type == ACCEL_SETTING_DURATION)
        return whole_units(number, duration_units, text, size);
    snprintf(text, size, "%" PRId64 "%s", number, row->unit);
    return text;
}

/* Joins words: "a b c" as "a, b or c"; `last` stands before the last one. */
static void join_words(const char *words, const char *last, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    while (*words != '\0' && used < size) {
        size_t length = strcspn(words, " ");
        const char *next = words + length + (words[length] == ' ');
        const char *before = used == 0 ? "" : *next == '\0' ? last : ", ";

        used += (size_t)snprintf(text + used, size - used, "%s%.*s", before, (int)length, words);
        words = next;
    }
}

const char *setting_values(const struct accel_setting_row *row, char *text, size_t size)
{
    char lowest[32], highest[32], words[320];

    join_words(row->words, row->words[0] == '\0' || row->type == ACCEL_SETTING_CHOICE ? " or " : ", ", words,
               sizeof(words));
    setting_number(row, row->lowest, lowest, sizeof(lowest));
    setting_number(row, row->highest, highest, sizeof(highest));
    switch (row->type) {
    case ACCEL_SETTING_FLAG:
        snprintf(text, size, "true or false");
        break;
    case ACCEL_SETTING_CHOICE:
        snprintf(text, size, "%s", words);
        break;
    case ACCEL_SETTING_EXTENT:
        snprintf(text, size, "%s%sone to three sizes of %s to %s, as 8x16", words, words[0] == '\0' ? "" : " or ",
                 lowest, highest);
        break;
    case ACCEL_SETTING_TEXT:
        snprintf(text, size, "text");
        break;
    default:
        snprintf(text, size, "%s%s%s to %s", words, words[0] == '\0' ? "" : " or ", lowest, highest);
    }
    return text;
}

const char *setting_preset(const struct accel_setting_row *row, char *text, size_t size)
{
    char *end;
    int64_t number = strtoll(row->preset, &end, 10);
    int is_number =
        row->type == ACCEL_SETTING_INTEGER || row->type == ACCEL_SETTING_SIZE || row->type == ACCEL_SETTING_DURATION;

    if (is_number && end != row->preset && *end == '\0')
        return setting_number(row, number, text, size);
    snprintf(text, size, "%s", row->preset);
    return text;
}

/* Names the type of a setting: "choice", "size", ... */
static const char *setting_type(const struct accel_setting_row *row)
{
    static const char *const names[] = {"integer", "size", "duration", "flag", "choice", "extent", "text"};
    uint32_t index = (uint32_t)(row->type - ACCEL_SETTING_INTEGER);

    return index < sizeof(names) / sizeof(*names) ? names[index] : "?";
}

/* Names the part that honors a setting: "run", "driver" or "later". */
static const char *setting_honored(const struct accel_setting_row *row)
{
    static const char *const names[] = {"run", "driver", "later"};

    return row->honored < sizeof(names) / sizeof(*names) ? names[row->honored] : "?";
}

const char *setting_honored_words(const struct accel_setting_row *row, char *text, size_t size)
{
    char drivers[80];

    if (row->honored == ACCEL_HONORED_LATER) {
        snprintf(text, size, "later: %s", row->by);
    } else if (row->honored == ACCEL_HONORED_RUN) {
        snprintf(text, size, "honored by runs");
    } else {
        join_words(row->by, " and ", drivers, sizeof(drivers));
        snprintf(text, size, "honored by the driver%s %s", strchr(row->by, ' ') == NULL ? "" : "s", drivers);
    }
    return text;
}

const char *setting_variable(const struct accel_setting_row *row, char *text, size_t size)
{
    if (accel_setting_variable(row->name, text, size) != ACCEL_OK)
        text[0] = '\0';
    return text;
}

json_t *setting_json(const struct accel_setting_row *row)
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

const struct accel_setting_row *find_setting(const char *name)
{
    for (uint32_t i = 0; i < accel_setting_row_count(); i++)
        if (strcmp(accel_setting_row_get(i)->name, name) == 0)
            return accel_setting_row_get(i);
    return NULL;
}
