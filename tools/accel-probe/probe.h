/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the process that accel-probe is, for both of its tasks. */
#ifndef TOOLS_ACCEL_PROBE_PROBE_H
#define TOOLS_ACCEL_PROBE_PROBE_H

#include <stddef.h>

#include "core/base/strbuf.h"

/* Isolates the process: no core dumps, no inherited descriptors above `last`, and an end with the parent. */
void shelter(int last);

/* Reads the standard input up to `limit` bytes; more of it, or a lack of memory, makes `input` fail. */
void read_input(struct accel_strbuf *input, size_t limit);

/* Runs the worker of core/runtime/worker.h: reads the job, compiles, reports. Returns the exit status. */
int compile_job(void);

#endif
