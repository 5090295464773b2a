/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/blame.h"

#include <accel/calling.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/verb.h"

/* What functions of atexit and handlers of signals may touch. */
static const struct accel_context *volatile watched;
static volatile pid_t own; /* 0: nothing is watched */
static volatile sig_atomic_t waits_for;

static void write_text(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written;
}

static void write_driver(const char *driver, const char *slot)
{
    write_text("\naccelctl: driver ");
    write_text(driver);
    write_text(", ");
    write_text(slot == NULL ? "a call" : slot);
}

/* Children that a driver has made end as they like. */
static void at_exit(void)
{
    const char *driver = NULL, *slot = NULL;

    if (own != getpid())
        return;
    fflush(stdout);
    if (accel_context_calling(watched, &driver, &slot)) {
        write_driver(driver, slot);
        write_text(": it ended the process (ACCEL_E_INTERNAL)\n");
    } else {
        write_text("\naccelctl: a library ended the process before its work was done (ACCEL_E_INTERNAL)\n");
    }
    write_text("  remedy: accelctl plugins lists the drivers; --device takes a device of another one\n");
    _exit(EXIT_FAILED);
}

/* The command may be slow to end by itself: that is not the driver's fault. */
static void on_deadline(int number)
{
    const char *driver = NULL, *slot = NULL;

    (void)number;
    if (waits_for == 0)
        return;
    if (!accel_context_calling(watched, &driver, &slot)) {
        alarm(1);
        return;
    }
    write_driver(driver, slot);
    write_text(": it does not end, and the command does without it (ACCEL_E_TIMEOUT)\n");
    _exit(128 + waits_for);
}

void blame_watch(const struct accel_context *context)
{
    static int is_registered;

    watched = context;
    if (context == NULL)
        return;
    if (!is_registered && atexit(at_exit) == 0)
        is_registered = 1;
    own = getpid();
}

void blame_done(void)
{
    own = 0;
}

void blame_wait(int signal)
{
    struct sigaction action = {.sa_handler = on_deadline};

    waits_for = signal;
    sigaction(SIGALRM, &action, NULL);
    alarm(BLAME_SECONDS);
}

void blame_rest(void)
{
    waits_for = 0;
    alarm(0);
}
