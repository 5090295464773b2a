/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a function on several threads at once, timed from the moment when all are ready to the end of the last. */
#ifndef MEASURE_TEAM_H
#define MEASURE_TEAM_H

#include <stdint.h>

enum { MEASURE_THREADS = 1024 };

/* Executes part `thread` of `threads` of the work. */
typedef void measure_work(void *context, uint32_t thread, uint32_t threads);

/* Reports between runs how many of them are done; a result other than 0 ends a measurement with EINTR. */
typedef int32_t measure_tell(void *data, uint64_t done, uint64_t all);

/* Runs the work on `threads` threads (1 .. MEASURE_THREADS) created for the call; thread r is bound to processor
 * processors[r], to none if that is negative or `processors` NULL. *out_seconds is the time. Answers 0, or an
 * errno if a thread could not be created: nothing has run then. */
int measure_team(uint32_t threads, const int32_t *processors, measure_work *work, void *context, double *out_seconds);

/* Returns the seconds of a monotonic clock. */
double measure_seconds(void);

#endif
