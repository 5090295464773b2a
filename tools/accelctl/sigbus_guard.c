/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/sigbus_guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/crash_report.h"
#include "tools/accelctl/mapping.h"

/* Most files that are guarded at a time; further ones are not. */
#define GUARDED_MOST 128

/* Guarded files; accessed from the signal handler. */
static const struct accel_model_file *volatile guarded[GUARDED_MOST];
static const char *volatile remedies[GUARDED_MOST];
static struct sigaction before; /* handler of SIGBUS before the first guard */
static char other_path[4096];   /* static, since the stack of a signal handler is small */
static atomic_flag is_reporting = ATOMIC_FLAG_INIT;

/* Reports that a page of a mapped file can no longer be read, and ends the process. */
static void exit_for_lost_page(const char *path, const char *remedy)
{
    const struct crash_report report = {.text = {path, ": the file shrank while it was in use, or its disk failed"},
                                        .code = "ACCEL_E_IO",
                                        .origin = "file",
                                        .remedy = remedy,
                                        .status = EXIT_INPUT};

    crash_report_end(&report);
}

/* Ends the process as above if address `at` lies in one of the mappings of a model file. */
static void exit_if_mapped(const struct accel_model_file *file, const char *remedy, const char *at)
{
    struct accel_model_mapping mapping;

    for (uint32_t i = 0; file != NULL && accel_model_file_mapping(file, i, &mapping, NULL) == ACCEL_OK; i++) {
        const char *begin = mapping.address;

        if (at >= begin && at < begin + mapping.bytes)
            exit_for_lost_page(mapping.path, remedy);
    }
}

/* Handles SIGBUS with async-signal-safe calls only. A fault outside of mapped files goes to the previous handler.
 * Several threads of a step may read past the end of the file at once: the first one reports it and ends the
 * process, and the others wait for that. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    while (atomic_flag_test_and_set(&is_reporting))
        pause();
    for (size_t i = 0; i < GUARDED_MOST; i++)
        exit_if_mapped(guarded[i], remedies[i], info->si_addr);
    /* Other mapped files are mostly packed weights. */
    if (mapped_file(info->si_addr, other_path, sizeof(other_path)))
        exit_for_lost_page(
            other_path,
            strstr(other_path, "-weights-") == NULL
                ? "do not change files while they are in use"
                : "remove it with accelctl cache clear, so that the next run packs again, or use --no-cache");
    sigaction(number, &before, NULL);
    atomic_flag_clear(&is_reporting);
    raise(number);
}

void sigbus_guard_begin(const struct accel_model_file *file, const char *remedy)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO}, now;
    size_t at = 0;

    while (at < GUARDED_MOST && guarded[at] != NULL)
        at++;
    if (file == NULL || at == GUARDED_MOST)
        return;
    remedies[at] = remedy;
    guarded[at] = file;
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction == on_bus_error)
        return;
    before = now;
    sigaction(SIGBUS, &action, NULL);
}

void sigbus_guard_end(const struct accel_model_file *file)
{
    for (size_t i = 0; i < GUARDED_MOST; i++) {
        if (file == NULL || guarded[i] != file)
            continue;
        guarded[i] = NULL;
        return;
    }
}
