/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/progress.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Tenths of a second after which something is told. */
enum { ON_TERMINAL = 5, IN_FILES = 20 };

/* One tick of a tenth of a second. */
static void tell_tick(const struct progress *progress, uint32_t ticks)
{
    if (progress->terminal && ticks >= ON_TERMINAL)
        fprintf(stderr, "\r%s ... %u.%u s", progress->what, ticks / 10, ticks % 10);
    else if (!progress->terminal && ticks == IN_FILES)
        fprintf(stderr, "%s ...\n", progress->what);
}

static void tell_end(const struct progress *progress, uint32_t ticks)
{
    if (progress->terminal && ticks >= ON_TERMINAL)
        fprintf(stderr, "\r\033[K");
    else if (!progress->terminal && ticks >= IN_FILES)
        fprintf(stderr, "%s: %u.%u s\n", progress->what, ticks / 10, ticks % 10);
}

static void *tell(void *data)
{
    struct progress *progress = data;
    struct timespec next;
    uint32_t ticks = 0;

    clock_gettime(CLOCK_REALTIME, &next);
    pthread_mutex_lock(&progress->mutex);
    while (!progress->stop) {
        next.tv_nsec += 100000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&progress->ended, &progress->mutex, &next) != 0)
            tell_tick(progress, ++ticks);
    }
    tell_end(progress, ticks);
    pthread_mutex_unlock(&progress->mutex);
    return NULL;
}

void progress_begin(struct progress *progress, const char *what, uint32_t in_files)
{
    sigset_t all, before;

    *progress = (struct progress){.what = what, .terminal = isatty(STDERR_FILENO) != 0};
    if (!progress->terminal && !in_files)
        return;
    pthread_mutex_init(&progress->mutex, NULL);
    pthread_cond_init(&progress->ended, NULL);
    /* Signals are for the thread that works. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    progress->running = pthread_create(&progress->thread, NULL, tell, progress) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_end(struct progress *progress)
{
    if (!progress->running)
        return;
    pthread_mutex_lock(&progress->mutex);
    progress->stop = 1;
    pthread_cond_signal(&progress->ended);
    pthread_mutex_unlock(&progress->mutex);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->ended);
    pthread_mutex_destroy(&progress->mutex);
    progress->running = 0;
}
