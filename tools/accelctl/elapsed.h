/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a progress line on the terminal during a long operation; on other error outputs, lines at its begin and
 * end. */
#ifndef ACCELCTL_ELAPSED_H
#define ACCELCTL_ELAPSED_H

#include <pthread.h>
#include <stdint.h>

struct elapsed {
    const char *what;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    uint32_t running;  /* 1: there is a thread */
    uint32_t terminal; /* 1: its line is written over and wiped away */
    uint32_t stop;
};

/* Starts a progress line for `what`, which lives until the end: on a terminal after half a second, erased by
 * elapsed_end; else, if `in_files` is 1, a line after two seconds, and one with the time at the end. */
void elapsed_begin(struct elapsed *elapsed, const char *what, uint32_t in_files);
/* May be called twice. */
void elapsed_end(struct elapsed *elapsed);

#endif
