/* SPDX-License-Identifier: Apache-2.0 */
/* Says on the error output which driver the command waits for, where one takes long to tell its devices, to open one,
 * to say what it supports or to make what a run needs: nobody would know why nothing happens. Where a driver ends the
 * thread that called it, the command ends with its name. */
#ifndef ACCELCTL_WAITING_H
#define ACCELCTL_WAITING_H

#include <accel/context.h>

/* How long a call may take before that is said. */
enum { WAITING_SECONDS = 5 };

/* From now on a thread of its own looks at the context, which lives until waiting_end, and at the thread that calls
 * this, which calls that as well. Without one nothing is said. */
void waiting_begin(const struct accel_context *context);
/* May be called without a begin. */
void waiting_end(void);

#endif
