/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/source.h"

#include <string.h>

static const struct conform_tensor *find(const struct accel_source *table, const char *key, uint32_t plane)
{
    const struct conform_source *source = (const struct conform_source *)table;
    const struct conform_tensor *tensor = source->find(source, key);

    return tensor != NULL && plane < tensor->format.planes ? tensor : NULL;
}

static int32_t source_map(const struct accel_source *source, const char *key, uint32_t plane, const void **out_address,
                          uint64_t *out_bytes, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct conform_tensor *tensor = find(source, key, plane);

    if (tensor == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "the source has no plane %u of %s", plane, key);
    *out_address = tensor->planes[plane];
    *out_bytes = tensor->bytes[plane];
    return ACCEL_OK;
}

static int32_t source_read(const struct accel_source *source, const char *key, uint32_t plane, uint64_t offset,
                           void *memory, uint64_t bytes, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct conform_tensor *tensor = find(source, key, plane);

    if (tensor == NULL || offset > tensor->bytes[plane] || bytes > tensor->bytes[plane] - offset)
        return accel_error_set(error, ACCEL_E_INVALID, "the driver requested %llu bytes at %llu of plane %u of %s",
                               (unsigned long long)bytes, (unsigned long long)offset, plane, key);
    memcpy(memory, (const char *)tensor->planes[plane] + offset, bytes);
    return ACCEL_OK;
}

void conform_source_init(struct conform_source *source,
                         const struct conform_tensor *(*find_tensor)(const struct conform_source *source,
                                                                     const char *key))
{
    *source = (struct conform_source){.table = {.size = sizeof(source->table), .map = source_map, .read = source_read},
                                      .find = find_tensor};
}
