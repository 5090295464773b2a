/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * One profile file, read and checked: statements in the order in which they count, locks, and the facts that it
 * matches. What can be told without facts is told here, with file:line:column. Everything lives in the file's arena.
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
    const struct accel_key *key; /**< a row of keys.def, or one of type ACCEL_KEY_TEXT for an option of the driver */
    struct accel_key_value value;
    const struct accel_condition *conditions; /**< all have to hold; NULL: always */
    const char *place;                        /**< "FILE:LINE" */
    const char *because;                      /**< may be empty */
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
    const char *name; /**< "base", "cpu" */
    const struct accel_condition *match;
    struct accel_statement *first;
    struct accel_statement *last;
    struct accel_lock *locks;
    bool is_absent; /**< the file itself could not be found, as against one that it inherits */
};

/** Reads `folder`/`name`.yaml and what it inherits. `*file` is overwritten; free it in every case. */
int32_t accel_profile_file_read(struct accel_profile_file *file, const char *folder, const char *name,
                                struct accel_error *error);

/** The same from text; nothing can be inherited when `folder` is NULL. */
int32_t accel_profile_file_parse(struct accel_profile_file *file, const char *folder, const char *name,
                                 const char *path, const char *data, size_t bytes, struct accel_error *error);

void accel_profile_file_free(struct accel_profile_file *file);

/** True for a name that a file may have: lower case letters, digits, '-' and '_', at most 63 bytes. */
bool accel_profile_name_valid(const char *name);

#endif
