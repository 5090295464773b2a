/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement of noise. */
#ifndef ACCELCTL_BENCH_NOISE_H
#define ACCELCTL_BENCH_NOISE_H

#include "tools/accelctl/bench/bench.h"

/* Warns of noise during the run, and of noisy results (noise.c). */
void bench_noise_judge(struct bench *bench);

#endif
