/* SPDX-License-Identifier: Apache-2.0 */
/** @file Queues of submitted steps. */
#ifndef ACCEL_CORE_RUNTIME_QUEUE_H
#define ACCEL_CORE_RUNTIME_QUEUE_H

#include "core/runtime/object.h"

/** Marks the queue's next value as failed; the caller has filled `queue->failure`. */
void accel_queue_fail(struct accel_queue *queue, uint64_t value, int32_t code);

/** Waits until the driver has completed all steps and releases their objects; does nothing if steps run in the
 * caller's thread. */
void accel_queue_drain(struct accel_queue *queue);

#endif
