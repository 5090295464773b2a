/* SPDX-License-Identifier: Apache-2.0 */
/** @file Loads a driver file into the process, permanently. The file must have passed the trust and ELF checks. Both
 * the probe's child and the process use it, so that both load in the same way. Acquires the lock of libltdl. */
#ifndef ACCEL_CORE_PLUGIN_LOAD_H
#define ACCEL_CORE_PLUGIN_LOAD_H

#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/arena.h"
#include "core/plugin/plugin.h"

/** Loads the file at the absolute real path with local binding and finds its entry. ACCEL_E_NOT_FOUND: a required
 * library or symbol is missing, or the entry lies in another file. */
int32_t accel_load_open(const char *path, accel_driver_query_function *out_query, struct accel_error *error);

/** Calls the entry and imports the driver (accel_import_driver). */
int32_t accel_load_query(const char *path, accel_driver_query_function query, const struct accel_plugin_note *note,
                         struct accel_arena *arena, const struct accel_driver **out_driver, struct accel_error *error);

#endif
