/* SPDX-License-Identifier: Apache-2.0 */
/** @file What tests of the cpu driver share: ISAs, random numbers, one comparison. */
#ifndef ACCEL_TESTS_DRIVERS_CPU_H
#define ACCEL_TESTS_DRIVERS_CPU_H

#include "tests/drivers/rig.h"

#define CPU_TEST_ISAS 9u

extern struct rig_random cpu_random;

/** Seeds cpu_random from ACCEL_TEST_SEED or the clock, and prints it. */
void cpu_seed(void);

/** Opens the driver with cpu.isa = the name of an ISA. 0: the machine lacks it, and the error says so. */
uint32_t cpu_open(struct rig *rig, uint32_t isa);
/** The same with cpu.layout: "rows", "panels". */
uint32_t cpu_open_with(struct rig *rig, uint32_t isa, const char *layout);

/** Random numbers in -1 .. 1, to be freed. */
float *cpu_floats(uint64_t count);

/** Runs the graph, which has no symbols, and compares its output y with `want` within the tolerance that the plan
 *  states for the node that makes it; `scale` as in rig_close_enough. */
void cpu_compare(struct rig *rig, const struct net *net, const struct rig_data *data, uint32_t data_count,
                 uint32_t threads, uint64_t slots, const char *what, const double *want, uint64_t count, double scale);

#endif
