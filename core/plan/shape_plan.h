/* SPDX-License-Identifier: Apache-2.0 */
/** @file Shared state of making a shape plan: one struct passes from types to memory to placement to the verdict.
 * Sizes saturate at UINT64_MAX, and the last step refuses a saturated sum. */
#ifndef ACCEL_CORE_PLAN_SHAPE_PLAN_H
#define ACCEL_CORE_PLAN_SHAPE_PLAN_H

#include "core/base/checked.h"
#include "core/plan/plan.h"

static inline uint64_t accel_plan_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return accel_add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

static inline uint64_t accel_plan_multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return accel_mul_u64(a, b, &product) ? product : UINT64_MAX;
}

/** A type of a weight or a KV cache. */
struct accel_plan_type {
    char name[24];
    uint32_t block_values;
    uint32_t block_bytes;
    uint32_t bits;      /**< of a code: 32, 16, 8, 4, 3, 2 */
    uint32_t row_bytes; /**< bytes of a row beside its blocks: the codebook of clustered types */
};

/** A memory budget. */
struct accel_plan_budget {
    uint64_t bytes; /**< 0: not known */
    const char *origin;
};

/** State of making one shape plan. Activations, scratch and program count for each device that runs a part of the
 * model; weights and state are divided among the devices. */
struct accel_shape_planner {
    struct accel_plan *plan;
    const struct accel_sketch *shapes;
    struct accel_error *error;

    uint64_t *weight_bytes; /**< bytes of each weight */
    uint64_t weights;       /**< sum of weight_bytes */
    uint64_t tables;        /**< of `weights`, token embeddings of which a step reads single rows */
    uint64_t step_weights;  /**< weight bytes that a decode step reads */
    uint64_t step_elements; /**< weights that each prefill token is multiplied with */
    uint32_t grouped;       /**< weights with a grouped type */
    bool by_type;           /**< weights.type determines the type of some weight */
    bool has_head;          /**< a matrix has the role "head" */

    uint64_t context;
    uint64_t batch;
    uint64_t sequences;
    uint64_t length;   /**< tokens of one step if nothing is cached */
    bool has_kv_cache; /**< keys and values are cached */
    bool tiled;
    uint64_t block;
    uint64_t element; /**< bytes of an activation between operators */
    struct accel_plan_type keys;
    struct accel_plan_type values;

    uint64_t state;
    uint64_t activations;
    uint64_t scratch;
    uint64_t program;
    uint64_t host;
};

/* ---- types.c ---- */

/** Decides the type of every weight, and makes the parts. */
int32_t accel_shape_plan_choose_types(struct accel_shape_planner *s);

/** Finds the type that a word of a setting (ACCEL_WORD_Q4) means for rows of `columns`: the largest group of at most
 * `group` that divides them, and F16 if none does. False for an unknown word. */
bool accel_plan_type_of(uint32_t word, uint32_t group, uint64_t columns, struct accel_plan_type *out_type);

/** Returns the group size of a setting, or `otherwise` if its value is a word. */
uint32_t accel_plan_group(const struct accel_profile_setting *setting, uint32_t otherwise);

/** Returns the bytes of `rows` rows; UINT64_MAX if a row is no whole number of blocks, or the product is too large. */
uint64_t accel_plan_type_bytes(const struct accel_plan_type *type, uint64_t rows, uint64_t columns);

/* ---- shape_memory.c ---- */

/** Reads the settings that sizes depend on. */
int32_t accel_shape_plan_read_settings(struct accel_shape_planner *s);

/** Returns the KV slots: tokens of all sequences, in whole pages. */
uint64_t accel_shape_plan_kv_slots(const struct accel_shape_planner *s);

/** Returns the bytes of keys and values of one layer of a component for all sequences. */
uint64_t accel_shape_plan_layer_state(const struct accel_shape_planner *s,
                                      const struct accel_sketch_component *component);

/** Returns the bytes of a full KV cache that a decode step reads: a layer with a sliding window reads no more tokens of
 * the cache's `bytes` than the window has. */
uint64_t accel_plan_step_state(const struct accel_plan *plan, uint64_t bytes, uint64_t tokens);

/** Sums the memory and makes its rows. */
void accel_shape_plan_sum_memory(struct accel_shape_planner *s);

/* ---- rules.c ---- */

/** Checks the attention settings against each other and against the device, and the types of its matrices. */
int32_t accel_shape_plan_choose_attention(struct accel_shape_planner *s);

/** Returns whether the matrix products of the plan's device read a weight type; true if that is not known. */
bool accel_plan_reads(const struct accel_plan *plan, uint32_t type);

/* ---- devices.c, spread.c ---- */

/** Assigns layers to devices, makes the rows of layers, and computes the verdict. */
int32_t accel_shape_plan_assign_layers(struct accel_shape_planner *s);

/* ---- budget.c ---- */

/** Computes the host memory that is available to programs. */
void accel_plan_machine_budget(struct accel_plan *plan, struct accel_plan_budget *out_budget);

/** Returns whether the device's allocations use host memory. */
bool accel_plan_uses_host_memory(const struct accel_listed *device);

/** Computes the budget of a listed device: the host's usable memory, or its first heap. */
void accel_plan_device_budget(struct accel_plan *plan, const struct accel_listed *device,
                              struct accel_plan_budget *out_budget);

/** Applies memory.device, if it is set, to the budget of one device. */
void accel_plan_device_cap(struct accel_plan *plan, struct accel_plan_budget *budget);

/** Applies memory.budget, which replaces the machine's memory and may exceed it, and the budget of the context. */
void accel_plan_whole_budget(struct accel_plan *plan, struct accel_plan_budget *budget);

/** Adds a row of memory, unless it has no bytes. */
void accel_plan_add_row(struct accel_plan *plan, uint32_t memory_class, uint64_t lower, uint64_t upper,
                        const char *origin);

/** Computes the verdict. */
void accel_plan_compute_fit(struct accel_plan *plan, uint64_t needed, const struct accel_plan_budget *budget);

#endif
