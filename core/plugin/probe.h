/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Probes a driver in a child process (the program accel-probe): load, query, attach, enumerate, detach, exit. The
 * result decides whether the file is safe to load here, and lists devices until the driver is attached here. */
#ifndef ACCEL_CORE_PLUGIN_PROBE_H
#define ACCEL_CORE_PLUGIN_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/arena.h"
#include "core/plugin/plugin.h"

/** Driver and arguments of a probe. */
struct accel_probe_job {
    const char *program; /**< path of accel-probe */
    const char *path;    /**< real path of the driver */
    const char *effects; /**< of its note: "prints" allows output */
    uint32_t milliseconds;
    const struct accel_hardware *const *hardware;
    uint32_t hardware_count;
};

/** Result of a probe. Texts live in the arena, are never NULL, and are UTF-8. */
struct accel_probe_result {
    int32_t code;   /**< ACCEL_OK: safe to load */
    int32_t signal; /**< signal that ended the child, or 0 */
    const char *text;
    const char *remedy;
    const char *detail; /**< last lines of the child's standard error */
    bool lasting;       /**< the result is a property of the driver, to be cached, and not temporary */
    const char *list;   /**< enumerated devices of a driver, complete (accel_ipc_read_list); else NULL */
    size_t list_bytes;
    uint64_t nanoseconds;
};

/** Probes. Fails for lack of memory only: everything else is a result. */
int32_t accel_probe_run(const struct accel_probe_job *job, struct accel_arena *arena,
                        struct accel_probe_result *out_result, struct accel_error *error);

/** Returns the path of accel-probe: `given` if it is not NULL, else $ACCEL_PROBE, else the installed one. Freed
 * with free(). */
int32_t accel_probe_program(const char *given, char **out_program, struct accel_error *error);

#endif
