/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Inside of the room: the tables' object, and what the readers of the three files share. Everything that a reader makes
 * lives in the arena of the tables.
 */
#ifndef ACCEL_CORE_TABLES_INTERNAL_H
#define ACCEL_CORE_TABLES_INTERNAL_H

#include <accel/tables.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/profile/condition.h"
#include "core/profile/members.h"
#include "core/profile/yaml.h"

/** One topic of advice, its steps in the order of the file. */
struct accel_advice_topic {
    const char *name;
    const char *about;
    struct accel_advice *steps;
    const struct accel_condition **conditions; /**< of each step, NULL where it has none */
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

/** What reading one file carries along. `path` lives in the arena of `tables`. */
struct accel_table_reader {
    struct accel_tables *tables;
    const char *path;
    struct accel_error *error;
};

/** Reads the root of one file into the tables. */
typedef int32_t (*accel_table_read)(const struct accel_table_reader *reader, const struct accel_yaml_node *root);

int32_t accel_table_read_compat(const struct accel_table_reader *reader, const struct accel_yaml_node *root);
int32_t accel_table_read_claims(const struct accel_table_reader *reader, const struct accel_yaml_node *root);
int32_t accel_table_read_advice(const struct accel_table_reader *reader, const struct accel_yaml_node *root);

/** The list of recommendations, a part of compat.yaml. */
int32_t accel_table_read_recommendations(const struct accel_table_reader *reader, const struct accel_yaml_node *list);

/* ---- shared ---- */

int32_t accel_table_no_memory(const struct accel_table_reader *reader);
/** ACCEL_E_CORRUPT with the place of a node and the text. */
int32_t accel_table_refuse(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                           const char *text);
/** accel_members_take over the reader's file. */
int32_t accel_table_take(const struct accel_table_reader *reader, const struct accel_yaml_node *mapping,
                         struct accel_member *members, uint32_t count);
/** Only version 1 of a file is known. */
int32_t accel_table_version(const struct accel_table_reader *reader, const struct accel_member *member);
/** The text of a member, empty where it is absent. */
const char *accel_table_text(const struct accel_member *member);
/** "PATH:LINE" of a node; *out_place is NULL only with an error. */
int32_t accel_table_place(const struct accel_table_reader *reader, const struct accel_yaml_node *node,
                          const char **out_place);
/** A zeroed array of `count` elements (NULL for none). */
int32_t accel_table_array(const struct accel_table_reader *reader, uint32_t count, size_t bytes, void *out_array);

/** A reason begins with its documents: "S0:42-55", "S3:69,74-75", "S2:13 S4:9"; "own" where no document says it. */
int32_t accel_table_source(const struct accel_table_reader *reader, const struct accel_member *member,
                           const char **out_text);
/** Checks one "KEY: VALUE" of a mapping of settings. */
int32_t accel_table_setting(const struct accel_table_reader *reader, const struct accel_yaml_node *key);
/** A mapping of settings as "KEY=VALUE KEY=VALUE", each checked; empty where the member is absent. */
int32_t accel_table_settings(const struct accel_table_reader *reader, const struct accel_member *member,
                             const char **out_text);

#endif
