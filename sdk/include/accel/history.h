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

#define ACCEL_HISTORY_RUN 1u       /**< a model ran: memory and speed */
#define ACCEL_HISTORY_BANDWIDTH 2u /**< bytes a second that a device reads from its memory, measured */

/** Bytes of one class. Closed. */
struct accel_history_class {
    uint32_t memory_class; /**< ACCEL_MEMORY_... */
    uint32_t zero;         /**< written 0 */
    uint64_t planned;      /**< bytes that the plan counted with */
    uint64_t measured;     /**< most bytes that were held at once */
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
    uint64_t measured;                         /**< peak of the same */
    uint64_t step_bytes;                       /**< that one step of one token reads: the plan's */
    uint64_t prompt;                           /**< tokens that were read */
    uint64_t tokens;                           /**< tokens that were written */
    double prompt_speed;                       /**< tokens a second */
    double speed;                              /**< tokens a second, written */
    double bandwidth;                          /**< bytes a second */
    uint32_t threads;                          /**< of the run */
    uint32_t class_count;                      /**< of `classes` */
    const struct accel_history_class *classes; /**< at most ACCEL_MEMORY_END */
};

/** Appends one record. ACCEL_E_DENIED or ACCEL_E_IO where the file cannot be written: nothing else depends on it.
 *  ACCEL_E_NOT_FOUND where no home is known. ACCEL_OK without effect where the context keeps nothing. Any thread. */
ACCEL_API int32_t accel_history_add(struct accel_context *context, const struct accel_history_record *record,
                                    struct accel_error *error) ACCEL_NOEXCEPT;

struct accel_history;

/** Reads the newest `most` records, newest first, of `kind` whose device and model are these; NULL or 0: of any. A file
 *  that is not there, cannot be read, or may be written by others than its owner gives none, and accel_history_reason
 *  says why. ACCEL_E_INVALID: there is no such kind. Any thread; what it hands out belongs to the caller and may be
 * read from any thread until it is freed. */
ACCEL_API int32_t accel_history_find(const struct accel_context *context, uint32_t kind, const char *model,
                                     const char *device, uint32_t most, struct accel_history **out_history,
                                     struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees it with its records. NULL is allowed. */
ACCEL_API void accel_history_free(struct accel_history *history) ACCEL_NOEXCEPT;

/** Number of records. NULL has none, here and below. */
ACCEL_API uint32_t accel_history_count(const struct accel_history *history) ACCEL_NOEXCEPT;
/** The record at `index`, newest first, or NULL past the end. */
ACCEL_API const struct accel_history_record *accel_history_get(const struct accel_history *history,
                                                               uint32_t index) ACCEL_NOEXCEPT;
/** Lines of the file that are no records. */
ACCEL_API uint32_t accel_history_damaged(const struct accel_history *history) ACCEL_NOEXCEPT;
/** The file, or empty where none is known. */
ACCEL_API const char *accel_history_path(const struct accel_history *history) ACCEL_NOEXCEPT;
/** Why nothing could be read, or empty. */
ACCEL_API const char *accel_history_reason(const struct accel_history *history) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
