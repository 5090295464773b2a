/* SPDX-License-Identifier: Apache-2.0 */
/** @file Open structs (accel/abi.h: extensible structs that begin with their size) from drivers and applications:
 * checks their sizes and handles members that this library does not know. Pure functions, thread-safe. */
#ifndef ACCEL_CORE_BASE_OPEN_H
#define ACCEL_CORE_BASE_OPEN_H

#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

/** Maximum size of an open struct: far above the size in any minor, and a bound for what a wrong size reads. */
#define ACCEL_OPEN_LIMIT 4096u

/** Value of `known` that ignores unknown members; for accel_open_check alone. */
#define ACCEL_OPEN_IGNORE_TAIL SIZE_MAX

/** Checks an open struct: it is not NULL, its size is at least `minimum`, a multiple of 8 and at most ACCEL_OPEN_LIMIT,
 * and bytes past the `known` ones are zero. `who` owns it in the error's text ("driver cpu", "the caller"), `what`
 * names the struct. ACCEL_E_INVALID: a rule is broken; ACCEL_E_UNSUPPORTED: a member unknown to this minor is set. */
int32_t accel_open_check(const void *given, size_t minimum, size_t known, const char *who, const char *what,
                         struct accel_error *error);

/** Checks like accel_open_check, then copies the known members to `out_copy` (`known` bytes; missing members are 0). */
int32_t accel_open_copy(const void *given, size_t minimum, size_t known, const char *who, const char *what,
                        void *out_copy, struct accel_error *error);

#endif
