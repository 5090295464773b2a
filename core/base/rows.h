/* SPDX-License-Identifier: Apache-2.0 */
/** @file A growing list of pointers, which do not belong to it. One owner while it grows; any reader afterwards. */
#ifndef ACCEL_CORE_BASE_ROWS_H
#define ACCEL_CORE_BASE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/** Read-only for users. Zeroed: empty. */
struct accel_rows {
    void **items;
    uint32_t count;
    uint32_t capacity;
};

/** Appends; false without memory. */
bool accel_rows_add(struct accel_rows *rows, void *item);

/** The item at `index`, or NULL past the end. */
void *accel_rows_get(const struct accel_rows *rows, uint32_t index);

/** Frees the list, not what it points to; it is empty then. */
void accel_rows_free(struct accel_rows *rows);

#endif
