/* SPDX-License-Identifier: Apache-2.0 */
/* Grows arrays on the heap. Any thread that owns the array. */
#ifndef ACCELCTL_ARRAY_H
#define ACCELCTL_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Ensures that the array at `array`, a pointer to its pointer, has capacity for `count` elements of `element` bytes;
 * the capacity doubles. False without memory; nothing is changed then. */
static inline bool array_reserve(void *array, size_t *capacity, size_t count, size_t element)
{
    size_t wanted = *capacity < 8 ? 16 : *capacity * 2;
    void *old, *more;

    if (count <= *capacity)
        return true;
    if (wanted < count)
        wanted = count;
    memcpy(&old, array, sizeof(old));
    more = wanted > SIZE_MAX / element ? NULL : realloc(old, wanted * element);
    if (more == NULL)
        return false;
    memcpy(array, &more, sizeof(more));
    *capacity = wanted;
    return true;
}

#endif
