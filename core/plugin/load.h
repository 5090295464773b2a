/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Brings a driver file into the process, for ever. The file must have passed trust and gate. Used by the probe's child
 * and by the process alike, so that both do the same. Takes the lock of libltdl itself.
 */
#ifndef ACCEL_CORE_PLUGIN_LOAD_H
#define ACCEL_CORE_PLUGIN_LOAD_H

#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/arena.h"
#include "core/plugin/plugin.h"

/**
 * Loads the file at the absolute real path with local binding and finds its entry. ACCEL_E_NOT_FOUND: a library or a
 * symbol that it needs is missing, or its entry lies in another file.
 */
int32_t accel_load_open(const char *path, accel_driver_query_function *out_query, struct accel_error *error);

/** Calls the entry and takes in what it answers (accel_intake_driver). */
int32_t accel_load_query(const char *path, accel_driver_query_function query, const struct accel_plugin_note *note,
                         struct accel_arena *arena, const struct accel_driver **out_driver, struct accel_error *error);

#endif
