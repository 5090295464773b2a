/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "config.h"

#include "tools/measure/team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { SPINS = 20000 };

struct team {
    measure_work *work;
    void *context;
    uint32_t threads;
    const int32_t *processors;
    atomic_uint ready;
    atomic_uint given_up; /* 1: not all threads could be made */
};

struct member {
    struct team *team;
    uint32_t thread;
    double begun;
    double ended;
};

double measure_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Binds a thread to a processor. A processor that has gone offline is ignored: the measurement shows it. */
static void bind_thread(int32_t processor)
{
#ifdef __linux__
    cpu_set_t set;

    if (processor < 0 || processor >= CPU_SETSIZE)
        return;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
#else
    (void)processor;
#endif
}

static void *run_member(void *data)
{
    struct member *member = data;
    struct team *team = member->team;

    if (team->processors != NULL)
        bind_thread(team->processors[member->thread]);
    atomic_fetch_add(&team->ready, 1);
    for (uint32_t spins = 0; atomic_load(&team->ready) < team->threads; spins++) {
        if (atomic_load(&team->given_up))
            return NULL;
        if (spins > SPINS)
            sched_yield();
    }
    member->begun = measure_seconds();
    team->work(team->context, member->thread, team->threads);
    member->ended = measure_seconds();
    return NULL;
}

/* Creates the threads with signals blocked, so that the calling thread handles them. */
static int make_threads(struct member *members, pthread_t *handles, uint32_t threads, uint32_t *out_made)
{
    sigset_t all, before;
    int wrong = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (*out_made = 0; *out_made < threads && wrong == 0; *out_made += wrong == 0)
        wrong = pthread_create(&handles[*out_made], NULL, run_member, &members[*out_made]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return wrong;
}

int measure_team(uint32_t threads, const int32_t *processors, measure_work *work, void *context, double *out_seconds)
{
    struct team team = {.work = work, .context = context, .threads = threads, .processors = processors};
    struct member *members = calloc(threads, sizeof(*members));
    pthread_t *handles = calloc(threads, sizeof(*handles));
    uint32_t made = 0;
    int wrong = ENOMEM;

    *out_seconds = 0;
    if (members != NULL && handles != NULL) {
        for (uint32_t r = 0; r < threads; r++)
            members[r] = (struct member){.team = &team, .thread = r};
        wrong = make_threads(members, handles, threads, &made);
        atomic_store(&team.given_up, wrong != 0);
        for (uint32_t r = 0; r < made; r++)
            pthread_join(handles[r], NULL);
    }
    for (uint32_t r = 1; wrong == 0 && r < threads; r++) {
        members[0].begun = members[r].begun < members[0].begun ? members[r].begun : members[0].begun;
        members[0].ended = members[r].ended > members[0].ended ? members[r].ended : members[0].ended;
    }
    if (wrong == 0)
        *out_seconds = members[0].ended - members[0].begun;
    free(members);
    free(handles);
    return wrong;
}
