/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/import_driver.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/open.h"
#include "core/base/text.h"
#include "core/base/utf8.h"

#define BAD_FACTS(error, ...) accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_INVALID, "bad facts: " __VA_ARGS__)

static int32_t fault(struct accel_error *error, const char *what, const char *fault, uint64_t value)
{
    return BAD_FACTS(error, "%s %s (%llu)", what, fault, (unsigned long long)value);
}

int32_t accel_check_driver_text(const char *text, const char *what, struct accel_error *error)
{
    size_t bytes, bad = 0;
    if (text == NULL)
        return BAD_FACTS(error, "%s is NULL", what);
    bytes = strnlen(text, ACCEL_DRIVER_TEXT);
    if (bytes == ACCEL_DRIVER_TEXT)
        return BAD_FACTS(error, "%s is longer than %u bytes", what, ACCEL_DRIVER_TEXT - 1);
    if (!accel_utf8_valid(text, bytes, &bad))
        return BAD_FACTS(error, "%s is no UTF-8 at byte %zu", what, bad);
    if (!accel_utf8_plain(text, bytes, &bad))
        return BAD_FACTS(error, "%s has a control character at byte %zu", what, bad);
    return ACCEL_OK;
}

static bool is_word(const char *text)
{
    for (const char *p = text; *p != '\0'; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || strchr("._-", *p) != NULL))
            return false;
    return *text != '\0';
}

static int32_t check_option_value(const struct accel_option *option, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    switch (option->type) {
    case ACCEL_OPTION_INTEGER:
        if (option->lowest > option->integer || option->integer > option->highest)
            code = fault(error, option->name, "has a default outside of its range", (uint64_t)option->integer);
        break;
    case ACCEL_OPTION_FLAG:
        if (option->integer != 0 && option->integer != 1)
            code = fault(error, option->name, "is a flag with a default other than 0 and 1", (uint64_t)option->integer);
        break;
    case ACCEL_OPTION_REAL:
        if (!isfinite(option->real))
            code = fault(error, option->name, "has a default that is not finite", 0);
        break;
    case ACCEL_OPTION_TEXT:
        code = accel_check_driver_text(option->text, "the default of an option", error);
        if (code == ACCEL_OK && option->choices != NULL)
            code = accel_check_driver_text(option->choices, "the choices of an option", error);
        if (code == ACCEL_OK && option->choices != NULL && !accel_word_is_among(option->choices, option->text))
            code = fault(error, option->name, "has a default that is none of its choices", 0);
        break;
    default:
        code = fault(error, option->name, "has an unknown type", option->type);
    }
    return code;
}

static int32_t check_option(const struct accel_option *option, struct accel_error *error)
{
    int32_t code;
    if (option == NULL)
        return fault(error, "an option", "is NULL", 0);
    code = accel_open_check(option, ACCEL_END_OF(struct accel_option, choices), ACCEL_OPEN_IGNORE_TAIL, "bad facts",
                            "accel_option", error);
    if (code == ACCEL_OK)
        code = accel_check_driver_text(option->name, "the name of an option", error);
    if (code == ACCEL_OK && !is_word(option->name))
        code = BAD_FACTS(error, "the option \"%.64s\" is not a lower-case word", option->name);
    if (code == ACCEL_OK)
        code = accel_check_driver_text(option->help, "the help of an option", error);
    return code == ACCEL_OK ? check_option_value(option, error) : code;
}

static int32_t check_options(const struct accel_driver *given, struct accel_error *error)
{
    if (given->option_count > ACCEL_DRIVER_OPTIONS)
        return fault(error, "the driver", "has too many options", given->option_count);
    if (given->option_count > 0 && given->options == NULL)
        return fault(error, "the driver", "has options and no table of them", given->option_count);
    for (uint32_t i = 0; i < given->option_count; i++) {
        int32_t code = check_option(given->options[i], error);
        if (code != ACCEL_OK)
            return code;
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(given->options[i]->name, given->options[j]->name) == 0)
                return fault(error, given->options[i]->name, "is an option twice", i);
    }
    return ACCEL_OK;
}

/* Compares driver and note; a difference means that the file was built wrongly. */
static int32_t check_against_note(const struct accel_driver *given, const struct accel_plugin_note *note,
                                  struct accel_error *error)
{
    if (strcmp(given->name, note->name) != 0)
        return BAD_FACTS(error, "the driver is named \"%.64s\" and its note has the name \"%s\"", given->name,
                         note->name);
    if (strcmp(given->version, note->version) != 0)
        return BAD_FACTS(error, "the driver has the version \"%.64s\" and its note has \"%.64s\"", given->version,
                         note->version);
    if (given->abi_minor != note->abi_minor || given->abi_lowest != note->abi_lowest)
        return BAD_FACTS(error, "the driver has the ABI %u.%u (lowest minor %u) and its note has %u.%u (%u)",
                         given->abi_major, given->abi_minor, given->abi_lowest, note->abi_major, note->abi_minor,
                         note->abi_lowest);
    return ACCEL_OK;
}

