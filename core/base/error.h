/* SPDX-License-Identifier: Apache-2.0 */
/** @file What the core does with errors beside accel/error.h. Any thread that owns the error. */
#ifndef ACCEL_CORE_BASE_ERROR_H
#define ACCEL_CORE_BASE_ERROR_H

#include <accel/error.h>

/** Hands on what another call has said, remedy and numbers too, unless `error` (may be NULL) holds an error already.
 *  Answers the code of `from`, which may be ACCEL_OK. */
int32_t accel_error_copy(struct accel_error *error, const struct accel_error *from);

#endif
