/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "model/family/families.h"

/* Letters that two near names share at least. */
enum { NEAR_LEAST = 3, NEAR_BYTES = 120 };

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

static size_t common_prefix(const char *a, const char *b)
{
    size_t length = 0;

    while (a[length] != '\0' && a[length] == b[length])
        length++;
    return length;
}

/* Writes "near it: NAME, NAME; " with the families whose names share the longest beginning with the architecture:
 * versions of a family differ in their last letters. */
static void write_near(const char *architecture, char *out, size_t bytes)
{
    size_t longest = NEAR_LEAST, used = 0;

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        const size_t length = common_prefix(families[i]->architecture, architecture);

        longest = length > longest ? length : longest;
    }
    if (strlen(architecture) < longest)
        return;
    longest -= architecture[longest - 1] == '_';
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && used < bytes; i++)
        if (common_prefix(families[i]->architecture, architecture) >= longest)
            used += (size_t)snprintf(out + used, bytes - used, "%s%s", used == 0 ? "near it: " : ", ",
                                     families[i]->architecture);
    if (used != 0 && used < bytes)
        snprintf(out + used, bytes - used, "; ");
}

int32_t model_family_find(const char *path, const char *architecture, const struct model_family **out_family,
                          struct accel_error *error)
{
    const size_t count = sizeof(families) / sizeof(families[0]);
    char near[NEAR_BYTES] = "";

    *out_family = NULL;
    for (size_t i = 0; i < count; i++)
        if (is_called(families[i], architecture)) {
            *out_family = families[i];
            return ACCEL_OK;
        }
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: architecture \"%s\" has no implementation here", path,
                    architecture);
    /* A remedy is too short for all names. */
    write_near(architecture, near, sizeof(near));
    accel_error_remedy(error, "%saccelctl info --help lists the %zu supported architectures", near, count);
    return accel_error_origin(error, ACCEL_FROM_MODEL, ACCEL_E_UNSUPPORTED);
}
