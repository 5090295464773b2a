/* SPDX-License-Identifier: Apache-2.0 */
/** @file Probes a driver in a child process (the program accel-probe), which loads, queries, attaches, enumerates and
 * detaches it. The result decides whether this process may load the file, and lists its devices until then. */
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
    const char *program;   /**< path of accel-probe */
    const char *path;      /**< real path of the driver */
    const char *effects;   /**< `effects` of the driver's note: with "prints" it may write to standard output */
    uint32_t milliseconds; /**< deadline */
    const struct accel_hardware *const *hardware; /**< passed to `enumerate` */
    uint32_t hardware_count;
};

/** Result of a probe. Texts live in the arena, are never NULL, and are UTF-8. */
struct accel_probe_result {
    int32_t code;       /**< ACCEL_OK: safe to load */
    int32_t signal;     /**< signal that ended the child, or 0 */
    const char *text;   /**< why the driver is refused; empty with ACCEL_OK */
    const char *remedy; /**< what to do about it, or empty */
    const char *detail; /**< last lines of the child's standard error */
    bool lasting;       /**< the result can be cached; false: the probe did not reach the driver, or memory ran out */
    const char *list;   /**< enumerated devices as accel_ipc_read_list reads them; NULL: none or incomplete */
    size_t list_bytes;
    uint64_t nanoseconds;
};

/** Probes a driver. Fails only if memory runs out: a driver that crashes, hangs or fails is a result. */
int32_t accel_probe_run(const struct accel_probe_job *job, struct accel_arena *arena,
                        struct accel_probe_result *out_result, struct accel_error *error);

/** Returns the path of accel-probe, which the caller frees: `given` if not NULL, else $ACCEL_PROBE or the installed. */
int32_t accel_probe_program(const char *given, char **out_program, struct accel_error *error);

#endif
