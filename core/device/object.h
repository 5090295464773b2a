/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The objects behind accel/run.h. Every one begins with a counted reference; it holds references to what it needs, so
 * that frees may come in any order, and the driver's handles are freed children first. References are atomic; the rest
 * of an object belongs to its owner's thread, or is written once at creation.
 */
#ifndef ACCEL_CORE_DEVICE_OBJECT_H
#define ACCEL_CORE_DEVICE_OBJECT_H

#include <accel/builder.h>
#include <accel/run.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/hash.h"
#include "core/device/context.h"

/** Begins every object. */
struct accel_object {
    atomic_uint references;
    uint32_t zero;
    struct accel_context *context;
    void (*destroy)(struct accel_object *object); /**< frees the driver's part and releases what the object needs */
};

/** Takes counted, zeroed memory for an object with one reference and adds it to the context's children. */
int32_t accel_object_create(struct accel_context *context, size_t bytes, void (*destroy)(struct accel_object *object),
                            struct accel_object **out_object, struct accel_error *error);
/** One more reference. */
void accel_object_retain(struct accel_object *object);
/** One reference less, the last one destroys. NULL is fine. */
void accel_object_release(struct accel_object *object);
/** What a public free function does: nothing for NULL and in a forked child, else accel_object_release. */
void accel_object_drop(struct accel_object *object);

struct accel_device {
    struct accel_object object;
    const struct accel_listed *listed; /**< record, valid as long as the device */
    const char *driver;                /**< name, for messages */
    struct accel_driver_device *handle;
    struct accel_given *settings; /**< of the driver, strings behind them in one block, for a worker; or NULL */
    uint32_t setting_count;
    bool has_queues; /**< steps go through queues of the driver, not through `run` */
    atomic_bool lost;
};

/** Frees a handle of the device's driver. While the driver does that, `slot_` names the call. */
#define ACCEL_FREE_HANDLE(device_, handle_, slot_)                                                                     \
    do {                                                                                                               \
        struct accel_call call_;                                                                                       \
        accel_call_begin(&call_, (device_)->object.context, (device_)->driver, slot_);                                 \
        (handle_)->table->free(handle_);                                                                               \
        accel_call_end(&call_);                                                                                        \
    } while (0)

/** A weight of a module: the same key in any of its graphs. */
struct accel_module_weight {
    const struct accel_value *value;
    uint32_t wanted;    /**< bits 1 << ACCEL_RESIDENT, ACCEL_MAPPED, ACCEL_BAKED */
    uint64_t alignment; /**< of the mapped bytes */
    struct accel_weight weight;
};

struct accel_module {
    struct accel_object object;
    struct accel_device *device;
    struct accel_driver_module *handle;
    void *blob;                        /**< what `handle` was loaded from, freed with free(); or NULL */
    const struct accel_graph **graphs; /**< owned list of the caller's graphs */
    uint32_t graph_count;
    uint32_t weight_count;
    struct accel_module_weight *weights; /**< sorted by key */
    uint32_t **value_weights;            /**< [graph][value]: index in weights, or ACCEL_NO_VALUE */
};

/** The bytes of one plane of a weight. */
struct accel_plane {
    void *address; /**< NULL: no such plane, or not copied yet */
    uint64_t bytes;
    uint64_t offset; /**< of a copy in the block of all copies */
};

/** Packed weights in a file that is mapped (packed.h). */
struct accel_packed {
    void *memory;   /**< the whole file; NULL: none */
    uint64_t bytes; /**< of it */
};

/** Where the packed form of one list of weights is kept (packed.h). */
struct accel_packed_place {
    char *folder; /**< owned; NULL: nothing is kept of this list */
    char name[80];
    struct accel_hash128 key;
    bool replaces; /**< what is there cannot be used */
};

struct accel_weights {
    struct accel_object object;
    struct accel_module *module;
    struct accel_driver_weights *handle; /**< NULL: the driver has no container, or needs none */
    struct accel_plane *planes;          /**< [weight][ACCEL_PLANES], NULL where no weight is used in place */
    void *copies;                        /**< owned: the planes that are not used where they are mapped, or NULL */
    uint64_t mapped_bytes;
    struct accel_packed packed;      /**< what the container uses of the cache */
    struct accel_packed_place place; /**< where what was packed now can be kept */
    uint64_t packed_bytes;           /**< about as many */
    bool kept;                       /**< what was packed now has been kept */
};

/** Most planes of a format (accel/types.h). */
#define ACCEL_PLANES 4u

