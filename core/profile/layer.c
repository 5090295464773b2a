/* SPDX-License-Identifier: Apache-2.0 */
/* Maps layers to their names and to the folders of their files. */
#include "config.h"

#include "core/profile/language.h"

static const struct {
    const char *name;
    const char *folder;
} layers[] = {
    [ACCEL_LAYER_BUILTIN] = {"built in", ""},     [ACCEL_LAYER_BASE] = {"base", ""},
    [ACCEL_LAYER_PLATFORM] = {"platform", ""},    [ACCEL_LAYER_CLIENT] = {"client", "clients"},
    [ACCEL_LAYER_DEVICE] = {"device", "devices"}, [ACCEL_LAYER_MODEL] = {"model", "models"},
    [ACCEL_LAYER_SYSTEM] = {"system", ""},        [ACCEL_LAYER_USER] = {"user", ""},
    [ACCEL_LAYER_FOLDER] = {"folder", ""},        [ACCEL_LAYER_ENVIRONMENT] = {"environment", ""},
    [ACCEL_LAYER_GIVEN] = {"given", ""},
};

const char *accel_profile_layer_folder(uint32_t layer)
{
    return layer <= ACCEL_LAYER_GIVEN ? layers[layer].folder : "";
}

const char *accel_profile_layer_name(uint32_t layer)
{
    return layer <= ACCEL_LAYER_GIVEN ? layers[layer].name : "unknown";
}
