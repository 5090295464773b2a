/* SPDX-License-Identifier: Apache-2.0 */
/** @file Resolved settings by name. For tests of cmocka. */
#ifndef ACCEL_TESTS_UNIT_SETTING_SUPPORT_H
#define ACCEL_TESTS_UNIT_SETTING_SUPPORT_H

#include <string.h>

#include "core/profile/profile.h"

/** Returns the setting called `key`, or NULL. */
static inline const struct accel_profile_setting *find_setting(const struct accel_settings *settings, const char *key)
{
    for (uint32_t i = 0; i < settings->count; i++)
        if (strcmp(settings->settings[i].key, key) == 0)
            return &settings->settings[i];
    return NULL;
}

#endif
