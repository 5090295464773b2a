/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the operating system lets this process use. One file per operating system implements it; elsewhere nothing is
 * known, and nothing is limited.
 */
#ifndef ACCEL_CORE_TOPOLOGY_LIMITS_H
#define ACCEL_CORE_TOPOLOGY_LIMITS_H

#include <accel/error.h>
#include <stdint.h>

#include "core/base/arena.h"

/** Bytes, and where the number comes from. `origin` is NULL where it is unknown or there is no such limit. */
struct accel_amount {
    uint64_t bytes;
    const char *origin;
};

/** Processor time that the groups of this process may use: `quota` in every `period`, both in microseconds. */
struct accel_cpu_quota {
    uint64_t quota;
    uint64_t period;
    const char *origin; /**< NULL: no quota */
};

/** All limits, and how much memory there is. Strings belong to the arena. */
struct accel_host_limits {
    struct accel_cpu_quota cpu;           /**< tightest of the group and its parents */
    struct accel_amount memory_total;     /**< bytes of the machine */
    struct accel_amount memory_available; /**< bytes that can be taken without swapping */
    struct accel_amount memory_limit;     /**< bytes: smallest limit of the group and its parents */
    struct accel_amount memory_room; /**< bytes left under the limit of a group or of the process that leaves least,
                                        page cache not counted as used */
    const char *cpus;                /**< list of hardware threads that the calling thread may run on, or NULL */
    const char *cpus_origin;
};

/**
 * Reads them. `root` is put before every path ("" for the live system) and never appears in an origin. What is not
 * there or makes no sense counts as unknown; the only error is ACCEL_E_MEMORY.
 */
int32_t accel_limits_read(const char *root, struct accel_arena *arena, struct accel_host_limits *out_limits,
                          struct accel_error *error);

#endif
