/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs a program to its end or to a deadline, whatever it does, and keeps what it said. The program gets a process
 * group of its own, no signal blocked or ignored, and nothing of ours but four descriptors. What it leaves running in
 * its group is killed. Any thread; installs no signal handler, and works where the process ignores SIGCHLD or reaps
 * every child (the status is then lost).
 */
#ifndef ACCEL_CORE_PLUGIN_CHILD_H
#define ACCEL_CORE_PLUGIN_CHILD_H

#include <accel/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most bytes kept of what a child writes to its standard output and error; the last ones count. */
#define ACCEL_CHILD_TAIL 2048u
/** Most bytes of an answer (descriptor 3). */
#define ACCEL_CHILD_ANSWER 65536u

/** What to run. */
struct accel_child_job {
    const char *program;    /**< absolute path */
    char *const *arguments; /**< argv, NULL at the end */
    const void *input;      /**< what the child reads from its standard input */
    size_t input_bytes;
    uint32_t milliseconds;    /**< deadline */
    int extra;                /**< becomes its descriptor 4; 0: none */
    bool (*stop)(void *data); /**< asked ten times a second in the caller's thread, true: it is killed. NULL: never */
    void *data;               /**< of stop */
};

/** What one stream of the child brought. */
struct accel_child_stream {
    char data[ACCEL_CHILD_TAIL + 1]; /**< the last bytes, a zero byte after them */
    size_t bytes;                    /**< bytes in `data` */
    uint64_t total;                  /**< bytes written in all */
};

/** How it ended. Large: not for small stacks. */
struct accel_child_end {
    bool timed_out; /**< the deadline passed and it was killed */
    bool stopped;   /**< the job's stop said so and it was killed */
    bool lost;      /**< somebody else reaped it: neither status nor signal is known */
    int32_t status; /**< exit status, where it exited */
    int32_t signal; /**< signal that ended it, or 0 */
    bool too_much;  /**< the answer was longer than ACCEL_CHILD_ANSWER */
    size_t answer_bytes;
    uint64_t nanoseconds; /**< wall-clock time it took */
    struct accel_child_stream output;
    struct accel_child_stream complaints; /**< its standard error */
    char answer[ACCEL_CHILD_ANSWER];
};

/** Runs the job. Fails only where no child could be started: ACCEL_E_NOT_FOUND, ACCEL_E_DENIED, ACCEL_E_IO. */
int32_t accel_child_run(const struct accel_child_job *job, struct accel_child_end *out_end, struct accel_error *error);

/** "SIGSEGV" and the like; "a signal" for others. */
const char *accel_signal_name(int32_t number);

#endif
