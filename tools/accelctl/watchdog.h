/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the driver and the call in which the command crashes, is ended, or hangs. */
#ifndef ACCELCTL_WATCHDOG_H
#define ACCELCTL_WATCHDOG_H

/* Installs handlers of crashes, of an exit() before watchdog_done, and of SIGINT and SIGTERM: they report the
 * interrupt and end the command, until it installs handlers that cancel its work (progress_begin). An existing handler,
 * such as that of an address sanitizer, stays, and an ignored signal stays ignored. */
void watchdog_begin(void);

/* Marks the normal end of the command: exit() is no error any more. */
void watchdog_done(void);

/* Records the call in progress; `calling` of struct accel_context_options. */
void watchdog_note_call(void *data, const char *driver, const char *slot);

/* Starts the thread that watches calls, once in a process. A call that should return quickly (open, close, a free)
 * is named on the error output after 5 seconds, and ends the command after 30. */
void watchdog_start(void);

/* Starts a deadline from a handler of SIGINT or SIGTERM: a driver that stays in one call for 5 more seconds is
 * named, and the command ends with the status 128 + number. The second signal is reported and ends the
 * command at once. */
void watchdog_interrupt(int number);

/* Cancels the deadline of watchdog_interrupt, since the interrupted call has returned. */
void watchdog_rest(void);

#endif
