/* SPDX-License-Identifier: Apache-2.0 */
/* Names the driver that ends the command, or does not come back when the user wants it to end. */
#ifndef ACCELCTL_BLAME_H
#define ACCELCTL_BLAME_H

#include <accel/context.h>

/* How long an interrupted command may stay in a driver. */
enum { BLAME_SECONDS = 5 };

/* Once, before anything else of these. Signals that end the command are let through until blame_done. */
void blame_begin(void);

/* From now on a process that is ended before blame_done, by whoever calls exit in it, says so and has the status 1, and
 * one that crashes while a driver is in a call names that and ends by its signal. The context, or NULL for none any
 * more, tells which driver is in a call. */
void blame_watch(const struct accel_context *context);

/* 1: what is said of an end is a document of accelctl/error/1 on the standard output. */
void blame_as_json(uint32_t json);

/* The verb has ended by itself, or another program takes the place of this one. The caller's mask is put back. */
void blame_done(void);

/* In a handler of the signal `number`: where a driver is in one call for BLAME_SECONDS from now on, the command ends
 * with its name and the status 128 + number. A second signal ends the command at once. */
void blame_wait(int number);

/* In a handler: ends the process as the signal does by default. */
void blame_end_by(int number);

/* What was interrupted has ended. */
void blame_rest(void);

#endif
