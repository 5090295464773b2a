/* SPDX-License-Identifier: Apache-2.0 */
/** @file Internal functions for errors, in addition to accel/error.h. Any thread that owns the error. */
#ifndef ACCEL_CORE_BASE_ERROR_H
#define ACCEL_CORE_BASE_ERROR_H

#include <accel/error.h>

/** Copies an error with remedy and numbers, unless `error` (may be NULL) holds an error already. Returns the code
 * of `from`, which may be ACCEL_OK. */
int32_t accel_error_copy(struct accel_error *error, const struct accel_error *from);

/** accel_error_set with an origin that its caller knows. */
int32_t accel_error_by(struct accel_error *error, uint32_t origin, int32_t code, const char *format, ...)
    ACCEL_PRINTF(4, 5);

/** accel_error_by of a fault of a driver; the text begins with "driver NAME: ". */
int32_t accel_error_driver(struct accel_error *error, int32_t code, const char *driver, const char *format, ...)
    ACCEL_PRINTF(4, 5);

/** accel_error_by of a failed system call, with its errno. */
int32_t accel_error_native(struct accel_error *error, uint32_t origin, int32_t code, int32_t native, const char *format,
                           ...) ACCEL_PRINTF(5, 6);

#endif
