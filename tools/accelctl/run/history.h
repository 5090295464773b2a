/* SPDX-License-Identifier: Apache-2.0 */
/** @file Adds a run to the history, which later plans read. */
#ifndef ACCELCTL_HISTORY_H
#define ACCELCTL_HISTORY_H

#include <accel/model/generate.h>

#include "tools/accelctl/model.h"

/** Adds the run to the history: memory as planned and as allocated, and its speed. `peak` and `resident` are
 * allocated bytes in all and of mapped weights, `disk` those that a decode step read from disks, UINT64_MAX if they are
 * not known. A failure is described in `error`, and affects nothing else. */
int32_t history_record_run(const struct opened *opened, const struct accel_generate_result *result, uint64_t peak,
                           uint64_t resident, uint64_t disk, struct accel_error *error);

#endif
