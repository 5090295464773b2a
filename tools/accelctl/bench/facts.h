/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of host, device and model, in bench->facts. */
#ifndef ACCELCTL_BENCH_FACTS_H
#define ACCELCTL_BENCH_FACTS_H

#include "tools/accelctl/bench/bench.h"

/* Records the facts of every run, also of one that is interrupted at once. */
void bench_facts_run(struct bench *bench);
void bench_facts_host(struct bench *bench, const struct accel_context *context);

/* Records device and settings of a plan. */
void bench_facts_plan(struct bench *bench, const struct accel_plan *plan);
void bench_facts_model(struct bench *bench, const struct accel_model *model);

/* Records the facts of a model that only child processes have opened (load), or that no process has opened
 * (operators). */
void bench_facts_unopened(struct bench *bench);

#endif