struct accel_buffer {
    struct accel_object object;
    struct accel_device *device;
    struct accel_driver_buffer *handle; /**< NULL: `address` is ours */
    void *address;                      /**< NULL: the host cannot see it */
    uint64_t bytes;
};

struct accel_state {
    struct accel_object object;
    struct accel_device *device;
    struct accel_driver_state *handle; /**< NULL: host memory of ours */
    uint64_t slots;
    uint32_t part_count;
    struct accel_state_part *parts;
    uint64_t *row_bytes; /**< [part] bytes of one slot */
    void **memory;       /**< [part], NULL with a handle */
};

/** A block of scratch. A queue that needs a larger one makes a new block; the old one goes with its last set. */
struct accel_scratch {
    struct accel_object object;
    struct accel_device *device;
    struct accel_driver_buffer *handle; /**< the driver's, where it makes buffers */
    void *address;                      /**< host memory of ours otherwise */
    uint64_t bytes;
    uint64_t alignment;
};

/** Something that a step in flight uses. */
struct accel_held {
    struct accel_object *object;
    uint64_t value;
};

/** A crew over a pool of threads. */
struct accel_pool_crew {
    struct accel_crew crew; /**< first: a driver hands its address back */
    struct accel_pool *pool;
};

#define ACCEL_QUEUE_WAITS 64u /* most waits of one submit */

struct accel_queue {
    struct accel_object object;
    struct accel_device *device;
    struct accel_driver_queue *handle; /**< NULL: steps run in the caller's thread */
    const struct accel_crew *crew;     /**< never NULL */
    struct accel_pool_crew lent;       /**< its pool is NULL with one thread */
    struct accel_scratch *scratch;     /**< the largest so far, or NULL */

    /* The timeline. Of a driver's queue `submitted` alone is kept here. */
    _Atomic uint64_t submitted; /**< highest value handed out */
    _Atomic uint64_t completed; /**< highest value reached without failure */
    _Atomic uint64_t failed;    /**< first value that failed, 0: none */
    atomic_bool cancel;         /**< asked from any thread, honoured before the next step */
    atomic_flag busy;           /**< some thread is in a call */
    struct accel_error failure; /**< of `failed`; written before it is published */
    uint64_t void_first;        /**< values that failed before the last reset, 0: none */
    uint64_t void_last;
    uint64_t cancelled_last; /**< highest value that was submitted when a reset ended a cancel */

    /* Of a driver's queue: what is in flight, a ring, oldest first. */
    struct accel_held *held;
    uint32_t held_capacity;
    uint32_t held_first;
    uint32_t held_count;
    uint32_t step_capacity;
    bool left;                /**< the caller has freed it; sets keep it */
    struct accel_step *steps; /**< [step_capacity], filled by a submit */
    const struct accel_step **step_list;
};

/** The bounds of a symbol of a step. */
struct accel_bound {
    uint64_t lowest;
    uint64_t highest; /**< of this set */
    uint64_t multiple;
};

struct accel_set {
    struct accel_object object;
    struct accel_driver_set *handle;
    int32_t(ACCEL_CALL *run)(struct accel_driver_set *set, const uint64_t *symbols, const struct accel_crew *crew,
                             struct accel_error *error); /**< slot of `handle`, NULL with queues of the driver */
    struct accel_queue *queue;
    uint32_t symbol_count;
    uint32_t held_count;
    struct accel_bound *bounds;
    const struct accel_graph *graph;
    struct accel_object **held; /**< module, weights, scratch, buffers, states */
};

/* ---- checks of run.h's arguments (check_*.c): ACCEL_E_INVALID or ACCEL_E_LIMIT with the reason ---- */

/** The object is there and not a parent's. `what` names it. */
int32_t accel_check_object(const struct accel_object *object, const char *what, struct accel_error *error);

/** The same of a device that may be asked for something: one that was lost stays lost. */
int32_t accel_check_alive(const struct accel_device *device, struct accel_error *error);
/** Symbols of a step lie within the set's bounds. */
int32_t accel_check_symbols(const struct accel_set *set, const uint64_t *symbols, struct accel_error *error);
/** One step of submit, all its objects and ranges. */
int32_t accel_check_work(const struct accel_queue *queue, const struct accel_work *work, struct accel_error *error);
/** Values to wait for. */
int32_t accel_check_waits(const struct accel_queue *queue, const struct accel_point *waits, uint32_t count,
                          struct accel_error *error);
/** The arguments of accel_set_create: every input, output and state has one bind that fits. */
int32_t accel_check_binds(const struct accel_module *module, uint32_t program, const uint64_t *symbols,
                          const struct accel_bind *binds, uint32_t count, struct accel_error *error);
