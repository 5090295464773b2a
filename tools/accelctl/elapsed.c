/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/elapsed.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tools/accelctl/output.h"

/* Delays in tenths of a second before progress is printed. */
enum { ON_TERMINAL = 5, IN_FILES = 20 };

/* Prints one tick of a tenth of a second. */
static void print_tick(const struct elapsed *elapsed, uint32_t ticks)
{
    if (elapsed->terminal && ticks >= ON_TERMINAL)
        fprintf(error_output(), "\r%s ... %u.%u s", elapsed->what, ticks / 10, ticks % 10);
    else if (!elapsed->terminal && ticks == IN_FILES)
        fprintf(error_output(), "%s ...\n", elapsed->what);
}

static void print_last_tick(const struct elapsed *elapsed, uint32_t ticks)
{
    if (elapsed->terminal && ticks >= ON_TERMINAL)
        fprintf(error_output(), "\r\033[K");
    else if (!elapsed->terminal && ticks >= IN_FILES)
        fprintf(error_output(), "%s: %u.%u s\n", elapsed->what, ticks / 10, ticks % 10);
}

static void *tick(void *data)
{
    struct elapsed *elapsed = data;
    struct timespec next;
    uint32_t ticks = 0;

    clock_gettime(CLOCK_REALTIME, &next);
    pthread_mutex_lock(&elapsed->mutex);
    while (!elapsed->stop) {
        next.tv_nsec += 100000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&elapsed->ended, &elapsed->mutex, &next) != 0)
            print_tick(elapsed, ++ticks);
    }
    print_last_tick(elapsed, ticks);
    pthread_mutex_unlock(&elapsed->mutex);
    return NULL;
}

void elapsed_begin(struct elapsed *elapsed, const char *what, uint32_t in_files)
{
    sigset_t all, before;

    *elapsed = (struct elapsed){.what = what, .terminal = isatty(error_output_file()) != 0};
    if (!elapsed->terminal && !in_files)
        return;
    pthread_mutex_init(&elapsed->mutex, NULL);
    pthread_cond_init(&elapsed->ended, NULL);
    /* Blocks signals here, so that the main thread handles them. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    elapsed->running = pthread_create(&elapsed->thread, NULL, tick, elapsed) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void elapsed_end(struct elapsed *elapsed)
{
    if (!elapsed->running)
        return;
    pthread_mutex_lock(&elapsed->mutex);
    elapsed->stop = 1;
    pthread_cond_signal(&elapsed->ended);
    pthread_mutex_unlock(&elapsed->mutex);
    pthread_join(elapsed->thread, NULL);
    pthread_cond_destroy(&elapsed->ended);
    pthread_mutex_destroy(&elapsed->mutex);
    elapsed->running = 0;
}
