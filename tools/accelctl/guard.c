/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/guard.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/verb.h"

/* The one piece of state that a signal handler needs: which mappings belong to which file. */
static const struct accel_model_file *volatile guarded;
static const char *volatile remedy_said;

static void write_text(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written;
}

/* Only what may be called in a signal handler. A fault elsewhere gets the default action back. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    const struct accel_model_file *file = guarded;
    struct accel_model_mapping mapping;

    (void)context;
    for (uint32_t i = 0; file != NULL && accel_model_file_mapping(file, i, &mapping, NULL) == ACCEL_OK; i++) {
        const char *begin = mapping.address;
        const char *at = info->si_addr;

        if (at < begin || at >= begin + mapping.bytes)
            continue;
        write_text("\naccelctl: ");
        write_text(mapping.path);
        write_text(": the file shrank while it was in use, or its disk failed (ACCEL_E_IO)\n"
                   "  remedy: ");
        write_text(remedy_said);
        write_text("\n");
        _exit(EXIT_INPUT);
    }
    signal(number, SIG_DFL);
    raise(number);
}

void guard_mappings(const struct accel_model_file *file, const char *remedy)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

    remedy_said = remedy;
    guarded = file;
    if (guarded != NULL)
        sigaction(SIGBUS, &action, NULL);
}
