/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of an end that the command did not choose: an error as say() prints it, written by a handler of a signal
 * or by whoever else cannot go on. */
#ifndef ACCELCTL_ENDING_H
#define ACCELCTL_ENDING_H

#include <stdint.h>

/* Pieces that a text has at most. */
enum { ENDING_PIECES = 8 };

/* Texts that are not plain are cleaned when they are written; NULL where there is none. */
struct ending {
    const char *text[ENDING_PIECES]; /* written one behind the other, up to the first NULL */
    const char *code;                /* "ACCEL_E_IO" */
    const char *remedy;              /* or NULL */
    int status;                      /* of the process, 0 to 255 */
};

/* 1: it is a document of accelctl/error/1 on the standard output from now on, not a line on the error output. */
void ending_as_json(uint32_t json);

/* Says it once in the life of the process: threads that come later wait for the end that the first one is about to
 * make. Only what may be called in a handler of a signal. */
void ending_say(const struct ending *ending);

#endif
