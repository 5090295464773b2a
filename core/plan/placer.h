/* SPDX-License-Identifier: Apache-2.0 */
/** @file State that devices.c and spread.c share while they assign a model to devices. An item is a part of the model
 * that a step passes through: the embeddings of a component, each of its layers, and the weights after them.
 * Consecutive items on one device become one row of the plan. A placer lives in the plan's arena for one call of
 * accel_shape_plan_assign_layers. */
#ifndef ACCEL_CORE_PLAN_PLACER_H
#define ACCEL_CORE_PLAN_PLACER_H

#include "core/plan/shape_plan.h"

/** Maximum devices of a plan. */
#define ACCEL_PLACER_TARGETS 64u

/** A device that is present or described. */
struct accel_placer_target {
    const char *name;
    const struct accel_listed *device;            /**< NULL: a described device of a platform that is not present */
    const struct accel_plan_described *described; /**< facts of a profile for a device that is not present, or NULL */
    struct accel_plan_budget budget;
    uint64_t taken; /**< bytes of the items assigned to it */
    bool is_host;   /**< it uses host memory */
    bool used;
};

/** A part of the model that a step passes through. */
struct accel_placer_item {
    const struct accel_sketch_component *component;
    uint32_t layer;   /**< or ACCEL_NO_LAYER */
    uint32_t target;  /**< index of the device that it is assigned to */
    uint64_t weights; /**< bytes */
    uint64_t state;   /**< bytes */
    uint64_t copy;    /**< bytes of the tied token table, of which another device than that of `table` holds a copy */
    uint32_t table;   /**< item of that table */
};

struct accel_placer {
    struct accel_shape_planner *s;
    struct accel_placer_target targets[ACCEL_PLACER_TARGETS];
    struct accel_placer_item *items;
    uint32_t target_count;
    uint32_t item_count;
    const struct accel_sketch_component *main; /**< the component of layer maps and offload.layers, or NULL */
    uint32_t main_first;                       /**< item of layer 0 of `main` */
    uint32_t main_layers;
    uint64_t overhead; /**< bytes that every device in use needs */
};

static inline uint64_t accel_placer_item_bytes(const struct accel_placer_item *item)
{
    return accel_plan_add(item->weights, item->state);
}

/** Returns the bytes of the copy of a token table that an item requires on a device. */
static inline uint64_t accel_placer_copy_bytes(const struct accel_placer *p, const struct accel_placer_item *item,
                                               uint32_t target)
{
    return item->copy && p->items[item->table].target != target ? item->copy : 0;
}

/** Collects the devices and assigns each item to one. ACCEL_E_INVALID: the settings contradict each other or the
 * model; ACCEL_E_NOT_FOUND: a device that they name is not present; ACCEL_E_LIMIT: more than ACCEL_PLACER_TARGETS. */
int32_t accel_placer_assign(struct accel_placer *p);

/* ---- limits.c ---- */

/** Checks the items of each device against its limits after items and targets are final: ACCEL_E_LIMIT if a run
 * would be refused. Devices that a profile describes state no limits. */
int32_t accel_placer_check_limits(const struct accel_placer *p);

#endif
