/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct share {
    model_share_function *work;
    void *data;
    pthread_t thread;
    uint32_t index;
};

static void *run_share(void *data)
{
    const struct share *share = data;

    share->work(share->data, share->index);
    return NULL;
}

/* Starts shares 1 .. count - 1 until a thread cannot be created; returns the first share without one. */
static uint32_t start_threads(struct share *shares, uint32_t count, model_share_function *work, void *data)
{
    uint32_t next = 1;
    sigset_t all, before;

    if (shares == NULL)
        return next;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; next < count; next++) {
        shares[next] = (struct share){.work = work, .data = data, .index = next};
        if (pthread_create(&shares[next].thread, NULL, run_share, &shares[next]) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return next;
}

void model_parallel_for(uint32_t count, model_share_function *work, void *data)
{
    struct share *shares = count > 1 ? calloc(count, sizeof(*shares)) : NULL;
    uint32_t end = start_threads(shares, count, work, data);

    if (count > 0)
        work(data, 0);
    for (uint32_t i = end; i < count; i++)
        work(data, i);
    for (uint32_t i = 1; i < end; i++)
        pthread_join(shares[i].thread, NULL);
    free(shares);
}
