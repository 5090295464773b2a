/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * A growing list of pointers. One owner while it grows; any reader afterwards. A list is either on the heap, then it
 * does not own what its items point to, or in an arena with the records that it lists. */
#ifndef ACCEL_CORE_BASE_ROWS_H
#define ACCEL_CORE_BASE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"

/** Read-only for users. Zeroed: empty. */
struct accel_rows {
    void **items;
    uint32_t count;
    uint32_t capacity;
};

/** Appends to a list on the heap; false without memory. */
bool accel_rows_add(struct accel_rows *rows, void *item);

/** Appends a copy of a record of `bytes` bytes to a list in `arena`, which is not freed by itself; false without
 * memory. */
bool accel_rows_add_copy(struct accel_rows *rows, struct accel_arena *arena, const void *record, size_t bytes);

/** Returns the item at `index`, or NULL past the end. */
void *accel_rows_get(const struct accel_rows *rows, uint32_t index);

/** Frees a list on the heap but not the items; it is empty then. */
void accel_rows_free(struct accel_rows *rows);

#endif
