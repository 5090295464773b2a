/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs a case through the public API of the core: module, weights, buffers, states, queue, set, steps. At random,
 * data moves through host-visible memory, if the driver provides it, or by steps. Every buffer has a border, whose
 * bytes must not change, and outputs are NaN before they are computed.
 */
#ifndef ACCEL_SDK_CONFORM_STEP_H
#define ACCEL_SDK_CONFORM_STEP_H

#include "sdk/conform/source.h"
#include "sdk/conform/trial.h"

/** Objects that a case needs to run. Objects not created are zeroed. */
struct step {
    struct conform_source source; /**< must be the first member */
    const struct trial *trial;
    struct accel_module *module;
    struct accel_weights *weights;
    struct accel_queue *queue;
    struct accel_set *set;
    struct accel_buffer *buffers[TRIAL_VALUES]; /**< buffers of inputs and outputs */
    uint64_t bytes[TRIAL_VALUES];               /**< bytes of the value, without its border */
    struct accel_state *states[TRIAL_VALUES];
    struct accel_bind binds[TRIAL_VALUES];
    uint32_t bind_count;
    uint64_t inline_bytes; /**< from the device's limits */
    uint32_t threads;      /**< threads of the queue, if the driver borrows threads */
    bool uses_steps;       /**< steps move bytes, not host-visible memory */
};

/** Creates all objects for the highest symbol of the case. Returns false after a failure, which is reported. */
bool step_make(struct step *step, const struct trial *trial);
/** Runs one step of `rows` rows and compares its outputs. */
bool step_run(struct step *step, const struct trial *trial, uint64_t rows, double tolerance);
/** Runs one step like step_run on a team whose threads start one after the other, the highest index first (late.h). */
bool step_run_late(struct step *step, const struct trial *trial, uint64_t rows, double tolerance);
/** Repeats the last step with unchanged inputs; fails if steps leak memory. */
void step_repeat(struct step *step, const struct trial *trial, uint64_t rows);
/** Frees all objects but the module, which the caller receives. */
struct accel_module *step_free(struct step *step);

/** Moves bytes into and out of a buffer, by steps or through its address. */
int32_t step_put(struct step *step, struct accel_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
                 struct accel_error *error);
int32_t step_get(struct step *step, struct accel_buffer *buffer, uint64_t offset, void *data, uint64_t bytes,
                 struct accel_error *error);

#endif
