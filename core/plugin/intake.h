/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Checks what a driver hands over before anybody relies on it. The first fault is named; faults are ACCEL_E_INVALID.
 * Pointers that are wild rather than NULL cannot be told here: a probe in a child process finds them. Any thread.
 */
#ifndef ACCEL_CORE_PLUGIN_INTAKE_H
#define ACCEL_CORE_PLUGIN_INTAKE_H

#include <accel/driver.h>
#include <accel/error.h>
#include <stddef.h>

#include "core/base/arena.h"
#include "core/plugin/plugin.h"

/** Caps on what one driver may say. */
#define ACCEL_INTAKE_TEXT 4096u   /**< bytes of one string */
#define ACCEL_INTAKE_STRUCT 4096u /**< bytes of an open struct */
#define ACCEL_INTAKE_OPTIONS 256u
#define ACCEL_INTAKE_HEAPS 64u
#define ACCEL_INTAKE_TYPES 1024u

/** A string that is not NULL, ends within ACCEL_INTAKE_TEXT bytes, and is UTF-8 without control characters. `what`
 *  names it in the error. */
int32_t accel_intake_text(const char *text, const char *what, struct accel_error *error);

/** The size of an open struct: at least up to `least` bytes, a multiple of 8, not absurd. */
int32_t accel_intake_size(uint32_t size, size_t least, const char *what, struct accel_error *error);

/**
 * Checks what query handed out, its option table included, against the note (NULL: not compared), and copies all of it
 * to the arena; a tail that this core does not know is left out.
 */
int32_t accel_intake_driver(const struct accel_driver *given, const struct accel_plugin_note *note,
                            struct accel_arena *arena, const struct accel_driver **out_driver,
                            struct accel_error *error);

/** Checks the table of an instance that attach handed out: all required slots. */
int32_t accel_intake_instance(const struct accel_driver_instance *instance, struct accel_error *error);

/** Checks the facts of one device. `hardware_count` is how many pieces of hardware enumerate was given. */
int32_t accel_intake_facts(const struct accel_facts *facts, uint32_t hardware_count, struct accel_error *error);

#endif
