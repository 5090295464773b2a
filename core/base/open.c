/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/open.h"

#include <string.h>

#include <accel/abi.h>

/* Reads the size, the first member of every open struct. */
static uint32_t size_of(const void *given)
{
    uint32_t size;
    memcpy(&size, given, sizeof(size));
    return size;
}

int32_t accel_open_check(const void *given, size_t minimum, size_t known, const char *who, const char *what,
                         struct accel_error *error)
{
    const unsigned char *bytes = given;
    uint32_t size;
    if (given == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: %s is NULL", who, what);
    size = size_of(given);
    if (size < minimum || size > ACCEL_OPEN_LIMIT || size % 8 != 0)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "%s: %s.size is %u; ABI %u.%u allows %zu to %u in multiples of 8", who, what, size,
                               ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR, minimum, ACCEL_OPEN_LIMIT);
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return accel_error_set(error, ACCEL_E_UNSUPPORTED,
                                   "%s: byte %zu of %s belongs to a member that ABI %u.%u does not know, and is set",
                                   who, i, what, ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR);
    return ACCEL_OK;
}

int32_t accel_open_copy(const void *given, size_t minimum, size_t known, const char *who, const char *what,
                        void *out_copy, struct accel_error *error)
{
    int32_t code = accel_open_check(given, minimum, known, who, what, error);
    if (code != ACCEL_OK)
        return code;
    memset(out_copy, 0, known);
    memcpy(out_copy, given, size_of(given) < known ? size_of(given) : known);
    return ACCEL_OK;
}
