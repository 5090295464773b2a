/* SPDX-License-Identifier: Apache-2.0 */
/** @file How a line of the history looks; shared by its writer and its reader. */
#ifndef ACCEL_CORE_PLAN_HISTORY_H
#define ACCEL_CORE_PLAN_HISTORY_H

#include <accel/history.h>
#include <stdbool.h>

/** What every line begins with; a reader passes over lines of other versions as damaged. */
#define ACCEL_HISTORY_BEGIN "{\"accel-history\":1,"

/** Most bytes of a line. */
#define ACCEL_HISTORY_LINE 8192u

/** Most bytes of a text of a record. */
#define ACCEL_HISTORY_TEXT 500u

/** False for a context that keeps nothing, and for one that replays another machine, whose past this host does not
 * know. */
bool accel_history_keeps(const struct accel_context *context);

/** The file, or NULL with an error. The caller frees it. */
int32_t accel_history_file(char **out_path, struct accel_error *error);

#endif
