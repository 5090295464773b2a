/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/open_struct.h"

#include <string.h>

int32_t open_struct_import(const void *given, size_t minimum, size_t known, const char *what, void *out_copy,
                           struct accel_error *error)
{
    const unsigned char *bytes = given;
    uint32_t size;

    if (given == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "the caller gave no struct %s", what);
    memcpy(&size, given, sizeof(size));
    if (size < minimum || size % 8 != 0 || size > 65536)
        return accel_error_set(error, ACCEL_E_INVALID, "struct %s cannot have %u bytes: set its size to sizeof", what,
                               size);
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return accel_error_set(error, ACCEL_E_UNSUPPORTED,
                                   "struct %s has a member at byte %zu that this library does not know, and it is set",
                                   what, i);
    memset(out_copy, 0, known);
    memcpy(out_copy, given, size < known ? size : known);
    return ACCEL_OK;
}

void open_struct_export(void *out, const void *filled, size_t known)
{
    uint32_t size;

    memcpy(&size, out, sizeof(size));
    if (size < known)
        known = size;
    if (known > sizeof(size))
        memcpy((char *)out + sizeof(size), (const char *)filled + sizeof(size), known - sizeof(size));
}
