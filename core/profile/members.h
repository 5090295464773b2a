/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads mappings with known names. Every reader of a YAML tree uses it, so an unknown name, a missing name and a value
 * of the wrong kind give the same messages everywhere.
 *
 * Ownership: nodes and names stay the caller's. Threads: no state.
 */
#ifndef ACCEL_CORE_PROFILE_MEMBERS_H
#define ACCEL_CORE_PROFILE_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/error.h>

#include "core/base/arena.h"
#include "core/profile/yaml.h"

/** Maximum names of one mapping. */
#define ACCEL_MEMBERS_MAX 24u

/** A known name of a mapping, and its value. */
struct accel_member {
    const char *name;
    bool required;
    enum accel_yaml_kind kind;           /**< required kind */
    bool any_kind;                       /**< the caller checks the kind: conditions, lists that may be one name */
    const struct accel_yaml_node *value; /**< output, NULL if absent */
};

/** Receiver of all errors of a file instead of the first alone: each error is passed to `report` and cleared, and
 * reading continues behind it. */
struct accel_faults {
    void (*report)(void *data, const struct accel_error *error);
    void *data;
    uint32_t count; /**< errors passed so far */
};

/** Handles an error: returns `code` if `faults` is NULL or memory ran out; otherwise passes the error to `faults`
 * and returns ACCEL_OK. A code with an empty error was passed already. */
int32_t accel_faults_pass(struct accel_faults *faults, int32_t code, struct accel_error *error);

/** Fills `value` of `members`, at most ACCEL_MEMBERS_MAX. ACCEL_E_INVALID for an unknown name (with a suggestion), a
 * wrong kind, and a missing name. If `faults` is not NULL, reading continues behind unknown names and wrong kinds; a
 * missing required name is always an error: the mapping cannot be read without. `remedy`, or NULL, is the remedy for
 * unknown and missing names. */
int32_t accel_members_read(const char *path, const struct accel_yaml_node *mapping, struct accel_member *members,
                           uint32_t count, const char *remedy, struct accel_faults *faults, struct accel_error *error);

/** Sets ACCEL_E_INVALID at an unknown word: "PATH:LINE:COLUMN: " and the text, then the suggestion `nearest` unless
 * it is NULL. */
int32_t accel_members_refuse_word(const char *path, const struct accel_yaml_node *node, const char *nearest,
                                  struct accel_error *error, const char *format, ...) ACCEL_PRINTF(5, 6);

/** Returns "PATH:LINE" of a node in `arena`; NULL if memory runs out. */
const char *accel_members_place(const char *path, const struct accel_yaml_node *node, struct accel_arena *arena);

#endif
