/* SPDX-License-Identifier: Apache-2.0 */
/** @file Parses the subset of YAML that profiles use into a tree: one document of mappings, sequences and scalars.
 * Anchors, aliases, tags, further documents, control characters except tabs and line ends, duplicate keys, keys
 * that are no scalars, and anything over the limits are refused with file:line:column. A byte order mark before
 * the first line is skipped. Strings and nodes are in the caller's arena. */
#ifndef ACCEL_CORE_PROFILE_YAML_H
#define ACCEL_CORE_PROFILE_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

#include "core/base/arena.h"

#define ACCEL_YAML_BYTES (1u << 20) /**< bytes of a file */
#define ACCEL_YAML_DEPTH 16u        /**< depth of nested mappings and sequences */
#define ACCEL_YAML_SCALAR 4096u     /**< bytes of a scalar */
#define ACCEL_YAML_CHILDREN 2048u   /**< entries of one mapping or sequence */
#define ACCEL_YAML_NODES (1u << 16) /**< nodes in total */

/** Limits of one kind of file, none of them 0. */
struct accel_yaml_limits {
    const char *kind;  /**< name of the kind in messages: "profile" */
    uint32_t bytes;    /**< bytes of the file */
    uint32_t scalar;   /**< bytes of one scalar */
    uint32_t children; /**< entries of one sequence; a mapping has at most ACCEL_YAML_CHILDREN */
    uint32_t nodes;    /**< nodes in total */
    bool is_recorded;  /**< others recorded the texts: control characters become '?' instead of being refused */
};

/** Kinds of nodes. */
enum accel_yaml_kind { ACCEL_YAML_TEXT, ACCEL_YAML_MAPPING, ACCEL_YAML_SEQUENCE };

/** A node. The entries of a mapping are keys (with `text`), each with its value in `value`. */
struct accel_yaml_node {
    enum accel_yaml_kind kind;
    uint32_t line;   /**< from 1 */
    uint32_t column; /**< from 1 */
    uint32_t child_count;
    const char *text;              /**< text of a scalar and of the key of an entry */
    uint64_t hash;                 /**< hash of `text` */
    struct accel_yaml_node *first; /**< first entry of a sequence, first key of a mapping */
    struct accel_yaml_node *last;  /**< last entry, while the tree grows */
    struct accel_yaml_node *next;  /**< next entry */
    struct accel_yaml_node *value; /**< value of a key */
};

/** Maps the code of reading a file to the code for files in this language: a file over ACCEL_YAML_BYTES is malformed,
 * like one nested too deeply; ACCEL_E_LIMIT is for limits of devices. `error` holds the text and receives the code. */
int32_t accel_yaml_read_code(int32_t code, struct accel_error *error);

/** Parses `bytes` bytes that were read from `path`, which only messages use, within the limits of profiles above. */
int32_t accel_yaml_parse(const char *path, const char *data, size_t bytes, struct accel_arena *arena,
                         struct accel_yaml_node **out_root, struct accel_error *error);

/** Parses within limits of the caller; the maximum depth is always ACCEL_YAML_DEPTH. */
int32_t accel_yaml_parse_within(const struct accel_yaml_limits *limits, const char *path, const char *data,
                                size_t bytes, struct accel_arena *arena, struct accel_yaml_node **out_root,
                                struct accel_error *error);

/** Adds a remedy for "key:value", which is one word, to an error. Does nothing if the node is no such word. */
void accel_yaml_remedy_colon(const struct accel_yaml_node *node, struct accel_error *error);

/** Returns the bytes of the UTF-8 byte order mark at the start of `data`: 3 or 0. */
size_t accel_yaml_mark(const char *data, size_t bytes);

/** Sets `code` and "PATH:LINE:COLUMN: text". */
int32_t accel_yaml_refuse(const char *path, const struct accel_yaml_node *node, struct accel_error *error, int32_t code,
                          const char *format, ...) ACCEL_PRINTF(5, 6);

/** Returns the value of a key of a mapping, or NULL. */
const struct accel_yaml_node *accel_yaml_find(const struct accel_yaml_node *mapping, const char *key);

#endif
