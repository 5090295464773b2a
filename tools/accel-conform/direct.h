/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The driver's slots called one by one, without the core between, over a host of the kit's own that counts memory and
 * can refuse it. A small graph that the driver claims goes all the way from attach to a step that has run.
 */
#ifndef ACCEL_TOOLS_CONFORM_DIRECT_H
#define ACCEL_TOOLS_CONFORM_DIRECT_H

#include <accel/builder.h>
#include <stdatomic.h>

#include "tools/accel-conform/source.h"

/** The kit's host (direct_host.c). */
struct direct_host {
    struct accel_host table;                       /**< first: the driver hands its address back */
    atomic_uint_fast64_t alive;                    /**< blocks that were not given back */
    atomic_int countdown;                          /**< allocations that still succeed; negative: all do */
    atomic_uint refused;                           /**< allocations that were refused */
    atomic_int_fast64_t counted[ACCEL_MEMORY_END]; /**< bytes that `account` was told of, by class */
    atomic_uint_fast64_t told;                     /**< bytes that `allocate` and `account` were ever asked for */
    atomic_uint faults;                            /**< rules of the host that the driver broke */
};

void direct_host_init(struct direct_host *host);

/** The way of a driver, in order. */
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
/** Of each buffer. */
#define DIRECT_BUFFER_BYTES (DIRECT_ROWS * DIRECT_WIDTH * sizeof(float))

/** One way. Handles are NULL where their stage was not done. */
struct direct {
    struct conform_source source; /**< first */
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
    void *memory[DIRECT_VALUES], *scratch; /**< where the driver makes no buffers */
    char id[128];                          /**< of the device that opens */
    uint32_t placement;                    /**< ACCEL_RESIDENT, _MAPPED, _BAKED, 0 */
    uint64_t inline_bytes;
    uint32_t heap_count;
    uint32_t cut; /**< bytes that are missing of the struct that a stage is given: weight, set or step */
    struct accel_error error;
};

const char *direct_stage_name(enum direct_stage stage);

/** Makes host and graph: product, sum, softmax or norm, the first that the driver of the test takes. False: it takes
 *  none of them, and the test was skipped. */
bool direct_begin(struct direct *direct, struct conform *conform);
/** Does a stage; those before it are done. On failure its handles are NULL. */
int32_t direct_do(struct direct *direct, enum direct_stage stage);
/** Undoes a stage; does nothing where it was not done. The code of detach and close, else ACCEL_OK. */
int32_t direct_undo(struct direct *direct, enum direct_stage stage);
/** How the small graph is compiled. */
const struct accel_compile_options *direct_options(void);
/** Undoes all stages and frees the kit's own. */
void direct_end(struct direct *direct);

#endif
