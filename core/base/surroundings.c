/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/surroundings.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/base/float_mode.h"

static void note_locale(char *text, size_t bytes)
{
    const char *name = setlocale(LC_ALL, NULL);
    text[0] = '\0';
    if (name != NULL && strlen(name) < bytes)
        memcpy(text, name, strlen(name) + 1);
}

void accel_surroundings_take(struct accel_surroundings *out_before)
{
    memset(out_before, 0, sizeof(*out_before));
    out_before->float_mode = accel_float_mode_get();
    out_before->rounding = fegetround();
    fegetenv(&out_before->arithmetic);
    pthread_sigmask(SIG_SETMASK, NULL, &out_before->signals);
    out_before->has_processors =
        sched_getaffinity(0, sizeof(out_before->processors), (cpu_set_t *)out_before->processors) == 0;
    out_before->thread_locale = uselocale((locale_t)0);
    note_locale(out_before->locale, sizeof(out_before->locale));
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

static bool restore_processors(const struct accel_surroundings *before)
{
    unsigned long now[sizeof(before->processors) / sizeof(before->processors[0])] = {0};
    if (!before->has_processors || sched_getaffinity(0, sizeof(now), (cpu_set_t *)now) != 0 ||
        memcmp(now, before->processors, sizeof(now)) == 0)
        return false;
    sched_setaffinity(0, sizeof(before->processors), (const cpu_set_t *)before->processors);
    return true;
}

static bool restore_locale(const struct accel_surroundings *before)
{
    char now[sizeof(before->locale)];
    bool changed = uselocale((locale_t)0) != before->thread_locale;
    note_locale(now, sizeof(now));
    if (changed)
        uselocale(before->thread_locale);
    if (before->locale[0] != '\0' && strcmp(now, before->locale) != 0) {
        setlocale(LC_ALL, before->locale);
        changed = true;
    }
    return changed;
}

uint32_t accel_surroundings_restore(const struct accel_surroundings *before)
{
    uint32_t changed = 0;
    if (accel_float_mode_get() != before->float_mode || fegetround() != before->rounding)
        changed |= ACCEL_CHANGED_FLOAT;
    /* In any case: the flags of what the callee computed are not the caller's. */
    fesetenv(&before->arithmetic);
    if (restore_signals(&before->signals))
        changed |= ACCEL_CHANGED_SIGNALS;
    if (restore_processors(before))
        changed |= ACCEL_CHANGED_PROCESSORS;
    if (restore_locale(before))
        changed |= ACCEL_CHANGED_LOCALE;
    return changed;
}

const char *accel_surroundings_text(uint32_t changed, char text[ACCEL_CHANGED_TEXT])
{
    static const char *const words[] = {"floating-point mode", "blocked signals", "processors", "locale"};
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if ((changed & 1u << i) != 0)
            length +=
                (size_t)snprintf(text + length, ACCEL_CHANGED_TEXT - length, "%s%s", length ? ", " : "", words[i]);
    return text;
}
