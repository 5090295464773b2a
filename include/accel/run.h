/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs graphs on a device: modules, weights, buffers, states, sets and queues.
 *
 * These functions check every argument, then call the driver, which does not check again. A `free` function accepts
 * NULL and drops the caller's reference; an object lives on while another one needs it, so objects may be freed in any
 * order. Objects may be used from any thread, but a queue and its steps in flight by one thread at a time
 * (accel_queue_cancel: any thread). accel/driver_queue.h defines timelines and how failures propagate on them.
 *
 * A function that creates an object sets its out-parameter to NULL first, and on failure frees all that it has created.
 * Errors of all functions: ACCEL_E_INVALID (an argument violates a rule of this header), ACCEL_E_UNSUPPORTED (an open
 * struct sets a member that this version does not know), ACCEL_E_FORKED (the context belongs to the parent process),
 * ACCEL_E_MEMORY (the machine's memory or the context's budget is used up), and the errors of the driver.
 */
#ifndef ACCEL_RUN_H
#define ACCEL_RUN_H

#include <accel/abi.h>
#include <accel/context.h>
#include <accel/driver.h>
#include <accel/error.h>
#include <accel/graph.h>
#include <accel/plan.h>

ACCEL_BEGIN_C

struct accel_device;
struct accel_module;
struct accel_weights;
struct accel_buffer;
struct accel_state;
struct accel_set;
struct accel_queue;

/** Opens a device of the context's list by its name. Settings with keys "DRIVER.NAME" are passed to the driver, which
 * refuses unknown ones; of two with the same key the later takes effect. `settings` has `count` entries, or is NULL,
 * and is borrowed for the call. ACCEL_E_NOT_FOUND: no such device, or its driver has no such option;
 * ACCEL_E_UNSUPPORTED: graphs can be compiled for the device but not run on it (ACCEL_DEVICE_TARGET). */
