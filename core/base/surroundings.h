/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What foreign code likes to leave changed behind it, noted before it is called and put back after: floating-point
 * mode, blocked signals and processors of the calling thread, and the locale. A locale belongs to the whole process:
 * one that another thread sets meanwhile is taken for the callee's. Any thread; the struct is large for small stacks.
 */
#ifndef ACCEL_CORE_BASE_SURROUNDINGS_H
#define ACCEL_CORE_BASE_SURROUNDINGS_H

#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCEL_CHANGED_FLOAT 1u
#define ACCEL_CHANGED_SIGNALS 2u
#define ACCEL_CHANGED_PROCESSORS 4u
#define ACCEL_CHANGED_LOCALE 8u

/** Bytes of accel_surroundings_text for all bits, the zero byte included. */
#define ACCEL_CHANGED_TEXT 96u

/** As it was. */
struct accel_surroundings {
    uint64_t float_mode;
    fenv_t arithmetic;
    int rounding;
    bool has_processors; /**< the system says where the thread may run */
    sigset_t signals;
    unsigned long processors[128]; /**< a mask, as the system has it */
    locale_t thread_locale;
    char locale[512]; /**< of the process; empty where its name is longer */
};

/** Notes everything. */
void accel_surroundings_take(struct accel_surroundings *out_before);

/** Puts back what has changed, and says what that was: bits ACCEL_CHANGED_... */
uint32_t accel_surroundings_restore(const struct accel_surroundings *before);

/** The bits as words: "floating-point mode, locale". Returns `text`. */
const char *accel_surroundings_text(uint32_t changed, char text[ACCEL_CHANGED_TEXT]);

#endif
