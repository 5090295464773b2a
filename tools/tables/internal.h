/* SPDX-License-Identifier: Apache-2.0 */
/** @file Internals of this module: the tables object, and the shared state of the readers of the three files.
 * Everything that a reader makes is in the arena of the tables. */
#ifndef TOOLS_TABLES_INTERNAL_H
#define TOOLS_TABLES_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/profile/condition.h"
#include "core/profile/members.h"
#include "core/profile/yaml.h"
#include "tools/tables/tables.h"

/** One topic of advice, its steps in the order of the file. */
struct accel_advice_topic {
    const char *name;
    const char *about;
    struct accel_advice *steps;
    const struct accel_condition **conditions; /**< conditions of each step, NULL for an unconditional step */
    uint32_t count;
};

struct accel_tables {
    struct accel_arena arena;
    struct accel_compat *cells;
    struct accel_recommendation *recommendations;
    struct accel_promise *promises;
    struct accel_advice_topic *topics;
    uint32_t cell_count;
    uint32_t recommendation_count;
    uint32_t promise_count;
    uint32_t topic_count;
};

/** State of reading one file. `path` is in the arena of `tables`. */
struct accel_table_reader {
    struct accel_tables *tables;
    const char *path;
    struct accel_error *error;
};

/** Reads the root of one file, or a node of its list, into the tables. */
typedef int32_t accel_table_read(const struct accel_table_reader *reader, const struct accel_yaml_node *node);

int32_t accel_table_read_compat(const struct accel_table_reader *reader, const struct accel_yaml_node *root);
int32_t accel_table_read_claims(const struct accel_table_reader *reader, const struct accel_yaml_node *root);
int32_t accel_table_read_advice(const struct accel_table_reader *reader, const struct accel_yaml_node *root);

/** Reads the list of recommendations, a part of compat.yaml. */
int32_t accel_table_read_recommendations(const struct accel_table_reader *reader, const struct accel_yaml_node *list);

/* ---- shared ---- */

int32_t accel_table_no_memory(const struct accel_table_reader *reader);
/** Sets ACCEL_E_CORRUPT with the place of a node and the text. */
int32_t accel_table_refuse(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                           const char *text);
/** Calls accel_members_read for the reader's file. */
int32_t accel_table_take(const struct accel_table_reader *reader, const struct accel_yaml_node *mapping,
                         struct accel_member *members, uint32_t count);
/** Checks the version of a file: only version 1 is supported. */
int32_t accel_table_version(const struct accel_table_reader *reader, const struct accel_member *member);
/** Reads a file that is a version, "about" and a list: allocates an array of `bytes` for each node of the list, and
 * calls `read` for each. */
int32_t accel_table_root(const struct accel_table_reader *reader, const struct accel_yaml_node *root,
                         const char *version, const char *list, size_t bytes, void *out_array, accel_table_read *read);
/** Returns the text of a member, empty if it is absent. */
const char *accel_table_text(const struct accel_member *member);
/** Formats "PATH:LINE" of a node; *out_place is NULL only with an error. */
int32_t accel_table_place(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                          const char **out_place);
/** Allocates a zeroed array of `count` elements (NULL for none). */
int32_t accel_table_array(const struct accel_table_reader *reader, uint32_t count, size_t bytes, void *out_array);

/** Validates the source at the start of a reason: document references "S0:42-55", "S3:69,74-75", "S2:13 S4:9", or
 * "own" if no document states it. */
int32_t accel_table_source(const struct accel_table_reader *reader, const struct accel_member *member,
                           const char **out_text);
/** Validates one "KEY: VALUE" of a mapping of settings. */
int32_t accel_table_setting(const struct accel_table_reader *reader, const struct accel_yaml_node *key);
/** Formats a mapping of settings as "KEY=VALUE KEY=VALUE" and validates each; empty if the member is absent. */
int32_t accel_table_settings(const struct accel_table_reader *reader, const struct accel_member *member,
                             const char **out_text);

#endif
