/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs a program in a process group of its own until it ends or its deadline passes. Captures its standard output,
 * its standard error and descriptor 3 (the answer), and kills the process group afterwards.
 */
#ifndef ACCEL_SDK_CONFORM_PROCESS_H
#define ACCEL_SDK_CONFORM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

#define PROCESS_TAIL 2048u    /* captured bytes of standard output and error, the last ones */
#define PROCESS_ANSWER 65536u /* most bytes of an answer */

/** Captured output of one stream. */
struct process_stream {
    char data[PROCESS_TAIL + 1]; /**< the last bytes and a terminating zero */
    size_t bytes;                /**< in `data` */
    uint64_t total;              /**< bytes that the program wrote */
};

/** How the program ended. */
struct process_end {
    bool timed_out; /**< the deadline passed and the program was killed */
    bool too_much;  /**< the answer was longer than PROCESS_ANSWER */
    int status;     /**< exit status, if the program exited */
    int signal;     /**< signal that ended it, or 0 */
    uint64_t nanoseconds;
    struct process_stream output, complaints;
    size_t answer_bytes;
    char answer[PROCESS_ANSWER];
};

/** Runs the program at an absolute path. Returns ACCEL_E_IO if it could not be started. */
int32_t process_run(const char *program, char *const *arguments, uint32_t milliseconds, struct process_end *out_end,
                    struct accel_error *error);

#endif
