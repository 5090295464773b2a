/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the job of a worker that core/runtime/worker.h serialized. */
#ifndef TOOLS_ACCEL_PROBE_JOB_H
#define TOOLS_ACCEL_PROBE_JOB_H

#include <stddef.h>

#include <accel/error.h>

#include "core/base/arena.h"
#include "core/runtime/worker.h"

/* Parses a job, which lives in the arena. The input is untrusted: ACCEL_E_CORRUPT if accel_worker_pack did not write
 * it. */
int32_t parse_job(const char *data, size_t bytes, struct accel_arena *arena, struct accel_worker_job *out_job,
                  struct accel_error *error);

#endif
