/* SPDX-License-Identifier: Apache-2.0 */
/** @file Resource limits of this process. One file per operating system implements them; elsewhere all are unknown. */
#ifndef ACCEL_CORE_TOPOLOGY_LIMITS_H
#define ACCEL_CORE_TOPOLOGY_LIMITS_H

#include <stdint.h>

#include <accel/error.h>

#include "core/base/arena.h"

/** Bytes with their origin. `origin` is NULL if the number is unknown or there is no such limit. */
struct accel_amount {
    uint64_t bytes;
    const char *origin;
};

/** Processor time limit of this process's control groups: `quota` in every `period`, both in microseconds. */
struct accel_cpu_quota {
    uint64_t quota;
    uint64_t period;
    const char *origin; /**< NULL: no quota */
};

/** All limits, and the memory sizes. Strings belong to the arena. */
struct accel_host_limits {
    struct accel_cpu_quota cpu;           /**< tightest of the group and its parents */
    struct accel_amount memory_total;     /**< bytes of the machine */
    struct accel_amount memory_available; /**< bytes available without swapping */
    struct accel_amount memory_limit;     /**< bytes: smallest limit of the group and its parents */
    struct accel_amount memory_headroom;  /**< least bytes left under the limits of the control groups and of the
                                           * process,  page cache not counted as used */
    const char *cpus;                     /**< list of hardware threads that the calling thread may run on, or NULL */
    const char *cpus_origin;
};

/** Reads the limits. `root` is a prefix of every path ("" for the live system) and not part of an origin. Missing
 * or malformed files are unknown; the only error is ACCEL_E_MEMORY. */
int32_t accel_limits_read(const char *root, struct accel_arena *arena, struct accel_host_limits *out_limits,
                          struct accel_error *error);

#endif
