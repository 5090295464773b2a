/* SPDX-License-Identifier: Apache-2.0 */
/* A call of a driver must leave its caller as he was. */
#include "config.h"

#include <stdio.h>

#include "core/device/context.h"

uint32_t accel_context_restore(struct accel_context *context, const struct accel_surroundings *before,
                               const char *driver, const char *slot)
{
    char words[ACCEL_CHANGED_TEXT];
    uint32_t changed = accel_surroundings_restore(before);
    if (changed != 0)
        accel_log_write(&context->log, ACCEL_LOG_WARN, "device", "driver=%s slot=%s changed=\"%s\" restored=1", driver,
                        slot, accel_surroundings_text(changed, words));
    return changed;
}

int32_t accel_context_tell_changed(struct accel_context *context, const char *driver, const char *slot,
                                   uint32_t changed, struct accel_error *error)
{
    char words[ACCEL_CHANGED_TEXT];
    char text[256];
    struct accel_verdict verdict = {.code = ACCEL_E_INVALID, .driver = driver, .hardware = -1, .text = text};
    if (changed == 0)
        return ACCEL_OK;
    snprintf(text, sizeof(text), "driver %s changed what belongs to its caller in %s (%s); it was put back", driver,
             slot, accel_surroundings_text(changed, words));
    verdict.remedy = "tell the maker of the driver";
    return accel_registry_judge(context, &verdict, error);
}
