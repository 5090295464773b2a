/* SPDX-License-Identifier: Apache-2.0 */
/* Passes settings to drivers that support them. A driver supports "kernels.subgroups" if its option table has a
 * row of that name, or of the part behind the first dot, "subgroups", with values of the same kind; it then
 * receives the value unless that is the built-in default. The driver's own option, "DRIVER.subgroups", takes
 * precedence. */
#include "config.h"

#include <string.h>

#include "core/plan/plan.h"
#include "core/profile/keys.h"

static bool is_alike(const struct accel_setting_row *key, const struct accel_option *option)
{
    switch (key->type) {
    case ACCEL_SETTING_FLAG:
        return option->type == ACCEL_OPTION_FLAG;
    case ACCEL_SETTING_INTEGER:
    case ACCEL_SETTING_SIZE:
    case ACCEL_SETTING_DURATION:
        return option->type == ACCEL_OPTION_INTEGER;
    default:
        return option->type == ACCEL_OPTION_TEXT;
    }
}

const struct accel_option *accel_plan_option_of(const struct accel_plan *plan, const struct accel_setting_row *key)
{
    const struct accel_driver *driver = plan->device ? plan->device->owner->driver : NULL;
    const char *dot = strchr(key->name, '.');
    if (driver == NULL || key->honored != ACCEL_HONORED_DRIVER)
        return NULL;
    for (uint32_t i = 0; i < driver->option_count; i++) {
        const char *name = driver->options[i]->name;
        if ((strcmp(name, key->name) == 0 || (dot && strcmp(name, dot + 1) == 0)) && is_alike(key, driver->options[i]))
            return driver->options[i];
    }
    return NULL;
}

uint32_t accel_plan_pass_options(struct accel_plan *plan, struct accel_named_value *given)
{
    const char *driver = plan->device->owner->driver->name;
    uint32_t count = 0;
    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        const struct accel_setting_row *key = accel_setting_row_get(i);
        const struct accel_option *option = accel_plan_option_of(plan, key);
        const struct accel_profile_setting *setting = option ? accel_plan_value(plan, key->name) : NULL;
        /* The driver chooses a value that is built in. */
        if (setting == NULL || setting->layer == ACCEL_LAYER_BUILTIN)
            continue;
        given[count++] = (struct accel_named_value){accel_plan_text(plan, "%s.%s", driver, option->name),
                                                    setting->value, setting->place};
    }
    return count;
}
