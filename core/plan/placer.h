/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What devices.c and spread.c share. Everything that a step goes through is one item: the tables of a component, its
 * layers, and what comes after them. Neighbours on one device make one row of the plan. A placer lives in the plan's
 * arena, and one call of accel_sketch_place has it.
 */
#ifndef ACCEL_CORE_PLAN_PLACER_H
#define ACCEL_CORE_PLAN_PLACER_H

#include "core/plan/sketch.h"

/** Devices that a plan may lie on. */
#define ACCEL_PLACER_TARGETS 64u

/** A device, here or described. */
struct accel_placer_target {
    const char *name;
    const struct accel_listed *device; /**< NULL: a platform's that is not here */
    struct accel_plan_budget budget;
    uint64_t taken;   /**< bytes */
    bool is_host;     /**< its memory is the host's */
    uint32_t members; /**< devices that share each layer: 1, or tensor.parallel */
    bool used;
};

/** One thing that a step goes through. */
struct accel_placer_item {
    const struct accel_sketch_component *component;
    uint32_t layer;   /**< or ACCEL_NO_LAYER */
    uint32_t target;  /**< index of the device that it lies on */
    uint64_t weights; /**< bytes */
    uint64_t state;   /**< bytes */
};

struct accel_placer {
    struct accel_sketcher *s;
    struct accel_placer_target targets[ACCEL_PLACER_TARGETS];
    struct accel_placer_item *items;
    uint32_t target_count;
    uint32_t item_count;
    const struct accel_sketch_component *main; /**< its layers are those that maps and offload speak of; NULL: none */
    uint32_t main_first;                       /**< item of its layer 0 */
    uint32_t main_layers;
    uint64_t overhead; /**< bytes that every device in use needs */
};

static inline uint64_t accel_placer_item_bytes(const struct accel_placer_item *item)
{
    return accel_plan_add(item->weights, item->state);
}

/** Bytes that a target needs whatever lies on it. */
static inline uint64_t accel_placer_overhead(const struct accel_placer *p, const struct accel_placer_target *target)
{
    return accel_plan_multiply(p->overhead, target->members);
}

/** Finds the devices and gives every item one of them. ACCEL_E_INVALID: the settings contradict each other or the
 *  model; ACCEL_E_NOT_FOUND: a device that they name is not here; ACCEL_E_LIMIT: more than ACCEL_PLACER_TARGETS. */
int32_t accel_placer_spread(struct accel_placer *p);

/* ---- limits.c ---- */

/** Holds what lies on each device against its limits, once items and targets are settled: ACCEL_E_LIMIT where a run
 *  would be refused. Devices that a profile describes state none. */
int32_t accel_placer_check_limits(const struct accel_placer *p);

#endif
