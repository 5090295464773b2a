/* SPDX-License-Identifier: Apache-2.0 */
/** @file Implements a growing list of pointers, either on the heap (the list does not own its items) or in an arena
 * together with copies of the items. One thread may append; any thread may read afterwards. */
#ifndef ACCEL_CORE_BASE_ROWS_H
#define ACCEL_CORE_BASE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"

/** A list. Members are read-only for callers; all zero is the empty list. */
struct accel_rows {
    void **items;
    uint32_t count;
    uint32_t capacity;
};

/** Appends a pointer to a list on the heap. Returns false if memory runs out. */
bool accel_rows_add(struct accel_rows *rows, void *item);

/** Appends a copy of a record of `bytes` bytes to a list in `arena`; accel_rows_free must not be called on it. Returns
 * false if memory runs out. */
bool accel_rows_add_copy(struct accel_rows *rows, struct accel_arena *arena, const void *record, size_t bytes);

/** Returns the item at `index`, or NULL past the end. */
void *accel_rows_get(const struct accel_rows *rows, uint32_t index);

/** Frees a list on the heap, but not its items, and empties it. */
void accel_rows_free(struct accel_rows *rows);

#endif
