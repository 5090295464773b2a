/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/profile/internal.h"

int32_t accel_profile_create(const char *folder, struct accel_profile **out_profile, struct accel_error *error)
{
    struct accel_profile *profile;
    int32_t code;
    *out_profile = NULL;
    profile = calloc(1, sizeof(*profile));
    if (profile == NULL || (profile->folder = strdup(folder)) == NULL) {
        accel_profile_free(profile);
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for profiles");
    }
    code = accel_profile_file_read(&profile->base, folder, "base", error);
    if (code != ACCEL_OK) {
        if (code == ACCEL_E_NOT_FOUND)
            accel_error_remedy(error, "set ACCEL_PROFILE_PATH to the folder that holds base.yaml");
        accel_profile_free(profile);
        return code;
    }
    *out_profile = profile;
    return ACCEL_OK;
}

void accel_profile_free(struct accel_profile *profile)
{
    if (profile == NULL)
        return;
    while (profile->platforms) {
        struct accel_profile_platform *next = profile->platforms->next;
        accel_profile_file_free(&profile->platforms->file);
        free(profile->platforms);
        profile->platforms = next;
    }
    accel_profile_file_free(&profile->base);
    free(profile->folder);
    free(profile);
}

const struct accel_profile_platform *accel_profile_platform_find(const struct accel_profile *profile, const char *name)
{
    for (const struct accel_profile_platform *platform = profile->platforms; platform; platform = platform->next)
        if (strcmp(platform->file.name, name) == 0)
            return platform;
    return NULL;
}

int32_t accel_profile_platform_failure(const struct accel_profile_platform *platform, struct accel_error *error)
{
    if (platform->failure.code == ACCEL_OK)
        return ACCEL_OK;
    return accel_error_set(error, platform->failure.code, "%s", platform->failure.text);
}

int32_t accel_profile_add(struct accel_profile *profile, const char *name, struct accel_error *error)
{
    const struct accel_profile_platform *known;
    struct accel_profile_platform *platform;
    int32_t code;
    if (!accel_profile_name_valid(name))
        return accel_error_set(error, ACCEL_E_INVALID, "\"%.80s\" is no name of a platform", name);
    /* The base is a layer already. */
    if (strcmp(name, "base") == 0)
        return ACCEL_OK;
    known = accel_profile_platform_find(profile, name);
    if (known)
        return accel_profile_platform_failure(known, error);
    platform = calloc(1, sizeof(*platform));
    if (platform == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for profile %s", name);
    code = accel_profile_file_read(&platform->file, profile->folder, name, &platform->failure);
    /* A platform needs no file; then it says nothing. A file that is there and inherits one that is not is an error. */
    if (platform->file.is_absent)
        accel_error_clear(&platform->failure);
    /* A lack of memory passes; what is wrong with a file stays. */
    if (code == ACCEL_E_MEMORY) {
        accel_error_set(error, code, "%s", platform->failure.text);
        accel_profile_file_free(&platform->file);
        free(platform);
        return code;
    }
    platform->next = profile->platforms;
    profile->platforms = platform;
    return accel_profile_platform_failure(platform, error);
}
