/* SPDX-License-Identifier: Apache-2.0 */
/* The one place of the room that knows contexts, so that the readers can be built without devices. */
#include "config.h"

#include <stdlib.h>

#include "core/device/context.h"
#include "core/tables/tables.h"

int32_t accel_tables_read(struct accel_context *context, struct accel_tables **out_tables, struct accel_error *error)
{
    char *folder = NULL;
    int32_t code;
    if (out_tables)
        *out_tables = NULL;
    if (out_tables == NULL || context == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_tables_read wants a context and a place for the tables");
    code = accel_context_profile_folder(context, &folder, error);
    if (code == ACCEL_OK)
        code = accel_tables_load(folder, out_tables, error);
    free(folder);
    return code;
}
