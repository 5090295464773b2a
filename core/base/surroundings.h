/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What foreign code likes to leave changed behind it, noted before it is called and put back after: floating-point
 * mode, blocked signals and processors of the calling thread; locale, actions of signals, working directory and file
 * mode mask of the process, of which what another thread sets meanwhile is taken for the callee's. A changed
 * environment is told, not put back: another thread may be reading it. Any thread; the struct is large for small
 * stacks.
 */
#ifndef ACCEL_CORE_BASE_SURROUNDINGS_H
#define ACCEL_CORE_BASE_SURROUNDINGS_H

#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ACCEL_CHANGED_FLOAT 1u
#define ACCEL_CHANGED_SIGNALS 2u
#define ACCEL_CHANGED_PROCESSORS 4u
#define ACCEL_CHANGED_LOCALE 8u
#define ACCEL_CHANGED_ACTIONS 16u
#define ACCEL_CHANGED_DIRECTORY 32u
#define ACCEL_CHANGED_FILE_MODE 64u
#define ACCEL_CHANGED_ENVIRONMENT 128u

/** Bits of what stays as the callee left it. */
#define ACCEL_CHANGED_FOR_GOOD ACCEL_CHANGED_ENVIRONMENT

/** Bytes of accel_surroundings_text for all bits, the zero byte included. */
#define ACCEL_CHANGED_TEXT 160u

/** Signals whose actions are noted. */
#define ACCEL_SURROUNDING_SIGNALS 65

/** As it was. */
struct accel_surroundings {
    uint64_t float_mode;
    fenv_t arithmetic;
    int rounding;
    bool has_processors; /**< the system says where the thread may run */
    bool keeps_actions;  /**< actions of signals are the callee's to set */
    int directory;       /**< a descriptor of the working directory, -1: unknown */
    mode_t file_mode;
    uint64_t environment; /**< a hash */
    sigset_t signals;
    struct sigaction actions[ACCEL_SURROUNDING_SIGNALS];
    unsigned long processors[128]; /**< a mask, as the system has it */
    locale_t thread_locale;
    char locale[512]; /**< of the process; empty where its name is longer */
};

/** Notes everything. `effects` are words of a driver's note, or NULL: one that says "signals" may set their actions. */
void accel_surroundings_take(struct accel_surroundings *out_before, const char *effects);

/** Once after each take: puts back what has changed, and says what that was: bits ACCEL_CHANGED_... */
uint32_t accel_surroundings_restore(const struct accel_surroundings *before);

/** What foreign code may have changed that is cheap to note: for calls that are made often. */
struct accel_surroundings_few {
    uint64_t float_mode;
    fenv_t arithmetic;
    int rounding;
    mode_t file_mode;
    sigset_t signals;
};

/** Notes it, and puts it back. */
void accel_surroundings_take_few(struct accel_surroundings_few *out_before);
uint32_t accel_surroundings_restore_few(const struct accel_surroundings_few *before);

/** The bits as words: "floating-point mode, locale". Returns `text`. */
const char *accel_surroundings_text(uint32_t changed, char text[ACCEL_CHANGED_TEXT]);

#endif
