/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Evidence: observations of a machine, as items of a kind ("node", "library") and a name ("/dev/fb0"), each with
 * text pairs of key and value. It decouples the code that gathers, evaluates and writes it.
 * All data lives in the arena passed to init. A lack of memory is sticky, and checked once, at the end. One owner
 * while it grows; any number of readers afterwards. */
#ifndef TOOLS_DOCTOR_EVIDENCE_H
#define TOOLS_DOCTOR_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"

/** One observation of an item. */
struct accel_evidence_pair {
    const char *key;
    const char *value;
    struct accel_evidence_pair *next;
};

/** One observed item. */
struct accel_evidence_item {
    const char *kind;
    const char *name;
    struct accel_evidence_pair *first; /**< in insertion order */
    struct accel_evidence_pair *last;
    struct accel_evidence_item *next;
};

/** All items. */
struct accel_evidence {
    struct accel_arena *arena;
    struct accel_evidence_item *first;
    struct accel_evidence_item *last;
    bool failed; /**< memory ran out */
};

/** Initializes an empty struct. */
void accel_evidence_init(struct accel_evidence *evidence, struct accel_arena *arena);

struct accel_yaml_node;

/** Adds the items of a snapshot that was read; `list` may be NULL. */
void accel_evidence_read(struct accel_evidence *evidence, const struct accel_yaml_node *list);

/** Adds an item; NULL without memory, which the next functions accept. */
struct accel_evidence_item *accel_evidence_add(struct accel_evidence *evidence, const char *kind, const char *name);

/** Adds a pair. */
void accel_evidence_put(struct accel_evidence *evidence, struct accel_evidence_item *item, const char *key,
                        const char *value);

/** Adds "true" or "false". */
void accel_evidence_flag(struct accel_evidence *evidence, struct accel_evidence_item *item, const char *key,
                         bool value);

/** Adds a number. */
void accel_evidence_number(struct accel_evidence *evidence, struct accel_evidence_item *item, const char *key,
                           uint64_t value);

/** Finds the item of this kind and name, or returns NULL. */
const struct accel_evidence_item *accel_evidence_find(const struct accel_evidence *evidence, const char *kind,
                                                      const char *name);

/** Returns a value of an item (which may be NULL), or NULL. */
const char *accel_evidence_value(const struct accel_evidence_item *item, const char *key);

/** Returns whether the value is "true". */
bool accel_evidence_is(const struct accel_evidence_item *item, const char *key);

#endif
