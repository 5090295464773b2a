/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/rows.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16u

bool accel_rows_add(struct accel_rows *rows, void *item)
{
    if (rows->count == rows->capacity) {
        uint32_t capacity = rows->capacity == 0 ? FIRST_CAPACITY : rows->capacity * 2;
        void **items = capacity > rows->capacity ? realloc(rows->items, capacity * sizeof(*items)) : NULL;
        if (items == NULL)
            return false;
        rows->items = items;
        rows->capacity = capacity;
    }
    rows->items[rows->count++] = item;
    return true;
}

bool accel_rows_add_copy(struct accel_rows *rows, struct accel_arena *arena, const void *record, size_t bytes)
{
    void *copy = accel_arena_array(arena, 1, bytes);
    if (copy == NULL || !accel_arena_grow(arena, &rows->items, rows->count, &rows->capacity, sizeof(*rows->items)))
        return false;
    memcpy(copy, record, bytes);
    rows->items[rows->count++] = copy;
    return true;
}

void *accel_rows_get(const struct accel_rows *rows, uint32_t index)
{
    return index < rows->count ? rows->items[index] : NULL;
}

void accel_rows_free(struct accel_rows *rows)
{
    free(rows->items);
    *rows = (struct accel_rows){0};
}
