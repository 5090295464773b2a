/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/progress.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tools/accelctl/output.h"
#include "tools/accelctl/watchdog.h"

/* Accessed from the signal handler. */
static volatile sig_atomic_t interrupted;
static struct accel_session *const *volatile running;
static volatile uint32_t running_count;

/* Handles signals: the first one cancels the sessions, a second one ends the command (watchdog_interrupt). */
static void interrupt(int number)
{
    interrupted = number;
    watchdog_interrupt(number);
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

void progress_begin(struct progress *progress, struct accel_session *const *sessions, uint32_t count)
{
    struct sigaction action = {.sa_handler = interrupt};

    *progress = (struct progress){.what = "working", .is_terminal = isatty(error_output_file()) == 1};
    clock_gettime(CLOCK_MONOTONIC, &progress->begun);
    interrupted = 0;
    running_count = count;
    running = sessions;
    sigaction(SIGINT, &action, &progress->interrupt);
    sigaction(SIGTERM, &action, &progress->termination);
}

void progress_clear(struct progress *progress)
{
    if (progress->shown)
        fprintf(error_output(), "\r\033[K");
    progress->shown = 0;
}

void progress_next(struct progress *progress, const char *what)
{
    progress_clear(progress);
    progress->what = what;
    progress->shown_at = 0;
    /* Prints a line before the first piece, which may be the longest. */
    if (progress->is_terminal) {
        fprintf(error_output(), "\r\033[K  0 %%  %s", what);
        progress->shown = 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &progress->begun);
}

int32_t progress_update(void *data, uint64_t done, uint64_t all)
{
    struct progress *progress = data;
    double now = seconds_since(&progress->begun), part = all == 0 ? 1 : (double)done / (double)all;

    if (progress->is_terminal && now > 0.5 && now - progress->shown_at >= 0.1) {
        progress->shown_at = now;
        progress->shown = 1;
        fprintf(error_output(), "\r\033[K%3.0f %%  %s, %.0f s left", 100 * part, progress->what,
                part > 0 ? now / part - now : 0);
    }
    return interrupted != 0;
}

int progress_interrupted(void)
{
    return interrupted;
}

void progress_end(struct progress *progress)
{
    progress_clear(progress);
    running = NULL;
    watchdog_rest();
    sigaction(SIGINT, &progress->interrupt, NULL);
    sigaction(SIGTERM, &progress->termination, NULL);
}
