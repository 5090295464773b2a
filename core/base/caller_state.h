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

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

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

/** Returns the floating-point mode of the calling thread as one number: rounding, flush to zero, traps; not the sticky
 * flags. */
static inline uint64_t accel_float_mode_get(void)
{
#if defined(__x86_64__)
    return _mm_getcsr() & ~0x3fu;
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
#else
    return 0;
#endif
}

/** Sets the mode of the calling thread; the exception flags are cleared if they share a register with the mode. */
static inline void accel_float_mode_set(uint64_t mode)
{
#if defined(__x86_64__)
    _mm_setcsr((uint32_t)mode);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
    (void)mode;
#endif
}

#endif
