/* SPDX-License-Identifier: Apache-2.0 */
/** @file Validates and copies the const part of a driver, the struct that its query returns, before it is used.
 * core/boundary/import.h validates the structs that its instance returns later. The first fault is reported; faults are
 * ACCEL_E_INVALID, a wrong ABI is ACCEL_E_ABI. Invalid pointers other than NULL cannot be detected here: a probe in a
 * child process finds them. Thread-safe. */
#ifndef ACCEL_CORE_PLUGIN_IMPORT_DRIVER_H
#define ACCEL_CORE_PLUGIN_IMPORT_DRIVER_H

#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/arena.h"
#include "core/plugin/plugin.h"

/** Limits of one driver. */
#define ACCEL_DRIVER_TEXT 4096u /**< bytes of one string */
#define ACCEL_DRIVER_OPTIONS 256u

/** Checks a string: it is not NULL, ends within ACCEL_DRIVER_TEXT bytes, and is UTF-8 without control
 * characters. `what` names it in the error. */
int32_t accel_check_driver_text(const char *text, const char *what, struct accel_error *error);

/** Validates the struct that query returned, with its option table, against the note (NULL: not compared), and
 * copies it to the arena without a tail that this core does not know. */
int32_t accel_import_driver(const struct accel_driver *given, const struct accel_plugin_note *note,
                            struct accel_arena *arena, const struct accel_driver **out_driver,
                            struct accel_error *error);

#endif
