/* SPDX-License-Identifier: Apache-2.0 */
/** @file Runs a program until it ends or its deadline passes, and captures its output. The program gets its own process
 * group, no signal blocked or ignored, and only four of our descriptors. Processes that it leaves running in its group
 * are killed. Thread-safe; installs no signal handler, and works if the process ignores SIGCHLD or reaps every child
 * (the status is then lost). */
#ifndef ACCEL_CORE_PLUGIN_CHILD_H
#define ACCEL_CORE_PLUGIN_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

/** Maximum number of bytes stored of a child's standard output and error each; the last ones are stored. */
#define ACCEL_CHILD_TAIL 2048u
/** Maximum size of an answer (descriptor 3). */
#define ACCEL_CHILD_ANSWER 65536u

/** Program to run. */
struct accel_child_job {
    const char *program;    /**< absolute path */
    char *const *arguments; /**< argv, NULL at the end */
    const void *input;      /**< standard input of the child */
    size_t input_bytes;
    uint32_t milliseconds;    /**< deadline; time in which the process had no processor does not count */
    int extra;                /**< becomes descriptor 4 of the child; 0: none */
    bool (*stop)(void *data); /**< called by the caller's thread ten times a second; true ends the child. NULL: never */
    void *data;               /**< argument of stop */
};

/** Output of one stream of the child. */
struct accel_child_stream {
    char data[ACCEL_CHILD_TAIL + 1]; /**< last bytes, zero-terminated */
    size_t bytes;                    /**< bytes in `data` */
    uint64_t total;                  /**< total bytes written */
};

/** How the child ended. The struct is too large for small stacks. */
struct accel_child_end {
    bool timed_out; /**< the deadline passed and it was killed */
    bool stopped;   /**< the job's stop returned true and it was killed */
    bool lost;      /**< another part of the process reaped it: neither status nor signal is known */
    int32_t status; /**< exit status, if it exited */
    int32_t signal; /**< signal that ended it, or 0 */
    bool too_much;  /**< the answer was longer than ACCEL_CHILD_ANSWER */
    size_t answer_bytes;
    uint64_t nanoseconds; /**< wall-clock time */
    struct accel_child_stream output;
    struct accel_child_stream complaints; /**< standard error */
    char answer[ACCEL_CHILD_ANSWER];
};

/** Runs the job. Fails only if no child could be started: ACCEL_E_NOT_FOUND, ACCEL_E_DENIED, ACCEL_E_IO. */
int32_t accel_child_run(const struct accel_child_job *job, struct accel_child_end *out_end, struct accel_error *error);

/** Returns "SIGSEGV" and similar; "a signal" for others. */
const char *accel_signal_name(int32_t number);

#endif
