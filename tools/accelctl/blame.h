/* SPDX-License-Identifier: Apache-2.0 */
/* Names the driver that ends the command, or does not come back when the user wants it to end. */
#ifndef ACCELCTL_BLAME_H
#define ACCELCTL_BLAME_H

#include <accel/context.h>
#include <signal.h>

/* How long an interrupted command may stay in a driver. */
enum { BLAME_SECONDS = 5 };

/* Once, before anything else of these. Signals that end the command are let through until blame_done. */
void blame_begin(void);

/* From now on a process that is ended before blame_done, by whoever calls exit in it, or _exit while a driver is in a
 * call, says so and has the status 1, and one that crashes while a driver is in a call names that and ends by its
 * signal. The context, or NULL for none any more, tells which driver is in a call. */
void blame_watch(const struct accel_context *context);

/* 1 and the driver's name is said where one is in a call of what is watched: whoever ends the process now is that
 * driver. */
uint32_t blame_exit(void);

/* Somebody has ended the thread that the verb ran in: says so, and which driver it was in. */
void blame_thread(void);

/* Takes out of a mask what ends the command and is not blocked in the calling thread, for another thread that shall
 * hear it where no other one does. */
void blame_spare(sigset_t *mask);

/* Before a context is freed: keeps the names of the drivers whose files stay in the process, for a crash at its end. */
void blame_loaded(const struct accel_context *context);

/* The verb has ended by itself, or another program takes the place of this one. The caller's mask is put back. */
void blame_done(void);

/* In a handler of the signal `number`: where a driver is in one call for BLAME_SECONDS from now on, the command ends
 * with its name and the status 128 + number. A second signal ends the command at once. */
void blame_wait(int number);

/* In a handler: ends the process as the signal does by default. That the user ends it while a driver is in a call is
 * not the driver's doing, and those that come after are not told so. */
void blame_end_by(int number);

/* What was interrupted has ended. */
void blame_rest(void);

#endif
