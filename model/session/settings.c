/* SPDX-License-Identifier: Apache-2.0 */
#include "model/session/settings.h"

int32_t settings_read(const struct accel_plan *plan, struct settings *out_settings, struct accel_error *error)
{
    const struct {
        const char *name;
        const struct accel_plan_setting **setting;
    } rows[] = {
#define ACCEL_KEY(name, member, ...) {name, &out_settings->member},
#include <accel/keys.def>
#undef ACCEL_KEY
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        *rows[i].setting = accel_plan_setting_find(plan, rows[i].name);
        if (*rows[i].setting == NULL)
            return accel_error_set(error, ACCEL_E_INTERNAL, "libaccel has no setting %s", rows[i].name);
    }
    return ACCEL_OK;
}
