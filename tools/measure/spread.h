/* SPDX-License-Identifier: Apache-2.0 */
/* Summarizes measured times by order statistics, which suit distributions with a minimum and a long tail. */
#ifndef MEASURE_SPREAD_H
#define MEASURE_SPREAD_H

#include <stddef.h>
#include <stdint.h>

struct measure_spread {
    uint32_t count;
    uint32_t outliers; /* above the upper quartile by more than 1.5 times the distance of the quartiles */
    double least;
    double lower; /* quartiles by linear interpolation between the neighbours (type 7 of Hyndman and Fan, 1996) */
    double median;
    double upper;
    double most;
};

/* Computes the statistics of `count` numbers, in any order; sorts them in place. All zero if there is none. */
void measure_spread(double *values, uint32_t count, struct measure_spread *out_spread);

#endif
