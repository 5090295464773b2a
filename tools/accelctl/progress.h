/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the progress of a long operation on the terminal, and lets an interrupt (Ctrl-C) end it. */
#ifndef ACCELCTL_PROGRESS_H
#define ACCELCTL_PROGRESS_H

#include <signal.h>
#include <time.h>

#include <accel/model/session.h>

/* State of consecutive operations; initialized by progress_begin. */
struct progress {
    const char *what; /* "comparing tensors"; lives as long as the work */
    struct timespec begun;
    double shown_at;                         /* seconds */
    struct sigaction interrupt, termination; /* as they were before */
    uint32_t is_terminal;                    /* 1: the error output is a terminal */
    uint32_t shown;
};

/* Lets an interrupt cancel these sessions, which live until progress_end, and makes progress_update answer 1. */
void progress_begin(struct progress *progress, struct accel_session *const *sessions, uint32_t count);
/* Names the next operation, in a new line. */
void progress_next(struct progress *progress, const char *what);
/* Progress function of the library over a `struct progress`. */
int32_t progress_update(void *data, uint64_t done, uint64_t all);
/* Erases the line, so that other output can be printed; the next update shows it again. */
void progress_clear(struct progress *progress);
/* Returns the signal received since progress_begin, or 0. */
int progress_interrupted(void);
/* Erases the line, and restores the handling of interrupts. */
void progress_end(struct progress *progress);

/* Returns the seconds since a time of CLOCK_MONOTONIC. */
double seconds_since(const struct timespec *begun);

#endif
