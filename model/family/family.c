/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "model/family/families.h"

static const struct model_family *const families[] = {
#define FAMILY(name) &family_##name,
#include "model/family/families.def"
#undef FAMILY
};

static bool is_called(const struct model_family *family, const char *architecture)
{
    return strcmp(family->architecture, architecture) == 0 ||
           (family->gguf_architecture != NULL && strcmp(family->gguf_architecture, architecture) == 0);
}

const struct model_family *model_family_at(size_t place)
{
    return place < sizeof(families) / sizeof(families[0]) ? families[place] : NULL;
}

int32_t model_family_find(const char *path, const char *architecture, const struct model_family **out_family,
                          struct accel_error *error)
{
    const size_t count = sizeof(families) / sizeof(families[0]);

    *out_family = NULL;
    for (size_t i = 0; i < count; i++)
        if (is_called(families[i], architecture)) {
            *out_family = families[i];
            return ACCEL_OK;
        }
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: architecture \"%s\" has no implementation here", path,
                    architecture);
    /* A remedy is too short for all names. */
    accel_error_remedy(error, "accelctl info --help lists the %zu supported architectures", count);
    return accel_error_origin(error, ACCEL_FROM_MODEL, ACCEL_E_UNSUPPORTED);
}
