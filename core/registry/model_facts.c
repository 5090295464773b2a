/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of models, read from the profile folder of the context. */
#include "config.h"

#include <stdlib.h>

#include <accel/profile.h>

#include "core/profile/profile.h"
#include "core/registry/context.h"

int32_t accel_model_facts_read(const struct accel_context *context, const char *name,
                               accel_model_fact_function function, void *data, struct accel_error *error) ACCEL_NOEXCEPT
{
    char *folder = NULL;
    int32_t code;
    if (context == NULL || function == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_model_facts_read needs a context and a function");
    code = accel_profile_folder(context, &folder, error);
    if (code == ACCEL_OK)
        code = accel_profile_models_read(folder, name, function, data, error);
    free(folder);
    return code;
}
