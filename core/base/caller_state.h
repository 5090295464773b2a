/* SPDX-License-Identifier: Apache-2.0 */
/** @file Saves and restores the state of the calling thread around a call of a driver: floating-point environment and
 * signal mask. Both are local to the thread and cheap, so every call is guarded. The state of the process (signal
 * actions, umask, working directory, locale, environment) is shared with the threads of the application and is not
 * touched: the conformance kit finds drivers that change it. */
#ifndef ACCEL_CORE_BASE_CALLER_STATE_H
#define ACCEL_CORE_BASE_CALLER_STATE_H

#include <fenv.h>
#include <signal.h>
#include <stdint.h>

struct accel_caller_state {
    uint64_t float_mode;
    fenv_t arithmetic;
    int rounding;
    sigset_t signals;
};

/** Saves the state of the calling thread. */
void accel_caller_state_save(struct accel_caller_state *out_state);

/** Restores the state in the same thread. Returns what had changed ("floating-point mode, blocked signals") or NULL. */
const char *accel_caller_state_restore(const struct accel_caller_state *state);

#endif
