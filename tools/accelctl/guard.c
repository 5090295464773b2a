/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/verb.h"

/* Files that a command has open at a time; those beyond go unguarded. */
#define GUARDED_MOST 128

/* The one piece of state that a signal handler needs: which mappings belong to which file. */
static const struct accel_model_file *volatile guarded[GUARDED_MOST];
static const char *volatile remedies[GUARDED_MOST];
static atomic_flag told = ATOMIC_FLAG_INIT;

static void write_text(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written;
}

static void end_if_inside(const struct accel_model_file *file, const char *remedy, const char *at)
{
    struct accel_model_mapping mapping;

    for (uint32_t i = 0; file != NULL && accel_model_file_mapping(file, i, &mapping, NULL) == ACCEL_OK; i++) {
        const char *begin = mapping.address;

        if (at < begin || at >= begin + mapping.bytes)
            continue;
        /* Threads that fault while another one tells of it wait for the end. */
        while (atomic_flag_test_and_set(&told))
            pause();
        write_text("\naccelctl: ");
        write_text(mapping.path);
        write_text(": the file shrank while it was in use, or its disk failed (ACCEL_E_IO)\n"
                   "  remedy: ");
        write_text(remedy);
        write_text("\n");
        _exit(EXIT_INPUT);
    }
}

/* Only what may be called in a signal handler. A fault elsewhere gets the default action back. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (size_t i = 0; i < GUARDED_MOST; i++)
        end_if_inside(guarded[i], remedies[i], info->si_addr);
    signal(number, SIG_DFL);
    raise(number);
}

void guard_mappings(const struct accel_model_file *file, const char *remedy)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    size_t at = 0;

    while (at < GUARDED_MOST && guarded[at] != NULL)
        at++;
    if (file == NULL || at == GUARDED_MOST)
        return;
    remedies[at] = remedy;
    guarded[at] = file;
    sigaction(SIGBUS, &action, NULL);
}

void guard_end(const struct accel_model_file *file)
{
    for (size_t i = 0; i < GUARDED_MOST; i++) {
        if (file == NULL || guarded[i] != file)
            continue;
        guarded[i] = NULL;
        return;
    }
}
