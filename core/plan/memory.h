/* SPDX-License-Identifier: Apache-2.0 */
/** @file The memory of a placed plan (memory.c, bookkeeping.c) and the limits of its device (limits.c). */
#ifndef ACCEL_CORE_PLAN_MEMORY_H
#define ACCEL_CORE_PLAN_MEMORY_H

#include "core/plan/plan.h"

struct accel_device;

/** Estimated bytes of a node in a compiled program if the driver reports none. */
#define ACCEL_PLAN_NODE_BYTES 512u

/** Returns the bits for a weight that a node reads with this placement: 1 << ACCEL_RESIDENT and the like, and bits
 * of its own if the node reads all of the weight. */
uint8_t accel_plan_wanted(const struct accel_node *node, uint32_t placement);

/** Estimates the bytes of lists and objects of accel/run.h for this work over `weights` weights, and of the options. */
uint64_t accel_plan_bookkeeping(const struct accel_device *device, const struct accel_plan_work *work,
                                uint32_t weights);

struct accel_plan_read;

/** Answers of a device for one work. */
struct accel_plan_answers {
    const struct accel_plan *plan; /**< that asked */
    struct accel_plan_estimate estimate;
    struct accel_plan_read *weights; /**< of all graphs, each key once */
    const struct accel_plan_in_place *in_place;
    uint32_t weight_count;
    uint32_t in_place_count;
};

/** Asks the driver for estimates, and lists the weights with the placements `wanted` by its claims. */
int32_t accel_plan_ask_memory(struct accel_plan *plan, struct accel_device *device, const struct accel_plan_work *work,
                              const struct accel_compile_options *options, uint8_t *const *wanted,
                              struct accel_plan_answers *out_answers, struct accel_error *error);

/** Fills the rows of memory and the verdict. */
int32_t accel_plan_add_memory(struct accel_plan *plan, const struct accel_plan_work *work,
                              const struct accel_plan_answers *answers, struct accel_error *error);

/** Checks the bindings of a step and the state against the limits of the device: ACCEL_E_LIMIT with numbers and a
 * remedy if a run would be refused. */
int32_t accel_plan_check_limits(const struct accel_plan *plan, const struct accel_plan_work *work,
                                struct accel_error *error);

/** Checks the scratch against the limits of the device. Call it after the rows of memory exist. */
int32_t accel_plan_check_scratch(const struct accel_plan *plan, const struct accel_device *device,
                                 struct accel_error *error);

/** Ends a placement with `code`: rebuilds the hints, and returns the code. */
int32_t accel_plan_finish_placement(struct accel_plan *plan, int32_t code, struct accel_error *error);

/** Makes the weights in the rows of layers of each device sum to those that its driver plans for `stages`. The last row
 * of the device has what shapes do not know: padding, packing, and copies of tied tables. */
void accel_plan_merge_layers(struct accel_plan *plan, const struct accel_rows *stages);

#endif
