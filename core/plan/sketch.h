/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the parts of accel_plan_sketch share: one sketcher goes from types to memory to placement to the verdict. Sizes
 * saturate at UINT64_MAX, and the end refuses a sum that did.
 */
#ifndef ACCEL_CORE_PLAN_SKETCH_H
#define ACCEL_CORE_PLAN_SKETCH_H

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

/** A type that a weight or a cache may get. */
struct accel_plan_type {
    char name[24];
    uint32_t block_values;
    uint32_t block_bytes;
    uint32_t bits;      /**< of a digit: 32, 16, 8, 4, 3, 2 */
    uint32_t row_bytes; /**< of a row beside its blocks: the levels of clustered types */
};

/** One budget that something has to fit. */
struct accel_plan_budget {
    uint64_t bytes;     /**< 0: nobody knows */
    const char *origin; /**< NULL without memory */
};

/** Bytes of the sketch that every device needs which runs a part of it, and those that are spread. */
struct accel_sketcher {
    struct accel_plan *plan;
    const struct accel_sketch *sketch;
    struct accel_error *error;

    uint64_t *weight_bytes;     /**< of each weight */
    uint64_t weights;           /**< sum */
    uint64_t tables;            /**< of that, tables of which a step reads single rows */
    uint64_t step_weights;      /**< bytes of weights that a step of one token reads */
    uint32_t converted;         /**< weights that are not as in the file */
    uint32_t converted_vectors; /**< of those, norms and biases */

    uint64_t context;
    uint64_t batch;
    uint64_t sequences;
    uint64_t length; /**< tokens that are read at once where nothing is cached */
    bool kept;       /**< keys and values are cached */
    bool tiled;
    uint64_t block;
    uint64_t element; /**< bytes of a number between operators */
    struct accel_plan_type keys;
    struct accel_plan_type values;

    uint64_t state;
    uint64_t step_state; /**< bytes of one sequence that a step reads when the context is full */
    uint64_t activations;
    uint64_t scratch;
    uint64_t program;
    uint64_t host;
};

/* ---- types.c ---- */

/** Decides the type of every weight, and makes the parts. */
int32_t accel_sketch_types(struct accel_sketcher *s);

/** The type that a word of a setting means ("q4") for rows of `columns`: the largest group of at most `group` that
 *  divides them, and F16 where none does. False for an unknown word. */
bool accel_plan_type_of(const char *word, uint32_t group, uint32_t asymmetric, uint64_t columns,
                        struct accel_plan_type *out_type);

/** Members of a group as a setting says, or `otherwise` for a word. */
uint32_t accel_plan_group(const struct accel_plan *plan, const char *key, uint32_t otherwise);

/** Bytes of `rows` rows; UINT64_MAX where a row is no whole number of blocks, or the product is too large. */
uint64_t accel_plan_type_bytes(const struct accel_plan_type *type, uint64_t rows, uint64_t columns);

/* ---- shapes.c ---- */

/** Reads the settings that sizes depend on. */
int32_t accel_sketch_work(struct accel_sketcher *s);

/** Slots of the state: tokens of all sequences, in whole pages. */
uint64_t accel_sketch_slots(const struct accel_sketcher *s);

/** Bytes of one layer of keys and values of a component for all sequences. */
uint64_t accel_sketch_layer_state(const struct accel_sketcher *s, const struct accel_sketch_component *component);

/** The component called `name`, or NULL. */
const struct accel_sketch_component *accel_sketch_component_find(const struct accel_sketch *sketch, const char *name);

/** Adds up and makes the rows of memory. */
int32_t accel_sketch_memory(struct accel_sketcher *s);

/* ---- rules.c ---- */

/** Settings against each other and against what the device can do: attention, and types of its matrices. */
int32_t accel_sketch_attention(struct accel_sketcher *s);

/** The device of the plan reads this type in its matrices; true where that is not known. */
bool accel_plan_reads(const struct accel_plan *plan, uint32_t type);

/* ---- devices.c, spread.c ---- */

/** Spreads layers over devices, makes the rows of layers, and judges whether it fits. */
int32_t accel_sketch_place(struct accel_sketcher *s);

/* ---- budget.c ---- */

/** Lowers `budget` to another one that is known and smaller. */
void accel_plan_lower(struct accel_plan_budget *budget, uint64_t bytes, const char *origin);

/** What this machine has left for programs. */
void accel_plan_machine_budget(struct accel_plan *plan, struct accel_plan_budget *out_budget);

/** Whether what a device holds takes memory of the host. */
bool accel_plan_uses_host_memory(const struct accel_listed *device);

/** What a listed device has for a plan: the host's usable memory, or its first heap. */
void accel_plan_device_budget(struct accel_plan *plan, const struct accel_listed *device,
                              struct accel_plan_budget *out_budget);

/** Applies memory.device, where it is set, to the budget of one device. */
void accel_plan_device_cap(struct accel_plan *plan, struct accel_plan_budget *budget);

/** Applies memory.budget and the budget of the context to that of all. memory.budget takes the place of what the
 *  machine has; it may be more. */
void accel_plan_whole_budget(struct accel_plan *plan, struct accel_plan_budget *budget);

/** Adds a row of memory, unless it has no bytes. ACCEL_E_MEMORY where `origin` is NULL. */
int32_t accel_plan_add_row(struct accel_plan *plan, uint32_t memory_class, uint64_t lower, uint64_t upper,
                           const char *origin, struct accel_error *error);

/** The verdict. ACCEL_E_MEMORY where an origin is missing. */
int32_t accel_plan_judge_fit(struct accel_plan *plan, uint64_t needed, const struct accel_plan_budget *budget,
                             struct accel_error *error);

#endif
