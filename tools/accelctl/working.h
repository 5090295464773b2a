/* SPDX-License-Identifier: Apache-2.0 */
/* Long work of a verb: a line on the terminal with how far it is, and an interrupt (Ctrl-C) that ends it. */
#ifndef ACCELCTL_WORKING_H
#define ACCELCTL_WORKING_H

#include <accel/model/session.h>
#include <signal.h>
#include <time.h>

/* One piece of work after the other; begun by working_begin. */
struct working {
    const char *what; /* "comparing tensors"; lives as long as the work */
    struct timespec begun;
    double told;                             /* seconds */
    struct sigaction interrupt, termination; /* as they were before */
    uint32_t on;                             /* 1: the error output is a terminal */
    uint32_t shown;
};

/* From now on an interrupt cancels these sessions, which live until working_end, and makes working_tell answer 1. */
void working_begin(struct working *working, struct accel_session *const *sessions, uint32_t count);
/* Names what comes next, in a new line. */
void working_on(struct working *working, const char *what);
/* A progress function of the library over a `struct working`. */
int32_t working_tell(void *data, uint64_t done, uint64_t all);
/* Wipes the line, and gives interrupts back. */
void working_end(struct working *working);

/* Seconds that have gone since a time of CLOCK_MONOTONIC. */
double seconds_since(const struct timespec *begun);

#endif
