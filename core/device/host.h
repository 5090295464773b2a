/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The host table that a driver's instance is attached with: log, counted memory, clock. One for each instance, at an
 * address that stays until detach.
 */
#ifndef ACCEL_CORE_DEVICE_HOST_H
#define ACCEL_CORE_DEVICE_HOST_H

#include <accel/host.h>
#include <stdatomic.h>

#include "core/base/log.h"
#include "core/device/memory.h"

/** The table and what its slots work on. */
struct accel_host_services {
    struct accel_host table; /**< first: a driver hands its address back */
    struct accel_memory *memory;
    const struct accel_log *log;
    _Atomic uint64_t blocks;                   /**< that the driver took and did not give back yet */
    _Atomic uint64_t bytes;                    /**< of them */
    _Atomic int64_t counted[ACCEL_MEMORY_END]; /**< told by `account` */
    char room[64];                             /**< "driver.cpu": who speaks in the log */
};

/** Fills the services of the driver called `name`. */
void accel_host_services_init(struct accel_host_services *services, const char *name, struct accel_memory *memory,
                              const struct accel_log *log);

/** A crew of the caller alone, for steps and long calls that got no threads. Const, any thread. */
const struct accel_crew *accel_crew_alone(void);

#endif
