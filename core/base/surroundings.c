/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/surroundings.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/float_mode.h"
#include "core/base/hash.h"

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

static void note_locale(char *text, size_t bytes)
{
    const char *name = setlocale(LC_ALL, NULL);
    text[0] = '\0';
    if (name != NULL && strlen(name) < bytes)
        memcpy(text, name, strlen(name) + 1);
}

static uint64_t hash_environment(void)
{
    uint64_t hash = 0;
    for (char **at = environ; at != NULL && *at != NULL; at++)
        hash = accel_hash64(*at, strlen(*at), hash);
    return hash;
}

static mode_t read_file_mode(void)
{
    mode_t mode = umask(077);
    umask(mode);
    return mode;
}

void accel_surroundings_take(struct accel_surroundings *out_before, const char *effects)
{
    memset(out_before, 0, sizeof(*out_before));
    out_before->keeps_actions = effects != NULL && strstr(effects, "signals") != NULL;
    for (int i = 1; i < ACCEL_SURROUNDING_SIGNALS; i++)
        sigaction(i, NULL, &out_before->actions[i]);
    out_before->directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    out_before->file_mode = read_file_mode();
    out_before->environment = hash_environment();
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

/* The C library adds the flag that says how a handler returns. */
static int flags_of(const struct sigaction *action)
{
#ifdef SA_RESTORER
    return action->sa_flags & ~SA_RESTORER;
#else
    return action->sa_flags & ~0x04000000;
#endif
}

static bool restore_actions(const struct accel_surroundings *before)
{
    bool changed = false;
    for (int i = 1; i < ACCEL_SURROUNDING_SIGNALS && !before->keeps_actions; i++) {
        const struct sigaction *was = &before->actions[i];
        struct sigaction now;
        if (sigaction(i, NULL, &now) != 0 || (now.sa_handler == was->sa_handler && flags_of(&now) == flags_of(was)))
            continue;
        sigaction(i, was, NULL);
        changed = true;
    }
    return changed;
}

static bool restore_directory(const struct accel_surroundings *before)
{
    struct stat was;
    struct stat now;
    bool changed = before->directory >= 0 && fstat(before->directory, &was) == 0 &&
                   (stat(".", &now) != 0 || now.st_dev != was.st_dev || now.st_ino != was.st_ino);
    if (changed && fchdir(before->directory) != 0)
        changed = false; /* it may not be entered any more */
    if (before->directory >= 0)
        close(before->directory);
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
    if (restore_actions(before))
        changed |= ACCEL_CHANGED_ACTIONS;
    if (restore_directory(before))
        changed |= ACCEL_CHANGED_DIRECTORY;
    if (umask(before->file_mode) != before->file_mode)
        changed |= ACCEL_CHANGED_FILE_MODE;
    if (hash_environment() != before->environment)
        changed |= ACCEL_CHANGED_ENVIRONMENT;
    return changed;
}

void accel_surroundings_take_few(struct accel_surroundings_few *out_before)
{
    out_before->file_mode = read_file_mode();
    out_before->float_mode = accel_float_mode_get();
    out_before->rounding = fegetround();
    fegetenv(&out_before->arithmetic);
    pthread_sigmask(SIG_SETMASK, NULL, &out_before->signals);
}

uint32_t accel_surroundings_restore_few(const struct accel_surroundings_few *before)
{
    uint32_t changed = 0;
    if (accel_float_mode_get() != before->float_mode || fegetround() != before->rounding)
        changed |= ACCEL_CHANGED_FLOAT;
    fesetenv(&before->arithmetic);
    if (restore_signals(&before->signals))
        changed |= ACCEL_CHANGED_SIGNALS;
    if (umask(before->file_mode) != before->file_mode)
        changed |= ACCEL_CHANGED_FILE_MODE;
    return changed;
}

const char *accel_surroundings_text(uint32_t changed, char text[ACCEL_CHANGED_TEXT])
{
    static const char *const words[] = {"floating-point mode", "blocked signals",   "processors",     "locale",
                                        "signal actions",      "working directory", "file mode mask", "environment"};
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if ((changed & 1u << i) != 0)
            length +=
                (size_t)snprintf(text + length, ACCEL_CHANGED_TEXT - length, "%s%s", length ? ", " : "", words[i]);
    return text;
}
