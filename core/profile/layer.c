/* SPDX-License-Identifier: Apache-2.0 */
/* Maps layers to their names and to the folders of their files. */
#include "config.h"

#include "core/profile/language.h"

static const struct {
    const char *name;
    const char *folder;
} layers[] = {
    [ACCEL_PROFILE_BUILTIN] = {"built in", ""},     [ACCEL_PROFILE_BASE] = {"base", ""},
    [ACCEL_PROFILE_PLATFORM] = {"platform", ""},    [ACCEL_PROFILE_CLIENT] = {"client", "clients"},
    [ACCEL_PROFILE_DEVICE] = {"device", "devices"}, [ACCEL_PROFILE_MODEL] = {"model", "models"},
    [ACCEL_PROFILE_SYSTEM] = {"system", ""},        [ACCEL_PROFILE_USER] = {"user", ""},
    [ACCEL_PROFILE_FOLDER] = {"folder", ""},        [ACCEL_PROFILE_ENVIRONMENT] = {"environment", ""},
    [ACCEL_PROFILE_GIVEN] = {"given", ""},
};

const char *accel_profile_layer_folder(uint32_t layer)
{
    return layer <= ACCEL_PROFILE_GIVEN ? layers[layer].folder : "";
}

const char *accel_profile_layer_name(uint32_t layer)
{
    return layer <= ACCEL_PROFILE_GIVEN ? layers[layer].name : "unknown";
}
