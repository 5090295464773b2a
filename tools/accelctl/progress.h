/* SPDX-License-Identifier: Apache-2.0 */
/* A line on the terminal while something takes long; where the error output is none, lines at its begin and end. */
#ifndef ACCELCTL_PROGRESS_H
#define ACCELCTL_PROGRESS_H

#include <pthread.h>
#include <stdint.h>

struct progress {
    const char *what;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    uint32_t running;  /* 1: there is a thread */
    uint32_t terminal; /* 1: its line is written over and wiped away */
    uint32_t stop;
};

/* Begins to tell `what`, which lives until the end: on a terminal after half a second, wiped away by progress_end;
 * else, where `in_files` is 1, with a line after two seconds, and one with the time at the end. */
void progress_begin(struct progress *progress, const char *what, uint32_t in_files);
/* May be called twice. */
void progress_end(struct progress *progress);

#endif
