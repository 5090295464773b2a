/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The inside of a plan. accel/plan.h is its outside. Records and their strings live in the plan's arena; what a place
 * makes is made anew by the next one, and the arena keeps the old strings until the plan is freed.
 */
#ifndef ACCEL_CORE_PLAN_PLAN_H
#define ACCEL_CORE_PLAN_PLAN_H

#include <accel/plan.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/device/context.h"
#include "core/profile/profile.h"
#include "core/topology/topology.h"

/** Sums that a driver estimates, by class. */
struct accel_plan_estimate {
    bool given[ACCEL_MEMORY_END];
    uint64_t lower[ACCEL_MEMORY_END];
    uint64_t upper[ACCEL_MEMORY_END];
    const char *formula[ACCEL_MEMORY_END];
};

struct accel_plan {
    struct accel_context *context;
    const struct accel_listed *device;
    struct accel_arena arena;
    struct accel_settings *settings;
    struct accel_plan_setting *records; /**< one for each of the settings */
    struct accel_thread_plan threads;   /**< count 0: the device borrows none */
    bool pinned;

    struct accel_plan_node *nodes; /**< of all graphs, one after the other */
    uint32_t node_count;
    uint32_t memory_count;
    struct accel_plan_memory memory[ACCEL_MEMORY_END];
    struct accel_plan_fit fit;
    bool placed;
};

/** Text in the plan's arena, NULL without memory. */
const char *accel_plan_text(struct accel_plan *plan, const char *format, ...) ACCEL_PRINTF(2, 3);

int32_t accel_plan_no_memory(struct accel_error *error);

/** Makes the public records of the resolved settings. */
int32_t accel_plan_make_records(struct accel_plan *plan, struct accel_error *error);

/** Chooses threads, and puts the choice into the record of cpu.threads. */
int32_t accel_plan_choose_threads(struct accel_plan *plan, struct accel_error *error);

/** The value of a setting of keys.def, never NULL. */
const struct accel_profile_setting *accel_plan_value(const struct accel_plan *plan, const char *key);

struct accel_device;

/** Asks the driver for the answers to all nodes; fills the node records and, for every value of every graph, where the
 *  driver wants a weight: wanted[graph][value] has bits 1 << ACCEL_RESIDENT and so on. */
int32_t accel_plan_claim(struct accel_plan *plan, struct accel_device *device, const struct accel_plan_work *work,
                         const struct accel_compile_options *options, uint8_t *const *wanted,
                         struct accel_error *error);

/** Holds the answers against the fallback policies. */
int32_t accel_plan_judge(struct accel_plan *plan, const struct accel_plan_work *work, struct accel_error *error);

/** Fills the rows of memory and the verdict. */
int32_t accel_plan_add_memory(struct accel_plan *plan, struct accel_device *device, const struct accel_plan_work *work,
                              const struct accel_compile_options *options, uint8_t *const *wanted,
                              struct accel_error *error);

#endif
