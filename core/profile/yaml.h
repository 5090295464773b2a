/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The part of YAML that profiles use, as a tree: one document of mappings, sequences and scalars. Anchors, aliases,
 * tags, more documents, control characters but tabs and ends of lines, duplicate keys, keys that are no scalars, and
 * anything over the limits are refused with file:line:column. A byte order mark before the first line is passed over.
 * Strings and nodes live in the arena that is given.
 */
#ifndef ACCEL_CORE_PROFILE_YAML_H
#define ACCEL_CORE_PROFILE_YAML_H

#include <accel/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"

#define ACCEL_YAML_BYTES (1u << 20) /**< of a file */
#define ACCEL_YAML_DEPTH 16u        /**< of nested mappings and sequences */
#define ACCEL_YAML_SCALAR 4096u     /**< bytes of a scalar */
#define ACCEL_YAML_CHILDREN 2048u   /**< entries of one mapping or sequence */
#define ACCEL_YAML_NODES (1u << 16) /**< in all */

/** Limits of one kind of file, none of them 0. */
struct accel_yaml_limits {
    const char *kind;  /**< what messages call it: "profile" */
    uint32_t bytes;    /**< of the file */
    uint32_t scalar;   /**< bytes of one scalar */
    uint32_t children; /**< entries of one sequence; a mapping has at most ACCEL_YAML_CHILDREN */
    uint32_t nodes;    /**< in all */
    bool is_recorded;  /**< texts are others': control characters become '?' instead of being refused */
};

/** Kinds of nodes. */
enum accel_yaml_kind { ACCEL_YAML_TEXT, ACCEL_YAML_MAPPING, ACCEL_YAML_SEQUENCE };

/** A node; the entries of a mapping are keys (with `text`), each with its value behind it in `value`. */
struct accel_yaml_node {
    enum accel_yaml_kind kind;
    uint32_t line;   /**< from 1 */
    uint32_t column; /**< from 1 */
    uint32_t child_count;
    const char *text;              /**< of a scalar and of the key of an entry */
    uint64_t hash;                 /**< of `text` */
    struct accel_yaml_node *first; /**< first entry of a sequence, first key of a mapping */
    struct accel_yaml_node *last;  /**< newest entry, while the tree grows */
    struct accel_yaml_node *next;  /**< next entry */
    struct accel_yaml_node *value; /**< of a key */
};

/** What reading a file answered, for a file in this language: one over ACCEL_YAML_BYTES is malformed, as one that is
 *  nested too deeply; limits are those of devices. `error` has the answer's text and is given its code. */
int32_t accel_yaml_read_code(int32_t code, struct accel_error *error);

/** Parses `bytes` bytes that were read from `path`, which only messages use, within the
 * limits of profiles above. */
int32_t accel_yaml_parse(const char *path, const char *data, size_t bytes, struct accel_arena *arena,
                         struct accel_yaml_node **out_root, struct accel_error *error);

/** The same with limits of the caller's; depth is ACCEL_YAML_DEPTH for all. */
int32_t accel_yaml_parse_within(const struct accel_yaml_limits *limits, const char *path, const char *data,
                                size_t bytes, struct accel_arena *arena, struct accel_yaml_node **out_root,
                                struct accel_error *error);

/** Adds the remedy for "key:value", which is one word, to an error; nothing where the node is no such word. */
void accel_yaml_remedy_colon(const struct accel_yaml_node *node, struct accel_error *error);

/** Bytes of the UTF-8 byte order mark with which `data` begins: 3 or 0. */
size_t accel_yaml_mark(const char *data, size_t bytes);

/** Sets `code` and "PATH:LINE:COLUMN: text". */
int32_t accel_yaml_refuse(const char *path, const struct accel_yaml_node *node, struct accel_error *error, int32_t code,
                          const char *format, ...) ACCEL_PRINTF(5, 6);

#endif
