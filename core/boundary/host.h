/* SPDX-License-Identifier: Apache-2.0 */
/** @file The host table that an instance is attached with: log, counted memory, clock. Each instance has one, at an
 * address that stays valid until detach. */
#ifndef ACCEL_CORE_BOUNDARY_HOST_H
#define ACCEL_CORE_BOUNDARY_HOST_H

#include <stdatomic.h>

#include <accel/host.h>

#include "core/base/log.h"
#include "core/boundary/memory.h"

/** Host table of an instance and the state of its functions. */
struct accel_host_services {
    struct accel_host table; /**< first: the driver passes its address back */
    struct accel_memory *memory;
    const struct accel_log *log;
    _Atomic uint64_t blocks;                   /**< allocated and not yet released by the driver */
    _Atomic uint64_t bytes;                    /**< bytes of these blocks */
    _Atomic int64_t counted[ACCEL_MEMORY_END]; /**< counted with `account` */
    char component[64];                        /**< component of log lines, "driver.cpu" */
};

/** Initializes the services of the driver called `name`. */
void accel_host_services_init(struct accel_host_services *services, const char *name, struct accel_memory *memory,
                              const struct accel_log *log);

/** Returns a thread team of one: the calling thread. */
const struct accel_team *accel_team_serial(void);

#endif