ACCEL_API int32_t accel_device_open(struct accel_context *context, const char *name,
                                    const struct accel_named_value *settings, uint32_t count,
                                    struct accel_device **out_device, struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the device; it is closed when no object created from it is left. */
ACCEL_API void accel_device_free(struct accel_device *device) ACCEL_NOEXCEPT;

/** Compiles graphs that share weights into one module. The caller keeps the graphs valid as long as the module lives.
 * `options`, `source` and `task` may be NULL. */
ACCEL_API int32_t accel_module_create(struct accel_device *device, const struct accel_graph *const *graphs,
                                      uint32_t graph_count, const struct accel_compile_options *options,
                                      const struct accel_source *source, const struct accel_task *task,
                                      struct accel_module **out_module, struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the module. */
ACCEL_API void accel_module_free(struct accel_module *module) ACCEL_NOEXCEPT;

/** Loads the weights of a module. Each weight is used in place in the source's mapping, copied by the core, or loaded
 * by the driver in its own layout, as the driver has claimed. The caller keeps the source valid as long as the weights
 * live. `task` may be NULL. */
ACCEL_API int32_t accel_weights_create(struct accel_module *module, const struct accel_source *source,
                                       const struct accel_task *task, struct accel_weights **out_weights,
                                       struct accel_error *error) ACCEL_NOEXCEPT;
/** Results of accel_weights_store. */
#define ACCEL_STORE_UNPACKED 0u /**< no weight was packed by a driver whose packed weights can be cached */
#define ACCEL_STORE_CACHED 1u   /**< they are in the cache already */
#define ACCEL_STORE_WRITTEN 2u  /**< they have been written */
#define ACCEL_STORE_DISABLED                                                                                           \
    3u /**< the context has no cache, or the source gives the weights no hash, as for a model's file                   \
        *   that was changed less than two seconds before it was read */

/** Stores the weights that the driver has packed in the disk cache, so that the next accel_weights_create for these
 * weights, on such a device, maps them instead of packing again. Writes and syncs about as many bytes as they
 * have: call it when no latency matters, after the first steps or before the free; steps may run meanwhile.
 * `label` (may be NULL) is text for people that the file keeps, such as the name of the model's file; it is cut at
 * ACCEL_WEIGHTS_LABEL - 1 bytes, and selects nothing. `out_stored` (may be NULL) is one of ACCEL_STORE_....
 * ACCEL_E_BUSY: another process is writing it; ACCEL_E_LIMIT: more than ACCEL_PACKED_BYTES of the environment, than
 * half of the free disk space, or than the file size limit; ACCEL_E_IO, ACCEL_E_DENIED: a folder that is not the user's
 * ...: nothing is lost but the copy, and another call tries again. */
ACCEL_API int32_t accel_weights_store(struct accel_weights *weights, const struct accel_task *task, const char *label,
                                      uint32_t *out_stored, struct accel_error *error) ACCEL_NOEXCEPT;
/** Size of a label with its end. */
#define ACCEL_WEIGHTS_LABEL 128u
/** Reads the label of a file that accel_weights_store wrote: empty if it has none. Any thread. ACCEL_E_CORRUPT: the
 * file has no valid header; ACCEL_E_NOT_FOUND, ACCEL_E_DENIED ...: it cannot be read, or is a link or no regular file.
 */
ACCEL_API int32_t accel_weights_label_read(const char *path, char out_label[ACCEL_WEIGHTS_LABEL],
                                           struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the weights. */
ACCEL_API void accel_weights_free(struct accel_weights *weights) ACCEL_NOEXCEPT;

/** Creates a zeroed buffer of `bytes` (at least 1) in heap `heap` of the device's facts, counted under
 * ACCEL_MEMORY_ACTIVATION. ACCEL_E_LIMIT: more than the device's `buffer_bytes`. */
ACCEL_API int32_t accel_buffer_create(struct accel_device *device, uint64_t bytes, uint32_t heap,
                                      struct accel_buffer **out_buffer, struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the buffer. */
ACCEL_API void accel_buffer_free(struct accel_buffer *buffer) ACCEL_NOEXCEPT;
/** Returns the host address of a buffer, or NULL if the host cannot address it. The memory must not be accessed while a
 * step uses the buffer; the address is valid until the buffer is freed. */
ACCEL_API void *accel_buffer_address(struct accel_buffer *buffer) ACCEL_NOEXCEPT;

/** Creates a zeroed state of `slots` slots (at least 1), such as a KV cache. Each of its parts (at least 1) has one row
 * of elements per slot; a row is a whole number of blocks of its type, and the type has one plane. ACCEL_E_LIMIT: the
 * number of bytes overflows 64 bits. */
ACCEL_API int32_t accel_state_create(struct accel_device *device, const struct accel_state_part *parts,
                                     uint32_t part_count, uint64_t slots, struct accel_state **out_state,
                                     struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the state. */
ACCEL_API void accel_state_free(struct accel_state *state) ACCEL_NOEXCEPT;

/** Options of a queue. Open. All concern drivers that run steps on threads of the host (those without queues of their
 * own); other drivers ignore them. */
struct accel_queue_options {
    uint32_t size;
    uint32_t threads;          /**< thread count, including the calling thread; 0: 1 */
    const int32_t *processors; /**< [threads] processor of each thread, -1: any; NULL: no thread is pinned */
    uint32_t pin_caller;       /**< 1: pin the calling thread, too, to processors[0] */
    uint32_t zero;
    /** Threads of the application to use instead of new ones; NULL: none. Used by one step at a time; must stay valid
     * as long as the queue. */
    const struct accel_team *team;
};

/** Creates a queue. `options` may be NULL. */
ACCEL_API int32_t accel_queue_create(struct accel_device *device, const struct accel_queue_options *options,
                                     struct accel_queue **out_queue, struct accel_error *error) ACCEL_NOEXCEPT;
/** Waits for the steps in flight, then frees the queue. NULL is allowed. */
ACCEL_API void accel_queue_free(struct accel_queue *queue) ACCEL_NOEXCEPT;

/** Binds a value of a graph to memory. Closed. Exactly one of `buffer` and `state` is not NULL. */
struct accel_bind {
    uint32_t value; /**< index in the graph */
    uint32_t part;  /**< of the state */
    struct accel_buffer *buffer;
    struct accel_state *state;
    uint64_t offset; /**< bytes into the buffer, a multiple of 64 */
};

/** Creates a set: binds program `program` (the index of its graph) to memory, for steps on `queue` whose symbols have
 * at most the values `symbols`. Every input, output and state of the graph needs a bind. Sizes are checked, and that no
 * output overlaps another value. `weights` is NULL if the graph has none. The sets of a queue share one block of
 * scratch. A set that needs more scratch than the earlier ones allocates a larger block, and the old one is freed with
 * its last set: create the largest set first. */
ACCEL_API int32_t accel_set_create(struct accel_module *module, uint32_t program, struct accel_queue *queue,
                                   const uint64_t *symbols, const struct accel_bind *binds, uint32_t bind_count,
                                   struct accel_weights *weights, struct accel_set **out_set,
                                   struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the set and its references to the memory that it binds. */
ACCEL_API void accel_set_free(struct accel_set *set) ACCEL_NOEXCEPT;

/** Runs one step of a set and waits for it, like accel_queue_submit and accel_queue_wait, with less overhead: for
 * drivers that run in the calling thread it allocates nothing. `symbols` has a value for each symbol of the program's
 * graph, none above that of accel_set_create. ACCEL_E_BUSY: another thread uses the queue; ACCEL_E_DEPENDS: an earlier
 * step failed and the queue was not reset; ACCEL_E_CANCELLED: the queue was cancelled. */
ACCEL_API int32_t accel_set_run(struct accel_set *set, const uint64_t *symbols,
                                struct accel_error *error) ACCEL_NOEXCEPT;

/** One step of a queue. Open. struct accel_driver_step (accel/driver_queue.h) defines the members. Members that
 * the kind of step does not use are zero. */
struct accel_step {
    uint32_t size;
    uint32_t kind; /**< ACCEL_STEP_... */
    struct accel_set *set;
    const uint64_t *symbols;
    struct accel_buffer *source;
    struct accel_buffer *target;
    uint64_t source_offset;
    uint64_t target_offset;
    uint64_t bytes;
    const void *data;
    void *memory;
    struct accel_state *state;
    const struct accel_state_change *changes;
    uint64_t change_count;
    uint32_t fill;
    uint32_t zero;
};

/** A fence: a value of a queue's timeline, reached when the steps of the submit that returned it are done. Closed. */
struct accel_fence {
    struct accel_queue *queue;
    uint64_t value;
};

/** Enqueues steps that begin when all fences in `waits` are reached. *out_value is the value of the timeline that is
 * reached when they are done. */
ACCEL_API int32_t accel_queue_submit(struct accel_queue *queue, const struct accel_step *const *steps,
                                     uint32_t step_count, const struct accel_fence *waits, uint32_t wait_count,
                                     uint64_t *out_value, struct accel_error *error) ACCEL_NOEXCEPT;
/** Waits until a value is reached (ACCEL_OK), has failed (the error of its steps), or `nanoseconds` have passed
 * (ACCEL_E_TIMEOUT; UINT64_MAX: no timeout). */
ACCEL_API int32_t accel_queue_wait(struct accel_queue *queue, uint64_t value, uint64_t nanoseconds,
                                   struct accel_error *error) ACCEL_NOEXCEPT;
/** Stores in *out_value the highest value that was reached without failure. */
ACCEL_API int32_t accel_queue_completed(struct accel_queue *queue, uint64_t *out_value,
                                        struct accel_error *error) ACCEL_NOEXCEPT;
/** Cancels a queue: steps that have not begun, and steps in flight if the driver can stop them, fail with
 * ACCEL_E_CANCELLED, as do all later ones until accel_queue_reset, so that a cancel between two steps is not lost. Any
 * thread. */
ACCEL_API int32_t accel_queue_cancel(struct accel_queue *queue, struct accel_error *error) ACCEL_NOEXCEPT;
/** Clears the failure of a queue, so that it accepts steps again. */
ACCEL_API int32_t accel_queue_reset(struct accel_queue *queue, struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
