/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Evidence: what was seen of a machine, as items of a kind ("node", "library") and a name ("/dev/fb0"), each with pairs
 * of key and value, all of them text. Who gathers, who evaluates and who writes it into a file do not know each other.
 *
 * Everything lies in the arena that it was begun with. A lack of memory is sticky, and is asked for once, at the end.
 * One owner while it grows; any number of readers afterwards.
 */
#ifndef ACCEL_CORE_SNAPSHOT_EVIDENCE_H
#define ACCEL_CORE_SNAPSHOT_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"

/** One thing seen of an item. */
struct accel_evidence_pair {
    const char *key;
    const char *value;
    struct accel_evidence_pair *next;
};

/** One thing that was looked at. */
struct accel_evidence_item {
    const char *kind;
    const char *name;
    struct accel_evidence_pair *first; /**< in the order in which they were put */
    struct accel_evidence_pair *last;
    struct accel_evidence_item *next;
};

/** All of it. */
struct accel_evidence {
    struct accel_arena *arena;
    struct accel_evidence_item *first;
    struct accel_evidence_item *last;
    bool failed; /**< memory ran out */
};

/** Begins with nothing. */
void accel_evidence_init(struct accel_evidence *evidence, struct accel_arena *arena);

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

/** The item of this kind and name, or NULL. */
const struct accel_evidence_item *accel_evidence_find(const struct accel_evidence *evidence, const char *kind,
                                                      const char *name);

/** A value of an item (which may be NULL), or NULL. */
const char *accel_evidence_value(const struct accel_evidence_item *item, const char *key);

/** True when the value is "true". */
bool accel_evidence_is(const struct accel_evidence_item *item, const char *key);

#endif
