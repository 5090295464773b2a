/* SPDX-License-Identifier: Apache-2.0 */
/** @file Guarded calls of drivers. */
#ifndef ACCEL_CORE_REGISTRY_CALL_GUARD_H
#define ACCEL_CORE_REGISTRY_CALL_GUARD_H

#include "core/base/caller_state.h"
#include "core/registry/context.h"

/** Reports the current driver call to the application; driver and slot are NULL after it has returned. */
void accel_context_report(const struct accel_context *context, const char *driver, const char *slot);

/** State of a guarded driver call. */
struct accel_call_guard {
    struct accel_context *context;
    const char *driver;
    const char *slot;
    struct accel_caller_state before;
};

/** Guards a call of a driver: reports it to the application (`calling` of the context's options), and restores the
 *  floating-point mode and the signal mask of the calling thread after it. The log reports what had changed. */
void accel_call_guard_begin(struct accel_call_guard *call, struct accel_context *context, const char *driver,
                            const char *slot);
void accel_call_guard_end(const struct accel_call_guard *call);

/** Sets `code` to the result of a guarded call of a driver. */
#define ACCEL_GUARDED(code, context, driver, slot, call)                                                               \
    do {                                                                                                               \
        struct accel_call_guard guard_;                                                                                \
        accel_call_guard_begin(&guard_, context, driver, slot);                                                        \
        (code) = (call);                                                                                               \
        accel_call_guard_end(&guard_);                                                                                 \
    } while (0)

/** Ends the guard of a step. Since steps repeat, only the first change is logged, which sets `is_reported`. */
void accel_call_guard_end_step(const struct accel_call_guard *call, bool *is_reported);

#endif
