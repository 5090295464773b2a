/* SPDX-License-Identifier: Apache-2.0 */
/* A call of a driver must leave its caller as he was. */
#include "config.h"

#include <stdio.h>

#include "core/device/context.h"
#include "core/plugin/plugin.h"

void accel_context_before(const struct accel_context *context, const struct accel_attached *owner,
                          struct accel_surroundings *out_before)
{
    const struct accel_plugin *plugin = NULL;
    if (context->plugins != NULL && owner->plugin != ACCEL_NO_PLUGIN)
        plugin = accel_plugins_get(context->plugins, owner->plugin);
    accel_surroundings_take(out_before, plugin == NULL || plugin->note == NULL ? NULL : plugin->note->effects);
}

uint32_t accel_context_restore(struct accel_context *context, const struct accel_surroundings *before,
                               const char *driver, const char *slot)
{
    char words[ACCEL_CHANGED_TEXT];
    uint32_t changed = accel_surroundings_restore(before);
    if (changed != 0)
        accel_log_write(&context->log, ACCEL_LOG_WARN, "device", "driver=%s slot=%s changed=\"%s\" restored=%d", driver,
                        slot, accel_surroundings_text(changed, words), (changed & ACCEL_CHANGED_FOR_GOOD) == 0);
    return changed;
}

int32_t accel_context_tell_changed(struct accel_context *context, const char *driver, const char *slot,
                                   uint32_t changed, struct accel_error *error)
{
    char words[ACCEL_CHANGED_TEXT];
    char text[384];
    struct accel_verdict verdict = {.code = ACCEL_E_INVALID, .driver = driver, .hardware = -1, .text = text};
    if (changed == 0)
        return ACCEL_OK;
    snprintf(text, sizeof(text), "driver %s changed what belongs to its caller in %s (%s); %s", driver, slot,
             accel_surroundings_text(changed, words),
             (changed & ACCEL_CHANGED_FOR_GOOD) == 0 ? "it was put back" : "the environment stays so");
    verdict.remedy = "tell the maker of the driver";
    return accel_registry_judge(context, &verdict, error);
}
