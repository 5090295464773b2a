/* SPDX-License-Identifier: Apache-2.0 */
/* Reports an abnormal end (a crash, a driver that hangs, a file that shrank), in the form of report_error.
 * Async-signal-safe, and callable from any thread. */
#ifndef ACCELCTL_CRASH_REPORT_H
#define ACCELCTL_CRASH_REPORT_H

#include <stdint.h>

/* Most pieces of a text. */
enum { CRASH_REPORT_PIECES = 8 };

/* Report to print. Its texts may contain controls, which are replaced on output. */
struct crash_report {
    const char *text[CRASH_REPORT_PIECES]; /* written one after the other, up to the first NULL */
    const char *code;                      /* "ACCEL_E_IO" */
    const char *origin;                    /* "driver"; NULL: "system" */
    const char *remedy;                    /* or NULL */
    int status;                            /* of the process, 0 to 255 */
};

/* 1: reports are documents of accelctl/error/1 on the standard output from now on, not lines on the error output. */
void crash_report_as_json(uint32_t json);

/* Makes documents one line each, for commands whose output is lines of JSON. */
void crash_report_on_one_line(void);

/* Prints the report, once in the life of the process: a later thread waits for the end. Async-signal-safe. */
void crash_report_print(const struct crash_report *report);

/* Prints the report and ends the process with its status. Async-signal-safe. */
_Noreturn void crash_report_end(const struct crash_report *report);

#endif
