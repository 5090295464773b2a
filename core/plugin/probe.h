/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tries a driver out in a child process (the program accel-probe): load, query, attach, enumerate, detach, exit. What
 * the child finds is advice on whether it is safe to load the file here, and a list of devices that holds until the
 * driver is attached here.
 */
#ifndef ACCEL_CORE_PLUGIN_PROBE_H
#define ACCEL_CORE_PLUGIN_PROBE_H

#include <accel/driver.h>
#include <accel/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/plugin/plugin.h"

/** What to probe and how. */
struct accel_probe_job {
    const char *program; /**< path of accel-probe */
    const char *path;    /**< real path of the driver */
    const char *effects; /**< of its note: "prints" allows output */
    uint32_t milliseconds;
    const struct accel_hardware *const *hardware;
    uint32_t hardware_count;
};

/** What came of it. Texts lie in the arena, are never NULL, and are UTF-8. */
struct accel_probe_result {
    int32_t code;   /**< ACCEL_OK: safe to load */
    int32_t signal; /**< that ended the child, or 0 */
    const char *text;
    const char *remedy;
    const char *detail; /**< last lines of the child's standard error */
    bool lasting;       /**< a property of the driver, worth remembering; not of the moment */
    const char *list;   /**< of a driver with devices, what it enumerated, whole: accel_wire_read_list; else NULL */
    size_t list_bytes;
    uint64_t nanoseconds;
};

/** Probes. Fails for lack of memory only: everything else is a result. */
int32_t accel_probe_run(const struct accel_probe_job *job, struct accel_arena *arena,
                        struct accel_probe_result *out_result, struct accel_error *error);

/** The path of accel-probe: `given` where it is not NULL, else $ACCEL_PROBE, else the installed one. Freed with free().
 */
int32_t accel_probe_program(const char *given, char **out_program, struct accel_error *error);

#endif
