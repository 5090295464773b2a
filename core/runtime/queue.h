/* SPDX-License-Identifier: Apache-2.0 */
/** @file Queues of submitted steps, and the parts that a queue consists of. */
#ifndef ACCEL_CORE_RUNTIME_QUEUE_H
#define ACCEL_CORE_RUNTIME_QUEUE_H

#include "core/runtime/object.h"

/** Marks the queue's next value as failed; the caller has filled `queue->failure`. */
void accel_queue_fail(struct accel_queue *queue, uint64_t value, int32_t code);

/** Waits for the driver to complete all steps and releases their objects. No-op if the caller's thread runs steps. */
void accel_queue_drain(struct accel_queue *queue);

/* ---- step.c, state.c: steps that run in the caller's thread ---- */

/** Runs one step of accel_queue_submit in the caller's thread. */
int32_t accel_step_run(struct accel_queue *queue, const struct accel_step *step, struct accel_error *error);

/** Applies changes to a state in host memory. */
int32_t accel_state_apply(struct accel_state *state, const struct accel_state_change *changes, uint64_t count,
                          struct accel_error *error);

/* ---- queue_device.c: steps that a driver's queue runs ---- */

/** Submits steps to a driver queue. */
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

/* ---- scratch.c, team.c: memory and threads of a queue ---- */

/** Returns a large enough scratch block of the queue, with a reference for the caller. NULL if none is needed. */
int32_t accel_queue_scratch(struct accel_queue *queue, uint64_t bytes, uint64_t alignment,
                            struct accel_scratch **out_scratch, struct accel_error *error);

/** Creates a team of `threads` threads (at least 2), which are bound if the options list processors. */
int32_t accel_pool_team_create(struct accel_context *context, const struct accel_queue_options *options,
                               struct accel_pool_team *team, struct accel_error *error);

/** Stops and joins the team's threads. */
void accel_pool_team_free(struct accel_pool_team *team);

#endif
