/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/waiting.h"

#include <accel/calling.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/accelctl/blame.h"
#include "tools/accelctl/end_now.h"
#include "tools/accelctl/verb.h"

/* The one thread of the process, and what it looks at. */
static struct {
    const struct accel_context *context;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_mutex_t works; /* the thread that works holds it, and the system tells where that has ended */
    pthread_cond_t ended;
    pid_t process; /* that has the thread: a child that was forked has none; 0: none has */
    uint32_t stop;
} waiting = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Slots that take no time of their own. What compiles, loads or runs may take minutes, some drivers compile in
 * set_create, and a run calls one slot over and over: all that looks like a call that hangs. */
static uint32_t is_short(const char *slot)
{
    static const char *const slots[] = {"attach",
                                        "enumerate",
                                        "open",
                                        "close",
                                        "detach",
                                        "claim",
                                        "estimate",
                                        "scratch",
                                        "queue_create",
                                        "state_create",
                                        "buffer_create",
                                        "map",
                                        "memory",
                                        "fingerprint",
                                        "free of a set",
                                        "free of a module",
                                        "free of a state",
                                        "free of a buffer",
                                        "free of a queue"};

    for (size_t i = 0; slot != NULL && i < sizeof slots / sizeof *slots; i++)
        if (strcmp(slots[i], slot) == 0)
            return 1;
    return 0;
}

/* A driver that ends the thread that called it leaves a process that nobody works in. */
static void end_without_worker(void)
{
    if (pthread_mutex_trylock(&waiting.works) != EOWNERDEAD)
        return;
    blame_thread();
    end_now(EXIT_FAILED);
}

static void *look(void *data)
{
    const char *driver = NULL, *slot = NULL;
    struct timespec next;
    uint32_t seconds = 0;

    (void)data;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&waiting.mutex);
    while (!waiting.stop) {
        const char *now_driver = NULL, *now_slot = NULL;

        next.tv_sec++;
        if (pthread_cond_timedwait(&waiting.ended, &waiting.mutex, &next) == 0)
            continue;
        end_without_worker();
        accel_context_calling(waiting.context, &now_driver, &now_slot);
        seconds = now_driver != NULL && now_driver == driver && now_slot == slot && is_short(slot) ? seconds + 1 : 0;
        driver = now_driver;
        slot = now_slot;
        if (seconds == WAITING_SECONDS)
            fprintf(stderr, "accelctl: waiting for driver %s in %s, for %d seconds so far\n", driver, slot,
                    (int)WAITING_SECONDS);
    }
    pthread_mutex_unlock(&waiting.mutex);
    return NULL;
}

static void hold_works(void)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&waiting.works, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_mutex_lock(&waiting.works);
}

void waiting_begin(const struct accel_context *context)
{
    pthread_condattr_t attributes;
    sigset_t others, before;

    if (waiting.process == getpid())
        return;
    /* The time of day may be set meanwhile. */
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&waiting.ended, &attributes);
    pthread_condattr_destroy(&attributes);
    waiting.context = context;
    waiting.stop = 0;
    hold_works();
    /* Signals are for the thread that works; those that end the command are heard here where a driver has blocked them
     * there, or has ended it. */
    sigfillset(&others);
    blame_spare(&others);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    waiting.process = pthread_create(&waiting.thread, NULL, look, NULL) == 0 ? getpid() : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void waiting_end(void)
{
    if (waiting.process != getpid())
        return;
    pthread_mutex_lock(&waiting.mutex);
    waiting.stop = 1;
    pthread_cond_signal(&waiting.ended);
    pthread_mutex_unlock(&waiting.mutex);
    pthread_join(waiting.thread, NULL);
    pthread_cond_destroy(&waiting.ended);
    pthread_mutex_unlock(&waiting.works);
    pthread_mutex_destroy(&waiting.works);
    waiting.process = 0;
}
