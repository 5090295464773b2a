/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/working.h"

#include "tools/accelctl/blame.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* What a signal handler may touch. */
static volatile sig_atomic_t interrupted;
static struct accel_session *const *volatile running;
static volatile uint32_t running_count;

/* The first signal asks to stop, a second one ends the command (blame_wait). */
static void interrupt(int number)
{
    interrupted = 1;
    blame_wait(number);
    for (uint32_t i = 0; running != NULL && i < running_count; i++)
        if (running[i] != NULL)
            accel_session_cancel(running[i]);
}

double seconds_since(const struct timespec *begun)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + 1e-9 * (double)(now.tv_nsec - begun->tv_nsec);
}

void working_begin(struct working *working, struct accel_session *const *sessions, uint32_t count)
{
    struct sigaction action = {.sa_handler = interrupt};

    *working = (struct working){.what = "working", .on = isatty(STDERR_FILENO) == 1};
    clock_gettime(CLOCK_MONOTONIC, &working->begun);
    running_count = count;
    running = sessions;
    sigaction(SIGINT, &action, &working->interrupt);
    sigaction(SIGTERM, &action, &working->termination);
}

static void wipe(struct working *working)
{
    if (working->shown)
        fprintf(stderr, "\r\033[K");
    working->shown = 0;
}

void working_on(struct working *working, const char *what)
{
    wipe(working);
    working->what = what;
    working->told = 0;
    /* The first piece may be the longest. */
    if (working->on) {
        fprintf(stderr, "\r\033[K  0 %%  %s", what);
        working->shown = 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &working->begun);
}

int32_t working_tell(void *data, uint64_t done, uint64_t all)
{
    struct working *working = data;
    double now = seconds_since(&working->begun), part = all == 0 ? 1 : (double)done / (double)all;

    if (working->on && now > 0.5 && now - working->told >= 0.1) {
        working->told = now;
        working->shown = 1;
        fprintf(stderr, "\r\033[K%3.0f %%  %s, %.0f s left", 100 * part, working->what,
                part > 0 ? now / part - now : 0);
    }
    return interrupted != 0;
}

void working_end(struct working *working)
{
    wipe(working);
    running = NULL;
    blame_rest();
    sigaction(SIGINT, &working->interrupt, NULL);
    sigaction(SIGTERM, &working->termination, NULL);
}
