/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One profile file, read and checked: statements in the order in which they count, locks, facts, and the conditions
 * that it matches. What can be told without facts is told here, with file:line:column. Everything lives in the file's
 * arena.
 */
#ifndef ACCEL_CORE_PROFILE_LANGUAGE_H
#define ACCEL_CORE_PROFILE_LANGUAGE_H

#include <accel/error.h>

#include "core/base/arena.h"
#include "core/profile/condition.h"
#include "core/profile/keys.h"

/** Sets one setting where its conditions hold. */
struct accel_statement {
    struct accel_statement *next;
    const struct accel_key *key; /**< a row of keys.def, or one of type ACCEL_KEY_TEXT for an option of a driver */
    struct accel_key_value value;
    const struct accel_condition *conditions; /**< all have to hold; NULL: always */
    const char *place;                        /**< "FILE:LINE" */
    const char *because;                      /**< may be empty */
};

/** States one fact. */
struct accel_fact_statement {
    struct accel_fact_statement *next;
    const struct accel_known_fact *fact;
    const char *value; /**< numbers with a unit in the base unit: "16000000000" */
    const char *place;
    const char *because; /**< may be empty */
};

/** Closes a setting to stronger layers. */
struct accel_lock {
    struct accel_lock *next;
    const char *key;
    const char *place;
};

/** A file with all that it inherits. */
struct accel_profile_file {
    struct accel_arena arena;
    uint32_t layer;       /**< ACCEL_PROFILE_BASE to ACCEL_PROFILE_FOLDER */
    const char *name;     /**< "base", "cpu", "t4" */
    const char *path;     /**< of the file itself; NULL where not even that is known */
    const char *about;    /**< its own, or empty */
    const char *inherits; /**< its own, separated by spaces, or empty */
    const struct accel_condition *match;
    struct accel_statement *first;
    struct accel_statement *last;
    struct accel_fact_statement *facts;
    struct accel_fact_statement *last_fact;
    struct accel_lock *locks;
    bool is_absent; /**< the file itself could not be found, as against one that it inherits */
};

struct accel_faults;

/** Where the text of a file comes from. */
struct accel_profile_source {
    const char *root; /**< folder of the profiles, from which a file may inherit; NULL: it cannot */
    uint32_t layer;
    const char *name;
    const char *path;            /**< for messages */
    struct accel_faults *faults; /**< takes every error of the file itself; NULL: the first one ends the reading */
};

/** Reads the file NAME.yaml of a layer's folder below `root` and what it inherits. `*file` is overwritten; free it in
 *  every case. */
int32_t accel_profile_file_read(struct accel_profile_file *file, const char *root, uint32_t layer, const char *name,
                                struct accel_error *error);

/** The same from text. */
int32_t accel_profile_file_parse(struct accel_profile_file *file, const struct accel_profile_source *source,
                                 const char *data, size_t bytes, struct accel_error *error);

/** An entry for a file that cannot even be read, with what is wrong. Answers the code of `why`. */
int32_t accel_profile_file_begin(struct accel_profile_file *file, const struct accel_profile_source *source,
                                 const struct accel_error *why, struct accel_error *error);

void accel_profile_file_free(struct accel_profile_file *file);

/** Most bytes of the name of a profile. */
#define ACCEL_PROFILE_NAME_MAX 63u

/** True for a name that a file may have: lower case letters, digits, '.', '-' and '_', at most ACCEL_PROFILE_NAME_MAX
 *  of them; it does not begin with '.'. */
bool accel_profile_name_valid(const char *name);

/** The folder of a layer below the root: "", "clients", "devices", "models". */
const char *accel_profile_layer_folder(uint32_t layer);

/** The name of a layer for people: "built in", "base", "platform", ... */
const char *accel_profile_layer_name(uint32_t layer);

#endif
