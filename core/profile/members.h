/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Reads YAML mappings whose names are known. All readers of YAML trees use it, so that unknown names, missing names and
 * values of the wrong kind give the same messages.
 *
 * Ownership: the caller owns nodes and names. Thread-safe.
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
    bool any_kind;                       /**< the caller checks the kind, as for a list that may be a single name */
    const struct accel_yaml_node *value; /**< output, NULL if absent */
};

/** Collects all errors of a file, not the first: each is passed to `report` and cleared, and reading continues. */
struct accel_faults {
    void (*report)(void *data, const struct accel_error *error);
    void *data;
    uint32_t count; /**< errors reported so far */
};

/** Reports an error to `faults` and returns ACCEL_OK; returns `code` if `faults` is NULL or memory ran out. An empty
 * error was reported before. */
int32_t accel_faults_pass(struct accel_faults *faults, int32_t code, struct accel_error *error);

/** Fills `value` of up to ACCEL_MEMBERS_MAX `members`. Returns ACCEL_E_INVALID for an unknown name (with a suggestion),
 * a value of the wrong kind, and a missing required name. If `faults` is not NULL, it receives unknown names and wrong
 * kinds, and reading continues; a missing required name is returned in any case. `remedy`, or NULL, is the remedy for
 * unknown and missing names. */
int32_t accel_members_read(const char *path, const struct accel_yaml_node *mapping, struct accel_member *members,
                           uint32_t count, const char *remedy, struct accel_faults *faults, struct accel_error *error);

/** Refuses an unknown word with ACCEL_E_INVALID: "PATH:LINE:COLUMN: ", the text, the suggestion `nearest` or none. */
int32_t accel_members_refuse_word(const char *path, const struct accel_yaml_node *node, const char *nearest,
                                  struct accel_error *error, const char *format, ...) ACCEL_PRINTF(5, 6);

/** Returns "PATH:LINE" of a node in `arena`; NULL if memory runs out. */
const char *accel_members_place(const char *path, const struct accel_yaml_node *node, struct accel_arena *arena);

#endif