/** Graphs, options and buckets of accel_module_create. */
int32_t accel_check_graphs(const struct accel_graph *const *graphs, uint32_t count,
                           const struct accel_compile_options *options, struct accel_error *error);

/* ---- between the files of the room ---- */

/** Makes a crew of `threads` threads (at least 2), bound to `processors` where these are given (crew.c). */
int32_t accel_pool_crew_create(struct accel_context *context, const struct accel_queue_options *options,
                               struct accel_pool_crew *crew, struct accel_error *error);
/** Ends its threads. */
void accel_pool_crew_free(struct accel_pool_crew *crew);

/** What all that is made for the device hangs on; not ACCEL_OK: its driver does not say. */
int32_t accel_device_fingerprint(const struct accel_device *device, uint8_t out_fingerprint[16]);
/** Notes that the device is lost when `code` says so; returns the code. */
int32_t accel_device_note(struct accel_device *device, int32_t code);
/** What a slot of a step answered: noted, checked as by accel_take_code, and of a loss `error` names the device and a
 *  remedy. A step may say that it was cancelled where its
 *  `value` was submitted before a cancel; UINT64_MAX: the next one. */
int32_t accel_device_answer(struct accel_queue *queue, uint64_t value, int32_t code, const char *slot,
                            struct accel_error *error);
/** Marks the queue's next value as failed with `queue->failure` filled by the caller. */
void accel_queue_fail(struct accel_queue *queue, uint64_t value, int32_t code);
/** A block of scratch of the queue that is large enough, with a reference for the caller. NULL where none is needed. */
int32_t accel_queue_scratch(struct accel_queue *queue, uint64_t bytes, uint64_t alignment,
                            struct accel_scratch **out_scratch, struct accel_error *error);
/** Runs steps on a driver's queue (queue_device.c). */
int32_t accel_queue_pass(struct accel_queue *queue, const struct accel_work *const *work, uint32_t work_count,
                         const struct accel_point *waits, uint32_t wait_count, uint64_t *out_value,
                         struct accel_error *error);
/** Waits on a driver's queue until a deadline on the clock, and releases what is done. */
int32_t accel_queue_pass_wait(struct accel_queue *queue, uint64_t value, uint64_t deadline, struct accel_error *error);
/** The slots of those names; `error` may be NULL. What they answer is the driver's own code. */
int32_t accel_queue_pass_completed(struct accel_queue *queue, uint64_t *out_value, struct accel_error *error);
int32_t accel_queue_pass_reset(struct accel_queue *queue, struct accel_error *error);
/** Releases what steps that are done held; all of it when `everything`. */
void accel_queue_reap(struct accel_queue *queue, bool everything);
/** Waits until the driver has ended all of it, and releases what steps held; nothing where steps run in the caller's
 *  thread. */
void accel_queue_drain(struct accel_queue *queue);
/** Runs one step of accel_queue_submit in the caller's thread (work.c). */
int32_t accel_work_run(struct accel_queue *queue, const struct accel_work *work, struct accel_error *error);
/** Applies changes to a state in host memory (state.c). */
int32_t accel_state_apply(struct accel_state *state, const struct accel_state_change *changes, uint64_t count,
                          struct accel_error *error);
/** A binding of a weight of a value for a set, planes in order; `bindings` has room for ACCEL_PLANES + 1. */
uint32_t accel_weights_bind(const struct accel_weights *weights, uint32_t weight, uint32_t value,
                            struct accel_binding *bindings);
/** The task for a driver: the caller's, with a crew in any case (task.c). */
struct accel_task_bridge {
    struct accel_task task;
    const struct accel_task *outer;
    struct accel_pool_crew lent; /**< where the caller lends none: a thread per processor, started by their first use */
    atomic_bool asked;           /**< the caller has told the driver to stop */
};
/** What a slot with this task answered, as by accel_take_asked, and of a loss noted. */
int32_t accel_task_answer(struct accel_device *device, const struct accel_task *task, int32_t code, const char *slot,
                          struct accel_error *error);
const struct accel_task *accel_task_bridge_init(struct accel_task_bridge *bridge, struct accel_context *context,
                                                const struct accel_task *outer);
/** Ends threads that were lent. */
void accel_task_bridge_end(struct accel_task_bridge *bridge);
/** Asks the driver for every node and notes where its weights go (module_claim.c). */
int32_t accel_module_claim(struct accel_module *module, const struct accel_compile_options *options,
                           struct accel_error *error);

#endif
