/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the refused drivers that a plan reports: those that might have offered the device. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/plan/honored.h"
#include "core/plugin/plugin.h"
#include "core/registry/rank.h"

/* Returns whether the driver is loaded: another file of the same driver may have succeeded. */
static bool is_loaded(const struct accel_context *context, const char *driver)
{
    for (uint32_t i = 0; i < accel_plugin_count(context); i++) {
        const struct accel_plugin_info *plugin = accel_plugin_get(context, i);
        if (plugin->state == ACCEL_PLUGIN_LOADED && strcmp(plugin->name, driver) == 0)
            return true;
    }
    return false;
}

/* Returns whether a driver reported that none of its devices is present, so that it had no device to choose. A
 * recording has only the code of the refusal. */
static bool is_absent(const struct accel_context *context, uint32_t index)
{
    int32_t code = accel_plugin_get(context, index)->code;
    if (context->plugins != NULL)
        return accel_plugins_get(context->plugins, index)->absent;
    return code == ACCEL_E_NOT_FOUND || code == ACCEL_E_UNSUPPORTED;
}

/* Returns whether a word of --device may refer to a device of the driver. The first word that names a present
 * device ends the search: later words have no effect. */
static bool may_be_meant(const struct accel_plan *plan, const char *names, const char *driver)
{
    char word[256];
    while (*names != '\0') {
        size_t length = strcspn(names, ","), name = strcspn(names, ":,");
        snprintf(word, sizeof(word), "%.*s", (int)length, names);
        if (name == strlen(driver) && strncasecmp(names, driver, name) == 0)
            return true;
        if (accel_context_find(plan->context, word) != NULL)
            return false;
        if (accel_is_device_kind(word))
            return true;
        names += length + (names[length] == ',');
    }
    return false;
}

static bool could_be_chosen(const struct accel_plan *plan, uint32_t index)
{
    const char *driver = accel_plugin_get(plan->context, index)->name;
    if (is_loaded(plan->context, driver) || is_absent(plan->context, index))
        return false;
    if (plan->names_platform)
        return strcmp(plan->platform, driver) == 0;
    return plan->asked == NULL || may_be_meant(plan, plan->asked, driver);
}

void accel_plan_hint_refused(struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_plugin_count(plan->context); i++) {
        const struct accel_plugin_info *plugin = accel_plugin_get(plan->context, i);
        if (plugin->state == ACCEL_PLUGIN_REFUSED && could_be_chosen(plan, i))
            accel_plan_add_note(plan, &plan->hints, ACCEL_NOTE_WARN, "device", plugin->remedy,
                                "driver %s is refused: %s", plugin->name, plugin->text);
    }
}
