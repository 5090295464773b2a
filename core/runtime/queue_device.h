/* SPDX-License-Identifier: Apache-2.0 */
/** @file Passes steps of a queue to the queue of a driver. */
#ifndef ACCEL_CORE_RUNTIME_QUEUE_DEVICE_H
#define ACCEL_CORE_RUNTIME_QUEUE_DEVICE_H

#include "core/runtime/object.h"

/** Submits steps to a driver queue (queue_device.c). */
int32_t accel_driver_queue_submit(struct accel_queue *queue, const struct accel_step *const *steps, uint32_t step_count,
                                  const struct accel_fence *waits, uint32_t wait_count, uint64_t *out_value,
                                  struct accel_error *error);

/** Waits on a driver queue until a deadline on the clock, and releases objects of completed steps. */
int32_t accel_driver_queue_wait(struct accel_queue *queue, uint64_t value, uint64_t deadline,
                                struct accel_error *error);

/** Call the driver queue's slot of that name; `error` may be NULL. They return the driver's own code, not validated. */
int32_t accel_driver_queue_completed(struct accel_queue *queue, uint64_t *out_value, struct accel_error *error);
int32_t accel_driver_queue_reset(struct accel_queue *queue, struct accel_error *error);

/** Releases the objects of completed steps, or of all steps with `everything`. */
void accel_queue_reap(struct accel_queue *queue, bool everything);

#endif
