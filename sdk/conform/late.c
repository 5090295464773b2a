/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/late.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "sdk/conform/text.h"

#define MOST_THREADS 16u
#define PATIENCE_NS 2000000u /* for threads that may wait for others */
#define PAUSE_NS 10000

/* State shared by all threads of one call. */
struct call {
    accel_team_function function;
    void *argument;
    uint32_t threads;
    atomic_uint ended;
};

struct late_thread {
    struct call *call;
    uint32_t number;
};

static void run_thread(const struct late_thread *thread)
{
    thread->call->function(thread->call->argument, thread->number, thread->call->threads);
    atomic_fetch_add(&thread->call->ended, 1);
}

static void *start_thread(void *argument)
{
    run_thread(argument);
    return NULL;
}

/* Waits until `ended` threads have ended, with a timeout: they may wait for threads that have not started. */
static void wait_for(struct call *call, uint32_t ended)
{
    const uint64_t until = clock_now() + PATIENCE_NS;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    while (atomic_load(&call->ended) < ended && clock_now() < until)
        nanosleep(&pause, NULL);
}

static int32_t late_run(const struct accel_team *team, uint32_t threads, accel_team_function function, void *argument,
                        struct accel_error *error) ACCEL_NOEXCEPT
{
    struct call call = {.function = function, .argument = argument, .threads = threads};
    struct late_thread all[MOST_THREADS];
    pthread_t handles[MOST_THREADS];

    if (threads == 0 || threads > team->threads)
        return accel_error_set(error, ACCEL_E_INVALID, "%u threads of a team of %u", threads, team->threads);
    for (uint32_t r = threads; r-- > 0;) {
        all[r] = (struct late_thread){&call, r};
        if (r == 0)
            run_thread(&all[r]);
        else if (pthread_create(&handles[r], NULL, start_thread, &all[r]) != 0)
            /* Threads already running may wait for this one indefinitely. */
            return accel_error_set(error, ACCEL_E_MEMORY, "no thread with index %u", r);
        if (r > 0)
            wait_for(&call, threads - r);
    }
    for (uint32_t r = 1; r < threads; r++)
        pthread_join(handles[r], NULL);
    return ACCEL_OK;
}

struct accel_team late_team(uint32_t threads)
{
    return (struct accel_team){
        .size = sizeof(struct accel_team), .threads = threads < MOST_THREADS ? threads : MOST_THREADS, .run = late_run};
}
