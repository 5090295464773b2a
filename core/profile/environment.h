/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the environment says about settings: names of the documents, as environment.yaml lists them; ACCEL_... for each
 * setting; ACCEL_DRIVER_... for options of the driver in question. The table is data of its arena; nothing of the
 * environment is kept.
 */
#ifndef ACCEL_CORE_PROFILE_ENVIRONMENT_H
#define ACCEL_CORE_PROFILE_ENVIRONMENT_H

#include <accel/error.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/log.h"
#include "core/profile/keys.h"
#include "core/profile/profile.h"

struct accel_faults;

/** One setting of a value: text in the form in which settings are written. */
struct accel_alias_setting {
    struct accel_alias_setting *next;
    const struct accel_key *key;
    const char *text;
};

/** One value that a variable may have. */
struct accel_alias_value {
    struct accel_alias_value *next;
    const char *text;
    struct accel_alias_setting *settings;
};

/** Another name for a setting. */
struct accel_alias {
    struct accel_alias *next;
    const char *name;
    const struct accel_key *key;      /**< NULL where each value says what it sets */
    const char *unit;                 /**< put behind a number, or empty */
    struct accel_alias_value *values; /**< NULL: those of the setting itself */
    const char *place;                /**< "FILE:LINE" */
    const char *because;
};

/** What names begin with that belong to the table alone, so that an unknown one is a mistake. */
struct accel_alias_prefix {
    struct accel_alias_prefix *next;
    const char *text;
};

/** The table. */
struct accel_aliases {
    struct accel_arena arena;
    const char *path;
    struct accel_alias *first;
    struct accel_alias *last;
    struct accel_alias_prefix *prefixes;
    uint32_t count;
    bool is_absent; /**< there is no such file: no other names */
};

/** Reads `root`/environment.yaml. `*aliases` is overwritten; free it in every case. */
int32_t accel_aliases_read(struct accel_aliases *aliases, const char *root, struct accel_error *error);

/** The same from text. `faults` takes every error but those that leave nothing to read; NULL: the first one ends the
 *  reading. A table that had faults is no table. */
int32_t accel_aliases_parse(struct accel_aliases *aliases, const char *path, const char *data, size_t bytes,
                            struct accel_faults *faults, struct accel_error *error);

void accel_aliases_free(struct accel_aliases *aliases);

/** What one variable asks for. */
struct accel_wish {
    struct accel_wish *next;
    const char *key;
    const char *text;    /**< as settings are written */
    const char *place;   /**< "environment ACCEL_CONTEXT" */
    const char *because; /**< or empty */
};

/**
 * What the environment asks for, weakest first, in `arena`. `driver` may be NULL. ACCEL_E_INVALID: a variable of the
 * table has a value that the table does not know.
 */
int32_t accel_environment_wishes(const struct accel_aliases *aliases, const char *driver, struct accel_arena *arena,
                                 const struct accel_wish **out_wishes, struct accel_error *error);

/**
 * Tells of variables that look as if they were meant for this library and are not known: those with a prefix
 * of the table that it does not have, and ACCEL_... that is no setting, no variable of the library, and no option of
 * one of the `drivers`. An ACCEL_... that no name is near to is information, all others are warnings.
 * Answers how many there are; `function` may be NULL.
 */
uint32_t accel_environment_unknown(const struct accel_aliases *aliases, const char *const *drivers,
                                   uint32_t driver_count, accel_profile_unknown function, void *data);

#endif
