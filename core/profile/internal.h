/* SPDX-License-Identifier: Apache-2.0 */
/** @file Shared by the files of this room only. */
#ifndef ACCEL_CORE_PROFILE_INTERNAL_H
#define ACCEL_CORE_PROFILE_INTERNAL_H

#include "core/profile/language.h"
#include "core/profile/profile.h"

/** The file of one platform. */
struct accel_profile_platform {
    struct accel_profile_platform *next;
    struct accel_profile_file file;
    struct accel_error failure; /**< why the file cannot be used; its code is ACCEL_OK where it can */
};

struct accel_profile {
    char *folder;
    struct accel_profile_file base;
    struct accel_profile_platform *platforms;
};

/** The file of a platform, or NULL. */
const struct accel_profile_platform *accel_profile_platform_find(const struct accel_profile *profile, const char *name);

/** Repeats why the file of a platform cannot be used; ACCEL_OK where it can. */
int32_t accel_profile_platform_failure(const struct accel_profile_platform *platform, struct accel_error *error);

#endif
