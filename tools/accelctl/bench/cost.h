/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes and multiply-adds of a graph. */
#ifndef ACCELCTL_BENCH_COST_H
#define ACCELCTL_BENCH_COST_H

#include "tools/accelctl/bench/bench.h"

/* Adds the cost of one step of `tokens` tokens of each of `sequences` sequences, each of which then has `length`
 * tokens in its KV cache. */
int32_t bench_cost_step(const struct accel_graph *graph, uint64_t tokens, uint64_t sequences, uint64_t length,
                        struct bench_cost *cost, struct accel_error *error);

#endif
