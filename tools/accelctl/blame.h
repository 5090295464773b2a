/* SPDX-License-Identifier: Apache-2.0 */
/* Names the driver that ends the command, or does not come back when the user wants it to end. */
#ifndef ACCELCTL_BLAME_H
#define ACCELCTL_BLAME_H

#include <accel/context.h>

/* How long an interrupted command may stay in a driver. */
enum { BLAME_SECONDS = 5 };

/* From now on a process that is ended before blame_done, by whoever calls exit in it, says so and has the status 1. The
 * context, or NULL for none any more, tells which driver is in a call. */
void blame_watch(const struct accel_context *context);

/* The verb has ended by itself. */
void blame_done(void);

/* In a handler of `signal`: where a driver is in one call for BLAME_SECONDS from now on, the command ends with its name
 * and the status 128 + signal. */
void blame_wait(int signal);

/* What was interrupted has ended. */
void blame_rest(void);

#endif
