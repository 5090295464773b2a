/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs graphs on a device: modules, weights, buffers, states, sets, queues. The checked face of a driver.
 *
 * Every argument is checked here, once; drivers trust what reaches them. A `free` function accepts NULL and drops the
 * caller's reference; an object lives on while another one needs it, so that the order of frees does not matter.
 * Objects may be used from any thread, except that a queue and what is in flight on it belong to one thread at a time
 * (accel_queue_cancel: from any). Timelines and failure are as accel/driver_queue.h says.
 *
 * Every function that makes an object sets its last out-parameter to NULL first and leaves it so when it fails; what it
 * has made until then is freed. Errors that all of them share: ACCEL_E_INVALID (an argument breaks a rule that is
 * written here), ACCEL_E_UNSUPPORTED (an open struct sets a member that this minor does not know), ACCEL_E_FORKED (the
 * context is a parent process's), ACCEL_E_MEMORY (the machine or the context's budget), and whatever the driver
 * answers.
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

/** Opens a device of the context's list by its name. Settings named "DRIVER.NAME" are handed to its driver, which
 *  refuses unknown ones; of two with one name the later wins. `settings` is NULL or has `count` entries, which are
 *  needed for the call alone. ACCEL_E_NOT_FOUND: no such device, or its driver has no such option;
 *  ACCEL_E_UNSUPPORTED: a device that can be compiled for and not run here. */
