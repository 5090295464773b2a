/* SPDX-License-Identifier: Apache-2.0 */
/* Detects other load on the machine during a measurement. */
#ifndef MEASURE_NOISE_H
#define MEASURE_NOISE_H

#include <stdint.h>

/* Counters at one moment; those that the system does not provide are 0, and `known` lists the others. */
struct measure_moment {
    double time;      /* seconds */
    double stolen;    /* processor seconds that the hypervisor gave to others */
    double busy;      /* processor seconds of all processes */
    double own;       /* processor seconds of this one and of its children that have ended */
    double throttled; /* seconds that the control group was held back by its quota */
    uint64_t hot;     /* times that a processor lowered its clock for its temperature */
    uint32_t known;   /* MEASURE_KNOWS_... */
    uint32_t processors;
};

#define MEASURE_KNOWS_STAT 1u
#define MEASURE_KNOWS_GROUP 2u
#define MEASURE_KNOWS_HEAT 4u

/* Noise between two moments. Shares are of one processor's time: 0.5 is half a processor. */
struct measure_noise {
    double seconds;
    double stolen;
    double others; /* other processes, the system's own included */
    double throttled;
    uint64_t hot;
    uint32_t known;
};

void measure_moment(struct measure_moment *out_moment);
void measure_noise(const struct measure_moment *begin, const struct measure_moment *end,
                   struct measure_noise *out_noise);

#endif
