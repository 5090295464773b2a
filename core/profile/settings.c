/* SPDX-License-Identifier: Apache-2.0 */
/* Accessors for the result of a resolution. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/profile/profile.h"

void accel_settings_free(struct accel_settings *settings)
{
    if (settings == NULL)
        return;
    accel_arena_free(&settings->arena);
    free(settings);
}

const struct accel_profile_setting *accel_settings_find(const struct accel_settings *settings, const char *key)
{
    for (uint32_t i = 0; i < settings->count; i++)
        if (strcmp(settings->settings[i].key, key) == 0)
            return &settings->settings[i];
    return NULL;
}

int32_t accel_settings_number(const struct accel_settings *settings, const char *key, int64_t *out_number,
                              struct accel_error *error)
{
    const struct accel_profile_setting *setting = accel_settings_find(settings, key);
    if (setting == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "setting \"%.80s\" is unknown", key);
    if (!setting->is_number)
        return accel_error_by(error, accel_setting_origin(setting), ACCEL_E_INVALID,
                              "setting %s is \"%.80s\" (%.200s), which is no number", key, setting->value,
                              setting->place);
    *out_number = setting->number;
    return ACCEL_OK;
}
