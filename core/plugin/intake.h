/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Checks the const part of a driver, what its query hands out, before anybody relies on it. What its instance says
 * later is checked by core/device/take.h. The first fault is named; faults are ACCEL_E_INVALID, a wrong ABI is
 * ACCEL_E_ABI. Pointers that are wild rather than NULL cannot be told here: a probe in a child process finds them. Any
 * thread.
 */
#ifndef ACCEL_CORE_PLUGIN_INTAKE_H
#define ACCEL_CORE_PLUGIN_INTAKE_H

#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/arena.h"
#include "core/plugin/plugin.h"

/** Caps on what one driver may say. */
#define ACCEL_INTAKE_TEXT 4096u /**< bytes of one string */
#define ACCEL_INTAKE_OPTIONS 256u

/** A string that is not NULL, ends within ACCEL_INTAKE_TEXT bytes, and is UTF-8 without control characters. `what`
 *  names it in the error. */
int32_t accel_intake_text(const char *text, const char *what, struct accel_error *error);

/**
 * Checks what query handed out, its option table included, against the note (NULL: not compared), and copies all of it
 * to the arena; a tail that this core does not know is left out.
 */
int32_t accel_intake_driver(const struct accel_driver *given, const struct accel_plugin_note *note,
                            struct accel_arena *arena, const struct accel_driver **out_driver,
                            struct accel_error *error);

#endif
