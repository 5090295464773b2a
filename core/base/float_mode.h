/* SPDX-License-Identifier: Apache-2.0 */
/** @file The floating-point mode of a thread as one number: rounding, flush to zero, traps; not the sticky flags. */
#ifndef ACCEL_CORE_BASE_FLOAT_MODE_H
#define ACCEL_CORE_BASE_FLOAT_MODE_H

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/** Returns the mode of the calling thread. */
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
