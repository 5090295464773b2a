/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Calls the driver's slots one by one, without the core, over a host of the kit that counts memory and can refuse
 * it. A small graph that the driver claims passes all stages from attach to a completed step.
 */
#ifndef ACCEL_SDK_CONFORM_DIRECT_H
#define ACCEL_SDK_CONFORM_DIRECT_H

#include <stdatomic.h>

#include <accel/builder.h>

#include "sdk/conform/source.h"

/** The host implementation of the kit (direct_host.c). */
struct direct_host {
    struct accel_host table;                       /**< first member: callbacks receive its address */
    atomic_uint_fast64_t alive;                    /**< blocks not yet freed */
    atomic_int countdown;                          /**< allocations that still succeed; negative: unlimited */
    atomic_uint refused;                           /**< refused allocations */
    atomic_int_fast64_t counted[ACCEL_MEMORY_END]; /**< bytes accounted with `account`, by class */
    atomic_uint_fast64_t requested;                /**< total bytes requested with `allocate` and `account` */
    atomic_uint_fast64_t logged;                   /**< sum of the hashes of all log lines */
    atomic_uint faults;                            /**< host rules that the driver violated */
};

void direct_host_init(struct direct_host *host);

/** Stages of a driver's use, in order. */
enum direct_stage {
    DIRECT_ATTACH,
    DIRECT_ENUMERATE,
    DIRECT_OPEN,
    DIRECT_CLAIM,
    DIRECT_COMPILE,
    DIRECT_WEIGHTS,
    DIRECT_PULL,
    DIRECT_BUFFERS,
    DIRECT_QUEUE,
    DIRECT_SET,
    DIRECT_RUN,
    DIRECT_END
};

#define DIRECT_WIDTH 32u
#define DIRECT_ROWS 4u
#define DIRECT_VALUES 8u
/** Bytes of each buffer. */
#define DIRECT_BUFFER_BYTES (DIRECT_ROWS * DIRECT_WIDTH * sizeof(float))

/** One pass through the stages. Handles are NULL if their stage did not run. */
struct direct {
    struct conform_source source; /**< must be the first member */
    struct conform *conform;
    struct direct_host host;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct conform_tensor weight;
    struct accel_driver_instance *instance;
    struct accel_driver_device *device;
    struct accel_driver_module *module;
    struct accel_driver_weights *weights;
    struct accel_driver_buffer *buffers[DIRECT_VALUES], *scratch_buffer;
    struct accel_driver_queue *queue;
    struct accel_driver_set *set;
    void *memory[DIRECT_VALUES], *scratch; /**< if the driver creates no buffers */
    char id[128];                          /**< id of the device to open */
    uint32_t placement;                    /**< ACCEL_RESIDENT, _MAPPED, _BAKED, 0 */
    uint64_t inline_bytes;
    uint32_t heap_count;
    struct accel_setting settings[CONFORM_SETTINGS]; /**< settings to open the device with */
    uint32_t setting_count;
    uint32_t cut; /**< bytes cut off the struct that a stage receives: weight, set or step */
    struct accel_error error;
};

const char *direct_stage_name(enum direct_stage stage);

/** Creates host and graph: matmul, add, softmax or norm, the first that the driver of the test claims. Returns
 * false if it claims none of them; the test is skipped then. */
bool direct_begin(struct direct *direct, struct conform *conform);
/** Runs a stage; the previous stages must have run. On failure its handles are NULL. */
int32_t direct_do(struct direct *direct, enum direct_stage stage);
/** Runs the stages from `begin` to before `end`; a failure fails the case. Returns whether all succeeded. */
bool direct_do_stages(struct direct *direct, uint32_t begin, uint32_t end);
/** Undoes the stages before `end` down to `begin`. */
void direct_undo_stages(struct direct *direct, uint32_t end, uint32_t begin);
/** Undoes a stage; does nothing if it did not run. Returns the code of detach and close, otherwise ACCEL_OK. */
int32_t direct_undo(struct direct *direct, enum direct_stage stage);
/** Returns a team of only the caller's thread, for steps and long calls. */
const struct accel_team *direct_team(void);
/** Returns a task that is never cancelled, with the team of direct_team. */
struct accel_task direct_task(void);
/** Returns the device of a test, opened with the test's options in a separate instance of the kit, for calls that
 * bypass libaccel. Ends the test if it does not open. */
struct accel_driver_device *direct_device(struct conform *conform);
/** Returns the compile options of the small graph. */
const struct accel_compile_options *direct_options(void);
/** Undoes all stages and frees the memory of the kit. */
void direct_end(struct direct *direct);

#endif
