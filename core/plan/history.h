/* SPDX-License-Identifier: Apache-2.0 */
/** @file Reads the history of runs for plans, and defines the format of a line; accel/history.h adds records. */
#ifndef ACCEL_CORE_PLAN_HISTORY_H
#define ACCEL_CORE_PLAN_HISTORY_H

#include <stdbool.h>

#include <accel/history.h>

/** First bytes of every line; a reader skips lines of other versions as damaged. */
#define ACCEL_HISTORY_BEGIN "{\"accel-history\":1,"

/** Maximum bytes of a line. */
#define ACCEL_HISTORY_LINE 8192u

/** Maximum bytes of a text in a record. */
#define ACCEL_HISTORY_TEXT 500u

/** Returns whether the context records a history: false if history is disabled, and for a context that replays
 * another machine, whose past this host does not know. */
bool accel_history_is_enabled(const struct accel_context *context);

/** Returns the path of the file in *out_path; on failure NULL with an error. The caller frees it. */
int32_t accel_history_file(char **out_path, struct accel_error *error);

struct accel_history;

/** Reads the newest `most` records, newest first, of `kind` for this device and model; NULL or 0: of any. A file
 * that is missing, unreadable, or writable by other users gives none, and accel_history_reason returns the reason.
 * ACCEL_E_INVALID: there is no such kind. Any thread; the result belongs to the caller and may be read from any
 * thread until it is freed. */
int32_t accel_history_find(const struct accel_context *context, uint32_t kind, const char *model, const char *device,
                           uint32_t most, struct accel_history **out_history, struct accel_error *error);

/** Frees it with its records. NULL is allowed. */
void accel_history_free(struct accel_history *history);

/** Number of records. NULL has none, here and below. */
uint32_t accel_history_count(const struct accel_history *history);
/** The record at `index`, newest first, or NULL past the end. */
const struct accel_history_record *accel_history_get(const struct accel_history *history, uint32_t index);
/** Lines of the file that are no records. */
uint32_t accel_history_damaged(const struct accel_history *history);
/** The file, or empty where none is known. */
const char *accel_history_path(const struct accel_history *history);
/** Why nothing could be read, or empty. */
const char *accel_history_reason(const struct accel_history *history);

#endif
