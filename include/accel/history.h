/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The history of runs on this host: what was planned, what was measured, and how fast it was. Plans take past errors
 * and ranges of speed from it. It is a file of lines, one JSON object each:
 * $XDG_STATE_HOME/accel/history.jsonl, else ~/.local/state/accel/history.jsonl, readable by its owner alone.
 *
 * Many processes may add at the same time. The file is bounded: past ACCEL_HISTORY_BYTES the older half is dropped. A
 * damaged line is skipped and counted. A context with ACCEL_CONTEXT_NO_CACHE neither reads nor writes it, nor does one
 * that replays a recorded machine, nor a set-uid program.
 */
#ifndef ACCEL_HISTORY_H
#define ACCEL_HISTORY_H

#include <accel/abi.h>
#include <accel/context.h>
#include <accel/error.h>

ACCEL_BEGIN_C

/** Most bytes of the file. */
#define ACCEL_HISTORY_BYTES 1048576u

/** A speed that comes from fewer tokens, or from a shorter time, is not known (0): the first steps and the clock decide
 *  it. Plans pass over the speed of records of fewer tokens. */
#define ACCEL_HISTORY_TOKENS 16u
#define ACCEL_HISTORY_NANOSECONDS 500000u

#define ACCEL_HISTORY_RUN 1u       /**< a model ran: memory and speed */
#define ACCEL_HISTORY_BANDWIDTH 2u /**< bytes a second that a device reads from its memory, measured */

/** Bytes of one class. Closed. */
struct accel_history_class {
    uint32_t memory_class; /**< ACCEL_MEMORY_... */
    uint32_t zero;         /**< must be 0 */
    uint64_t planned;      /**< bytes that the plan counted with */
    uint64_t measured;     /**< most bytes that were allocated at once */
};

/** One record. Open. Texts are at most 500 bytes; NULL and "" are the same. Numbers that are not known are 0. */
struct accel_history_record {
    uint32_t size;
    uint32_t kind;                             /**< ACCEL_HISTORY_... */
    const char *device;                        /**< "cpu:cpu0" */
    const char *driver;                        /**< name and version: "cpu 0.1.0" */
    const char *model;                         /**< accel_plan_model of the plan; empty for a bandwidth */
    const char *settings;                      /**< accel_plan_variant of the plan; empty for a bandwidth */
    uint64_t time;                             /**< seconds since 1970; 0 when adding: now */
    uint64_t context;                          /**< tokens */
    uint64_t planned;                          /**< bytes in all */
    uint64_t measured;                         /**< peak of the same, as allocated */
    uint64_t step_bytes;                       /**< that a decode step of the run read, on average */
    uint64_t prompt;                           /**< tokens that were read */
    uint64_t tokens;                           /**< tokens that were written */
    double prompt_speed;                       /**< tokens a second */
    double speed;                              /**< tokens a second, written */
    double bandwidth;                          /**< bytes a second */
    uint32_t threads;                          /**< of the run or the measurement */
    uint32_t class_count;                      /**< of `classes` */
    const struct accel_history_class *classes; /**< at most ACCEL_MEMORY_END */
};

/** Appends one record. ACCEL_E_DENIED or ACCEL_E_IO where the file cannot be written: nothing else depends on it.
 *  ACCEL_E_NOT_FOUND where no home is known. ACCEL_OK without effect where the context keeps nothing. Any thread. */
ACCEL_API int32_t accel_history_add(struct accel_context *context, const struct accel_history_record *record,
                                    struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
