/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Open structs (accel/abi.h) from drivers and applications: the one place that says which sizes are taken, and what
 * becomes of members that this library does not know. Pure functions, any thread.
 */
#ifndef ACCEL_CORE_BASE_OPEN_H
#define ACCEL_CORE_BASE_OPEN_H

#include <accel/error.h>
#include <stddef.h>
#include <stdint.h>

/** Most bytes that an open struct may claim to have: far above what any minor will need, and a bound for what a wrong
 *  size makes us read. */
#define ACCEL_OPEN_LIMIT 4096u

/** As `known`: members that are not known are nobody's business here. */
#define ACCEL_OPEN_IGNORE_TAIL SIZE_MAX

/**
 * Checks an open struct: it is there, its size is at least `minimum`, a multiple of 8 and at most ACCEL_OPEN_LIMIT, and
 * what lies past the `known` bytes is zero. `who` gave it ("driver cpu", "the caller"), `what` is its tag.
 * ACCEL_E_INVALID: a rule is broken; ACCEL_E_UNSUPPORTED: a member that this minor does not know is set.
 */
int32_t accel_open_check(const void *given, size_t minimum, size_t known, const char *who, const char *what,
                         struct accel_error *error);

/** As accel_open_check; copies what is known to `out_copy` (`known` bytes, of which those that were not given are 0).
 */
int32_t accel_open_copy(const void *given, size_t minimum, size_t known, const char *who, const char *what,
                        void *out_copy, struct accel_error *error);

#endif