static int32_t check_driver(const struct accel_driver *given, const struct accel_plugin_note *note,
                            struct accel_error *error)
{
    int32_t code;
    if (given == NULL || (uintptr_t)given % _Alignof(struct accel_driver) != 0)
        return fault(error, "the driver", "is NULL or not aligned", (uintptr_t)given);
    code = accel_open_check(given, ACCEL_END_OF(struct accel_driver, attach), ACCEL_OPEN_IGNORE_TAIL, "bad facts",
                            "accel_driver", error);
    if (code != ACCEL_OK)
        return code;
    if (given->abi_major != ACCEL_ABI_MAJOR || given->abi_lowest > ACCEL_ABI_MINOR ||
        given->abi_minor < ACCEL_PLUGIN_LOWEST_MINOR)
        return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_ABI,
                              "the driver is made for the ABI %u.%u (lowest minor %u); this library has %u.%u",
                              given->abi_major, given->abi_minor, given->abi_lowest, ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR);
    if (given->flags != 0)
        return fault(error, "the driver", "has unknown flags", given->flags);
    if (given->attach == NULL)
        return fault(error, "the driver", "has no attach", 0);
    code = accel_check_driver_text(given->name, "the name of the driver", error);
    if (code == ACCEL_OK)
        code = accel_check_driver_text(given->version, "the version of the driver", error);
    if (code == ACCEL_OK && note != NULL)
        code = check_against_note(given, note, error);
    return code == ACCEL_OK ? check_options(given, error) : code;
}

/* Copies the members of an open struct that both sides know. */
static void copy_open(void *to, size_t to_bytes, const void *from, uint32_t from_bytes)
{
    uint32_t bytes = from_bytes < to_bytes ? from_bytes : (uint32_t)to_bytes;
    memcpy(to, from, bytes);
    memcpy(to, &bytes, sizeof(bytes));
}

static const char *copy_text(struct accel_arena *arena, const char *text, bool *lost)
{
    const char *copy = text ? accel_arena_strdup(arena, text) : NULL;
    if (text != NULL && copy == NULL)
        *lost = true;
    return copy;
}

static const struct accel_option *copy_option(struct accel_arena *arena, const struct accel_option *given, bool *lost)
{
    struct accel_option *option = accel_arena_array(arena, 1, sizeof(*option));
    if (option == NULL) {
        *lost = true;
        return NULL;
    }
    copy_open(option, sizeof(*option), given, given->size);
    option->name = copy_text(arena, given->name, lost);
    option->help = copy_text(arena, given->help, lost);
    /* Ignores members of other types, which may have any value. */
    option->text = given->type == ACCEL_OPTION_TEXT ? copy_text(arena, given->text, lost) : NULL;
    option->choices = given->type == ACCEL_OPTION_TEXT ? copy_text(arena, given->choices, lost) : NULL;
    return option;
}

static const struct accel_driver *copy_driver(struct accel_arena *arena, const struct accel_driver *given, bool *lost)
{
    struct accel_driver *driver = accel_arena_array(arena, 1, sizeof(*driver));
    const struct accel_option **options =
        accel_arena_array(arena, given->option_count ? given->option_count : 1, sizeof(*options));
    if (driver == NULL || options == NULL) {
        *lost = true;
        return NULL;
    }
    copy_open(driver, sizeof(*driver), given, given->size);
    driver->name = copy_text(arena, given->name, lost);
    driver->version = copy_text(arena, given->version, lost);
    for (uint32_t i = 0; i < given->option_count; i++)
        options[i] = copy_option(arena, given->options[i], lost);
    driver->options = options;
    return driver;
}

int32_t accel_import_driver(const struct accel_driver *given, const struct accel_plugin_note *note,
                            struct accel_arena *arena, const struct accel_driver **out_driver,
                            struct accel_error *error)
{
    bool lost = false;
    int32_t code = check_driver(given, note, error);
    *out_driver = NULL;
    if (code != ACCEL_OK)
        return code;
    *out_driver = copy_driver(arena, given, &lost);
    if (lost) {
        *out_driver = NULL;
        return accel_error_no_memory(error, "for the facts of a driver");
    }
    return ACCEL_OK;
}
