/* SPDX-License-Identifier: Apache-2.0 */
/** @file Settings from the environment: names of the documents, as listed in environment.yaml; ACCEL_... for each
 * setting; ACCEL_DRIVER_... for options of the driver in question. The table is data of its arena; the
 * environment's strings are copied. */
#ifndef ACCEL_CORE_PROFILE_ENVIRONMENT_H
#define ACCEL_CORE_PROFILE_ENVIRONMENT_H

#include <stdbool.h>

#include <accel/error.h>

#include "core/base/arena.h"
#include "core/profile/keys.h"
#include "core/profile/setting.h"

struct accel_faults;

/** One setting of a value, as text in the form of settings. */
struct accel_alias_setting {
    struct accel_alias_setting *next;
    const struct accel_setting_row *key;
    const char *text;
};

/** One accepted value of a variable. */
struct accel_alias_value {
    struct accel_alias_value *next;
    const char *text;
    struct accel_alias_setting *settings;
};

/** Another name for a setting. */
struct accel_alias {
    struct accel_alias *next;
    const char *name;
    const struct accel_setting_row *key; /**< NULL if each value names its settings */
    const char *unit;                    /**< unit appended to a bare number, or empty */
    struct accel_alias_value *values;    /**< NULL: the values of the setting itself */
    const char *place;                   /**< "FILE:LINE" */
    const char *reason;
};

/** A prefix whose variable names all belong to the table, so an unknown one is a mistake. */
struct accel_alias_prefix {
    struct accel_alias_prefix *next;
    const char *text;
};

/** The contents of environment.yaml. */
struct accel_aliases {
    struct accel_arena arena;
    const char *path;
    struct accel_alias *first;
    struct accel_alias *last;
    struct accel_alias_prefix *prefixes;
    uint32_t count;
    bool is_absent; /**< the file does not exist: there are no other names */
};

/** Reads `root`/environment.yaml. `*aliases` is overwritten; free it in every case. */
int32_t accel_aliases_read(struct accel_aliases *aliases, const char *root, struct accel_error *error);

/** Reads the table from text. `faults` receives every error except those after which reading cannot continue; NULL:
 * reading stops at the first error. Do not use a table that had faults. */
int32_t accel_aliases_parse(struct accel_aliases *aliases, const char *path, const char *data, size_t bytes,
                            struct accel_faults *faults, struct accel_error *error);

void accel_aliases_free(struct accel_aliases *aliases);

/** The setting that one variable requests. */
struct accel_environment_setting {
    struct accel_environment_setting *next;
    const char *key;
    const char *text;   /**< in the form of settings */
    const char *place;  /**< "environment ACCEL_CONTEXT" */
    const char *reason; /**< reason from the table, or empty */
    bool is_alias;      /**< the variable belongs to another program and is listed in the table */
};

/** Reads a variable that limits the library: ACCEL_COMPILE_MILLISECONDS, ACCEL_COMPILE_BYTES or ACCEL_PACKED_BYTES, a
 * number with or without a unit. `*out_limit` is `fallback` if it is not set. ACCEL_E_INVALID: it is no such number. */
int32_t accel_environment_limit(const char *name, uint64_t fallback, uint64_t *out_limit, struct accel_error *error);

/** Collects the settings that the environment requests, weakest first, in `arena`. `driver` may be NULL.
 * ACCEL_E_INVALID: a variable has a value that the table does not list, or a limit of the library is no number. */
int32_t accel_environment_read(const struct accel_aliases *aliases, const char *driver, struct accel_arena *arena,
                               const struct accel_environment_setting **out_settings, struct accel_error *error);

/** Returns whether a variable is ACCEL_DRIVER_OPTION. */
bool accel_environment_is_option(const char *driver, const char *variable);

/** Reports variables that seem meant for this library and are unknown: those with a prefix of the table that it
 * does not list, and ACCEL_... that is no setting, no variable of the library, and no option of one of the
 * `drivers`. Variables of this project's tests are left out. */
void accel_environment_unknown(const struct accel_aliases *aliases, const char *const *drivers, uint32_t driver_count,
                               accel_profile_unknown function, void *data);

#endif
