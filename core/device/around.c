/* SPDX-License-Identifier: Apache-2.0 */
/* A call of a driver must leave its caller as he was. */
#include "config.h"

#include <accel/calling.h>
#include <stdio.h>
#include <string.h>

#include "core/device/context.h"
#include "core/plugin/plugin.h"

void accel_context_before(struct accel_context *context, const struct accel_attached *owner, const char *slot,
                          struct accel_surroundings *out_before)
{
    const struct accel_plugin *plugin = NULL;
    if (context->plugins != NULL && owner->plugin != ACCEL_NO_PLUGIN)
        plugin = accel_plugins_get(context->plugins, owner->plugin);
    /* A mark of "load" is about the file. */
    if (plugin != NULL)
        accel_plugins_enter(context->plugins, owner->plugin, strcmp(slot, "load") == 0 ? "load of a module" : slot);
    accel_surroundings_take(out_before, plugin == NULL || plugin->note == NULL ? NULL : plugin->note->effects);
    accel_context_enter(context, owner->driver->name, slot);
}

uint32_t accel_context_restore(struct accel_context *context, const struct accel_surroundings *before,
                               const char *driver, const char *slot)
{
    char words[ACCEL_CHANGED_TEXT];
    uint32_t changed = accel_surroundings_restore(before);
    accel_context_leave(context);
    if (context->plugins != NULL)
        accel_plugins_leave(context->plugins);
    if (changed != 0)
        accel_log_write(&context->log, ACCEL_LOG_WARN, "device", "driver=%s slot=%s changed=\"%s\" restored=%d", driver,
                        slot, accel_surroundings_text(changed, words), (changed & ACCEL_CHANGED_FOR_GOOD) == 0);
    return changed;
}

void accel_call_begin(struct accel_call *call, struct accel_context *context, const char *driver, const char *slot)
{
    *call = (struct accel_call){.context = context, .driver = driver, .slot = slot};
    accel_surroundings_take_few(&call->before);
    accel_context_enter(context, driver, slot);
}

void accel_call_end(const struct accel_call *call)
{
    char words[ACCEL_CHANGED_TEXT];
    uint32_t changed = accel_surroundings_restore_few(&call->before);
    accel_context_leave(call->context);
    if (changed != 0)
        accel_log_write(&call->context->log, ACCEL_LOG_WARN, "device", "driver=%s slot=%s changed=\"%s\" restored=1",
                        call->driver, call->slot, accel_surroundings_text(changed, words));
}

uint32_t accel_context_calling(const struct accel_context *context, const char **out_driver,
                               const char **out_slot) ACCEL_NOEXCEPT
{
    *out_driver = context == NULL ? NULL : atomic_load_explicit(&context->calling_driver, memory_order_relaxed);
    *out_slot = *out_driver == NULL ? NULL : atomic_load_explicit(&context->calling_slot, memory_order_relaxed);
    return *out_driver != NULL;
}

void accel_context_unmark(const struct accel_context *context) ACCEL_NOEXCEPT
{
    if (context != NULL && context->plugins != NULL)
        accel_plugins_unmark(context->plugins);
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
