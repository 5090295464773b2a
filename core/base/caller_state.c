/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/caller_state.h"

#include <stdbool.h>
#include <stddef.h>

void accel_caller_state_save(struct accel_caller_state *out_state)
{
    out_state->float_mode = accel_float_mode_get();
    out_state->rounding = fegetround();
    fegetenv(&out_state->arithmetic);
    pthread_sigmask(SIG_SETMASK, NULL, &out_state->signals);
}

static bool restore_signals(const sigset_t *before)
{
    sigset_t now;
    bool changed = false;
    pthread_sigmask(SIG_SETMASK, before, &now);
    for (int i = 1; i < NSIG; i++)
        changed = changed || sigismember(&now, i) != sigismember(before, i);
    return changed;
}

const char *accel_caller_state_restore(const struct accel_caller_state *state)
{
    bool floats = accel_float_mode_get() != state->float_mode || fegetround() != state->rounding;
    bool signals = restore_signals(&state->signals);
    /* Always restored: exception flags that the driver raised do not belong to the caller. */
    fesetenv(&state->arithmetic);
    if (floats && signals)
        return "floating-point mode, blocked signals";
    return floats ? "floating-point mode" : signals ? "blocked signals" : NULL;
}
