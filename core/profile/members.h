/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Mappings whose names are known: every reader of a YAML tree takes them the same way, so that an unknown name, a
 * missing one, and one of the wrong kind give the same words everywhere.
 *
 * Ownership: nodes and names stay the caller's. Threads: no state.
 */
#ifndef ACCEL_CORE_PROFILE_MEMBERS_H
#define ACCEL_CORE_PROFILE_MEMBERS_H

#include <accel/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/profile/yaml.h"

/** Names that one mapping may have at most. */
#define ACCEL_MEMBERS_MAX 24u

/** The value of one of the names that a mapping may have. */
struct accel_member {
    const char *name;
    bool required;
    enum accel_yaml_kind kind;           /**< wanted */
    bool any_kind;                       /**< the caller checks the kind: conditions, lists that may be one name */
    const struct accel_yaml_node *value; /**< filled, NULL where absent */
};

/** Whoever wants all errors of a file and not the first alone: each is given to `take` and forgotten, and reading goes
 *  on behind it. */
struct accel_faults {
    void (*take)(void *data, const struct accel_error *error);
    void *data;
    uint32_t count; /**< given so far */
};

/** What an error is to its reader: `code` where `faults` is NULL, or where there is no memory; else it is given to
 *  them, and ACCEL_OK. A code whose error is empty has been given already. */
int32_t accel_faults_pass(struct accel_faults *faults, int32_t code, struct accel_error *error);

/** Fills `value` of `members`, of which there are at most ACCEL_MEMBERS_MAX. ACCEL_E_CORRUPT for an unknown name (with
 * a suggestion), a wrong kind, and one that is missing. */
int32_t accel_members_take(const char *path, const struct accel_yaml_node *mapping, struct accel_member *members,
                           uint32_t count, struct accel_error *error);

/** The same, going on behind unknown names and wrong kinds where `faults` are wanted. What is required and missing is
 *  an error all the same: nothing can be read without. */
int32_t accel_members_take_all(const char *path, const struct accel_yaml_node *mapping, struct accel_member *members,
                               uint32_t count, struct accel_faults *faults, struct accel_error *error);

/**
 * ACCEL_E_CORRUPT at a word that is none of those known: "PATH:LINE:COLUMN: " and the text, then `nearest`, what may
 * have been meant, where that is not NULL.
 */
int32_t accel_members_refuse_word(const char *path, const struct accel_yaml_node *node, const char *nearest,
                                  struct accel_error *error, const char *format, ...) ACCEL_PRINTF(5, 6);

/** "PATH:LINE" of a node in `arena`; NULL without memory. */
const char *accel_members_place(const char *path, const struct accel_yaml_node *node, struct accel_arena *arena);

#endif