ACCEL_API int32_t accel_device_open(struct accel_context *context, const char *name,
                                    const struct accel_named_value *settings, uint32_t count,
                                    struct accel_device **out_device, struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the device; it is closed when nothing made from it is left. */
ACCEL_API void accel_device_free(struct accel_device *device) ACCEL_NOEXCEPT;

/** Compiles all graphs that share weights. The graphs stay valid as long as the module. `options`, `source` and `task`
 *  may be NULL. */
ACCEL_API int32_t accel_module_create(struct accel_device *device, const struct accel_graph *const *graphs,
                                      uint32_t graph_count, const struct accel_compile_options *options,
                                      const struct accel_source *source, const struct accel_task *task,
                                      struct accel_module **out_module, struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the module. */
ACCEL_API void accel_module_free(struct accel_module *module) ACCEL_NOEXCEPT;

/** Loads the weights of a module: used where the source maps them, or copied, or pulled by the driver. The source stays
 *  valid as long as the weights. */
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

/** A buffer of `bytes` (at least 1) in heap `heap` of the device's facts, filled with zeros and counted under
 *  ACCEL_MEMORY_ACTIVATION. ACCEL_E_LIMIT: more than the device's `buffer_bytes`. */
ACCEL_API int32_t accel_buffer_create(struct accel_device *device, uint64_t bytes, uint32_t heap,
                                      struct accel_buffer **out_buffer, struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the buffer. */
ACCEL_API void accel_buffer_free(struct accel_buffer *buffer) ACCEL_NOEXCEPT;
/** The address of a buffer that the host can see, or NULL; to be used while no step uses the buffer. */
ACCEL_API void *accel_buffer_address(struct accel_buffer *buffer) ACCEL_NOEXCEPT;

/** A state of `slots` slots (at least 1), filled with zeros. Each of its parts (at least 1) has one row of elements for
 *  each slot; a row is a whole number of blocks of its type, and the type has one plane. ACCEL_E_LIMIT: the bytes do
 * not fit 64 bits. */
ACCEL_API int32_t accel_state_create(struct accel_device *device, const struct accel_state_part *parts,
                                     uint32_t part_count, uint64_t slots, struct accel_state **out_state,
                                     struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the state. */
ACCEL_API void accel_state_free(struct accel_state *state) ACCEL_NOEXCEPT;

/** How a queue runs. Open. */
struct accel_queue_options {
    uint32_t size;
    uint32_t threads;          /**< for drivers that run in the caller's thread: threads, the caller's included; 0: 1 */
    const int32_t *processors; /**< where each of them runs, -1 anywhere; NULL: not pinned */
    uint32_t pin_caller;       /**< 1: the first one too, which is the caller's own thread */
    uint32_t zero;
    /** Threads of the application, in place of `threads` new ones, for drivers that run in the caller's thread; NULL:
     *  none. Used by one step at a time; stays valid as long as the queue. */
    const struct accel_team *team;
};

/** Makes a queue. `options` may be NULL. */
ACCEL_API int32_t accel_queue_create(struct accel_device *device, const struct accel_queue_options *options,
                                     struct accel_queue **out_queue, struct accel_error *error) ACCEL_NOEXCEPT;
/** Waits for what is in flight, then frees. */
ACCEL_API void accel_queue_free(struct accel_queue *queue) ACCEL_NOEXCEPT;

/** Binding of a value of a graph. Closed. Exactly one of buffer and state is not NULL. */
struct accel_bind {
    uint32_t value; /**< index in the graph */
    uint32_t part;  /**< of the state */
    struct accel_buffer *buffer;
    struct accel_state *state;
    uint64_t offset; /**< in the buffer, a multiple of 64 */
};

/** Binds a program (index of its graph) to memory for steps of up to `symbols` on `queue`. Every input, output and
 * state of the graph needs a bind; sizes are checked here, and that no output lies over another value. `weights` is
 * NULL where the graph has none. Sets of a queue share one block of scratch; a set that needs more than those before it
 * makes a new one, and the old block goes with its last set: make the largest set first. */
ACCEL_API int32_t accel_set_create(struct accel_module *module, uint32_t program, struct accel_queue *queue,
                                   const uint64_t *symbols, const struct accel_bind *binds, uint32_t bind_count,
                                   struct accel_weights *weights, struct accel_set **out_set,
                                   struct accel_error *error) ACCEL_NOEXCEPT;
/** Drops the set, and with it its hold on all that it binds. */
ACCEL_API void accel_set_free(struct accel_set *set) ACCEL_NOEXCEPT;

/** Runs one step of a set and waits for it: submit and wait in one, on the fast path of drivers that run in the
 * caller's thread, where it allocates nothing. `symbols` has a value for each symbol of the program's graph, none above
 * that of accel_set_create. ACCEL_E_BUSY: another thread uses the queue; ACCEL_E_DEPENDS: an earlier step failed and
 * the queue was not reset; ACCEL_E_CANCELLED: it was cancelled. */
ACCEL_API int32_t accel_set_run(struct accel_set *set, const uint64_t *symbols,
                                struct accel_error *error) ACCEL_NOEXCEPT;

/** One step of a queue. Open. Members that its kind does not use are zero; they mean what they mean in
 *  struct accel_driver_step, the form in which a driver receives the step. */
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

/** A fence: a point of a queue's timeline, which is reached when the steps of that submit are done. Closed. */
struct accel_fence {
    struct accel_queue *queue;
    uint64_t value;
};

/** Enqueues steps that begin when all fences in `waits` are reached, and returns the value of the timeline that they
 *  reach. */
ACCEL_API int32_t accel_queue_submit(struct accel_queue *queue, const struct accel_step *const *steps,
                                     uint32_t step_count, const struct accel_fence *waits, uint32_t wait_count,
                                     uint64_t *out_value, struct accel_error *error) ACCEL_NOEXCEPT;
/** Waits until a value is reached, has failed, or `nanoseconds` have passed (ACCEL_E_TIMEOUT; UINT64_MAX: for ever). */
ACCEL_API int32_t accel_queue_wait(struct accel_queue *queue, uint64_t value, uint64_t nanoseconds,
                                   struct accel_error *error) ACCEL_NOEXCEPT;
/** The highest value reached without failure. */
ACCEL_API int32_t accel_queue_completed(struct accel_queue *queue, uint64_t *out_value,
                                        struct accel_error *error) ACCEL_NOEXCEPT;
/** Asks the queue to stop: steps in flight where the driver can, and whatever has not begun. That fails with
 *  ACCEL_E_CANCELLED, until accel_queue_reset; a cancel that falls between two steps is therefore not lost. Any thread.
 */
ACCEL_API int32_t accel_queue_cancel(struct accel_queue *queue, struct accel_error *error) ACCEL_NOEXCEPT;
/** Ends a failure, so that the queue accepts steps again. */
ACCEL_API int32_t accel_queue_reset(struct accel_queue *queue, struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
