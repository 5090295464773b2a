/* SPDX-License-Identifier: Apache-2.0 */
/** @file Scratch memory of a queue. */
#ifndef ACCEL_CORE_RUNTIME_SCRATCH_H
#define ACCEL_CORE_RUNTIME_SCRATCH_H

#include "core/runtime/object.h"

/** Returns a large enough scratch block of the queue, with a reference for the caller. NULL if none is needed. */
int32_t accel_queue_scratch(struct accel_queue *queue, uint64_t bytes, uint64_t alignment,
                            struct accel_scratch **out_scratch, struct accel_error *error);

#endif
