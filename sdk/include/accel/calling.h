/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which driver a context is in: for programs that end while one hangs, or that find themselves ended by one, and want
 * to say so, or that are ended by their user.
 */
#ifndef ACCEL_CALLING_H
#define ACCEL_CALLING_H

#include <accel/context.h>

ACCEL_BEGIN_C

/**
 * The driver and the slot that the context called last and that have not come back: 1; 0 where there is none, and both
 * are NULL. With several threads in drivers it is one of them. Only reads: for any thread, a signal handler and a
 * function of atexit. The names hold until the next discover.
 */
ACCEL_API uint32_t accel_context_calling(const struct accel_context *context, const char **out_driver,
                                         const char **out_slot) ACCEL_NOEXCEPT;

/**
 * The process is about to be ended by its user, and not by the driver that it may be in: those that come after are not
 * told of that call. The context may be freed afterwards, and is good for nothing else. For any thread and a handler of
 * a signal; NULL does nothing.
 */
ACCEL_API void accel_context_unmark(const struct accel_context *context) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
