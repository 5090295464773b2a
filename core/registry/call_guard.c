/* SPDX-License-Identifier: Apache-2.0 */
/* Guards a call of a driver: reports it to the application and restores the state of the calling thread after it. */
#include "config.h"

#include "core/registry/call_guard.h"

void accel_context_report(const struct accel_context *context, const char *driver, const char *slot)
{
    if (context->options.calling != NULL)
        context->options.calling(context->options.calling_data, driver, slot);
}

void accel_call_guard_begin(struct accel_call_guard *call, struct accel_context *context, const char *driver,
                            const char *slot)
{
    *call = (struct accel_call_guard){.context = context, .driver = driver, .slot = slot};
    accel_caller_state_save(&call->before);
    accel_context_report(context, driver, slot);
}

void accel_call_guard_end(const struct accel_call_guard *call)
{
    bool is_reported = false;
    accel_call_guard_end_step(call, &is_reported);
}

void accel_call_guard_end_step(const struct accel_call_guard *call, bool *is_reported)
{
    const char *changed = accel_caller_state_restore(&call->before);
    accel_context_report(call->context, NULL, NULL);
    if (changed != NULL && !*is_reported)
        accel_log_write(&call->context->log, ACCEL_LOG_WARN, "device", "driver=%s slot=%s changed=\"%s\" restored=1",
                        call->driver, call->slot, changed);
    *is_reported = *is_reported || changed != NULL;
}
