/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/rows.h"

#include <stdlib.h>

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

void *accel_rows_get(const struct accel_rows *rows, uint32_t index)
{
    return index < rows->count ? rows->items[index] : NULL;
}

void accel_rows_free(struct accel_rows *rows)
{
    free(rows->items);
    *rows = (struct accel_rows){0};
}
