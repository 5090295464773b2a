/* SPDX-License-Identifier: Apache-2.0 */
/** @file Reads the history of runs on this host: what was planned, what was measured, and how fast it was. Plans take
 * past errors and ranges of speed from it. It is a file of lines, one JSON object each:
 * $XDG_STATE_HOME/accel/history.jsonl, else ~/.local/state/accel/history.jsonl, readable by its owner alone;
 * tools/history appends to it. A damaged line is skipped and counted. A context with ACCEL_CONTEXT_NO_CACHE does not
 * use it, nor does one that replays a recorded machine, nor a set-uid program. */
#ifndef ACCEL_CORE_PLAN_HISTORY_H
#define ACCEL_CORE_PLAN_HISTORY_H

#include <accel/context.h>

#include "core/base/arena.h"

/** Maximum bytes of the file. */
#define ACCEL_HISTORY_BYTES 1048576u

/** A speed that comes from fewer tokens, or from a shorter time, is not known (0): the first steps and the clock decide
 *  it. Plans pass over the speed of records of fewer tokens. */
#define ACCEL_HISTORY_TOKENS 16u
#define ACCEL_HISTORY_NANOSECONDS 500000u

#define ACCEL_HISTORY_RUN 1u       /**< a model ran: memory and speed */
#define ACCEL_HISTORY_BANDWIDTH 2u /**< bytes a second that a device reads from its memory, measured */

/** Bytes of one class. */
struct accel_history_class {
    uint32_t memory_class; /**< ACCEL_MEMORY_... */
    uint64_t planned;      /**< bytes that the plan counted with */
    uint64_t measured;     /**< most bytes that were allocated at once */
};

/** One record; its line has at most ACCEL_HISTORY_LINE bytes. NULL and "" are the same text, and 0 is not known. */
struct accel_history_record {
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
    uint64_t read_bytes;                       /**< that a decode step read from disks, if experts have a limit */
    uint64_t prompt;                           /**< tokens that were read */
    uint64_t tokens;                           /**< tokens that were written */
    double prompt_speed;                       /**< tokens a second */
    double speed;                              /**< tokens a second, written */
    double bandwidth;                          /**< bytes a second */
    uint32_t threads;                          /**< of the run or the measurement */
    uint32_t class_count;                      /**< of `classes` */
    const struct accel_history_class *classes; /**< at most ACCEL_MEMORY_END */
};

/** First bytes of every line; a reader skips lines of other versions as damaged. */
#define ACCEL_HISTORY_BEGIN "{\"accel-history\":1,"

/** Maximum bytes of a line. */
#define ACCEL_HISTORY_LINE 8192u

/** Returns the path of the file in *out_path; on failure NULL with an error. The caller frees it. */
int32_t accel_history_file(char **out_path, struct accel_error *error);

/** Returns the name of a memory class in lines of the history and in plans; NULL past the end. */
const char *accel_history_class_name(uint32_t memory_class);

/** Records that were read; all of it lives in its arena. Their texts are never NULL, but driver, time, context, prompt,
 * prompt_speed and classes, which no plan takes from the past, are not read. */
struct accel_history {
    struct accel_arena arena;
    struct accel_history_record *records; /**< newest first */
    uint32_t count;
    uint32_t capacity;  /**< of `records` */
    uint32_t damaged;   /**< lines of the file that are no records */
    const char *path;   /**< the file, or empty if none is known */
    const char *reason; /**< why nothing could be read, or empty */
};

/** Reads the newest `most` records, newest first, of `kind` for this device and model; NULL or 0: of any. A file that
 * is missing, unreadable, or writable by other users gives none, and `reason` states why. ACCEL_E_INVALID: there is no
 * such kind. Any thread; the result belongs to the caller and may be read from any thread until it is freed. */
int32_t accel_history_find(const struct accel_context *context, uint32_t kind, const char *model, const char *device,
                           uint32_t most, struct accel_history **out_history, struct accel_error *error);

/** Frees it with its records. NULL is allowed. */
void accel_history_free(struct accel_history *history);

#endif
