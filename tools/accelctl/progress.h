/* SPDX-License-Identifier: Apache-2.0 */
/* A line on the terminal while something takes long; nothing where the error output is no terminal. */
#ifndef ACCELCTL_PROGRESS_H
#define ACCELCTL_PROGRESS_H

#include <pthread.h>
#include <stdint.h>

struct progress {
    const char *what;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    uint32_t running; /* 1: there is a thread */
    uint32_t stop;
};

/* Begins to tell `what`, which lives until the end, after half a second; wiped away by progress_end. */
void progress_begin(struct progress *progress, const char *what);
/* May be called twice. */
void progress_end(struct progress *progress);

#endif
