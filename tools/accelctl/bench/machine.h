/* SPDX-License-Identifier: Apache-2.0 */
/* The measured limits of the machine (machine.c) and of a device with queues and memory of its own (device.c). */
#ifndef ACCELCTL_BENCH_MACHINE_H
#define ACCELCTL_BENCH_MACHINE_H

#include "tools/accelctl/bench/bench.h"

struct accel_device;

/* Copies threads and processors from the plan. */
void bench_machine_threads(struct bench_machine *machine, const struct accel_plan *plan);

/* Measures memory and instruction sequences, with `rounds` rounds each. Answers -1, or an exit code after an error
 * has been printed. */
int bench_machine_measure(struct bench *bench);

/* Measures a device; opens it for that unless it is one of the processors. */
int bench_machine_measure_device(struct bench *bench, struct accel_context *context,
                                 const struct accel_device_info *info);

/* Measures the copy bandwidth of a device with queues of its own; on failure the reason is stored in the machine
 * (device.c). */
void bench_device_measure(struct bench *bench, struct accel_device *device, const struct accel_facts *facts);

/* Measures the clock again, for its change since the first measurement. */
void bench_machine_again(struct bench *bench);

/* Returns the product format of a matmul with weights of `type` if x may be rounded to `rounding`. */
enum bench_products bench_products_of(uint32_t type, uint32_t rounding);

/* Returns the least seconds for a cost, with the bound that limits it and its name. */
double bench_limit(const struct bench_machine *machine, const struct bench_cost *cost, enum bench_bound *out_bound,
                   char name[32]);

#endif
