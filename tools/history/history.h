/* SPDX-License-Identifier: Apache-2.0 */
/** @file Appends records to the history of this host, from which plans take past errors and ranges of speed. Many
 * processes may append at the same time. The file is bounded: past ACCEL_HISTORY_BYTES the older half is dropped. */
#ifndef TOOLS_HISTORY_HISTORY_H
#define TOOLS_HISTORY_HISTORY_H

#include "core/plan/history.h"

/** Appends one record. ACCEL_E_DENIED or ACCEL_E_IO if the file cannot be written: nothing else depends on it.
 * ACCEL_E_NOT_FOUND if no home is known; ACCEL_E_LIMIT if the texts are too long. Any thread. */
int32_t history_add(const struct accel_history_record *record, struct accel_error *error);

#endif
