/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs a case through the public face of the core: module, weights, buffers, states, queue, set, steps. Memory of the
 * host is used where the driver gives it, or steps move the bytes, by chance. Every buffer has a border, whose bytes
 * must not change, and outputs are NaN before they are computed.
 */
#ifndef ACCEL_TOOLS_CONFORM_STEP_H
#define ACCEL_TOOLS_CONFORM_STEP_H

#include "tools/accel-conform/source.h"
#include "tools/accel-conform/trial.h"

/** What a case needs to run. Zeroed where it was not made. */
struct step {
    struct conform_source source; /**< first */
    const struct trial *trial;
    struct accel_module *module;
    struct accel_weights *weights;
    struct accel_queue *queue;
    struct accel_set *set;
    struct accel_buffer *buffers[TRIAL_VALUES]; /**< of inputs and outputs */
    uint64_t bytes[TRIAL_VALUES];               /**< of the value, without its border */
    struct accel_state *states[TRIAL_VALUES];
    bool uses_steps; /**< bytes move by steps, not through memory of the host */
};

/** Asks the driver of a device, past the core. */
int32_t step_claim(struct accel_device *device, const struct accel_graph *const *graphs, uint32_t count,
                   const struct accel_compile_options *options, const struct accel_claim_sink *sink,
                   struct accel_error *error);

/** Makes all of it for the case's highest symbol. False after a failure, which is said. */
bool step_make(struct step *step, const struct trial *trial);
/** Runs one step of `rows` rows and compares its outputs. */
bool step_run(struct step *step, const struct trial *trial, uint64_t rows, double tolerance);
/** Runs it over and over with what it was given last; fails where steps lose memory. */
void step_repeat(struct step *step, const struct trial *trial, uint64_t rows);
/** Frees all but the module, which is handed over. */
struct accel_module *step_free(struct step *step);

/** Moves bytes into and out of a buffer, by steps or through its address. */
int32_t step_put(struct step *step, struct accel_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
                 struct accel_error *error);
int32_t step_get(struct step *step, struct accel_buffer *buffer, uint64_t offset, void *data, uint64_t bytes,
                 struct accel_error *error);

#endif
