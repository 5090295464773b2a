/* SPDX-License-Identifier: Apache-2.0 */
/* The same work on several threads at once, timed from the moment when all are ready to the end of the last. */
#ifndef MEASURE_TEAM_H
#define MEASURE_TEAM_H

#include <stdint.h>

enum { MEASURE_RANKS = 1024 };

/* Part `rank` of `ranks` of the work. */
typedef void measure_work(void *context, uint32_t rank, uint32_t ranks);

/* Told between runs how many of them are done; what is not 0 ends a measurement with EINTR. */
typedef int32_t measure_tell(void *data, uint64_t done, uint64_t all);

/* Runs the work on `ranks` threads (1 .. MEASURE_RANKS) made for the call; thread r is bound to processor
 * processors[r], to none where that is negative or `processors` NULL. *out_seconds is the time. Answers 0, or an errno
 * where a thread could not be made: nothing has run then. */
int measure_team(uint32_t ranks, const int32_t *processors, measure_work *work, void *context, double *out_seconds);

/* Seconds of a clock that only goes forward. */
double measure_seconds(void);

#endif
