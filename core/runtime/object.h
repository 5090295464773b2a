/* SPDX-License-Identifier: Apache-2.0 */
/** @file Objects behind accel/run.h. Each object begins with a reference count and holds references to the objects it
 * needs, so that the caller may free in any order while the driver's handles are freed children first. References are
 * atomic. The owner's thread alone changes the rest of an object, except members that are written once at creation. */
#ifndef ACCEL_CORE_RUNTIME_OBJECT_H
#define ACCEL_CORE_RUNTIME_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <accel/builder.h>
#include <accel/run.h>

#include "core/base/hash.h"
#include "core/registry/call_guard.h"
#include "core/registry/context.h"

/** Header of every object. */
struct accel_object {
    atomic_uint references;
    uint32_t zero;
    struct accel_context *context;
    void (*destroy)(struct accel_object *object); /**< frees the driver's handle and releases the objects it needs */
};

/** Allocates counted, zeroed memory for an object with one reference and adds it to the context's children. */
int32_t accel_object_create(struct accel_context *context, size_t bytes, void (*destroy)(struct accel_object *object),
                            struct accel_object **out_object, struct accel_error *error);

/** Adds one reference. */
void accel_object_retain(struct accel_object *object);

/** Removes one reference and destroys the object with the last one. NULL is fine. */
void accel_object_release(struct accel_object *object);

/** Allocates a zeroed array of counted host memory for lists of an object, freed with accel_memory_free; NULL with
 * ACCEL_E_MEMORY in `error` without memory. */
void *accel_object_array(const struct accel_object *object, uint64_t count, size_t bytes, struct accel_error *error);

/** Ends a create function: returns the object, or NULL after its release if `code` is a failure. */
struct accel_object *accel_object_finish(struct accel_object *object, int32_t code);

/** Implements a public free function: does nothing for NULL and in a forked child, else releases the object. */
void accel_object_drop(struct accel_object *object);

struct accel_device {
    struct accel_object object;
    const struct accel_listed *listed; /**< record, valid as long as the device */
    const char *driver;                /**< driver name, for messages */
    struct accel_driver_device *handle;
    struct accel_named_value *settings; /**< parsed settings with their strings in one block, for a worker; or NULL */
    uint32_t setting_count;
    bool has_queues; /**< steps go through driver queues, not through `run` */
    atomic_bool lost;
};

/** Frees a handle of the device's driver; `slot_` names the call for the call guard. */
#define ACCEL_FREE_HANDLE(device_, handle_, slot_)                                                                     \
    do {                                                                                                               \
        struct accel_call_guard call_;                                                                                 \
        accel_call_guard_begin(&call_, (device_)->object.context, (device_)->driver, slot_);                           \
        (handle_)->table->free(handle_);                                                                               \
        accel_call_guard_end(&call_);                                                                                  \
    } while (0)

/** Stores a handle that the core can free, so that the core owns it even if the rest of its table is refused. */
#define ACCEL_OWN_HANDLE(place_, handle_)                                                                              \
    do {                                                                                                               \
        if (ACCEL_CAN((handle_)->table, free))                                                                         \
            (place_) = (handle_);                                                                                      \
    } while (0)

/** A weight of a module, identified by its key in every graph. */
struct accel_module_weight {
    const struct accel_value *value;
    uint32_t placements; /**< bits 1 << ACCEL_RESIDENT, ACCEL_MAPPED, ACCEL_BAKED */
    uint64_t alignment;  /**< required alignment of the mapped bytes */
    struct accel_weight weight;
};

struct accel_module {
    struct accel_object object;
    struct accel_device *device;
    struct accel_driver_module *handle;
    void *blob;                        /**< the blob that `handle` was loaded from, freed with free(); or NULL */
    const struct accel_graph **graphs; /**< owned list of the caller's graphs */
    uint32_t graph_count;
    uint32_t weight_count;
    struct accel_module_weight *weights; /**< sorted by key */
    uint32_t **value_weights;            /**< [graph][value]: index in weights, or ACCEL_NO_VALUE */
};

/** Memory of one plane of a weight. */
struct accel_plane {
    void *address; /**< NULL: the plane does not exist or is not copied yet */
    uint32_t kind; /**< ACCEL_BIND_WEIGHTS or, with the address of the source, ACCEL_BIND_SOURCE */
    uint64_t bytes;
    uint64_t offset; /**< offset of the copy in the block of all copies */
};

/** Mapped file of packed weights (packed.h). */
struct accel_packed {
    void *memory;   /**< whole file; NULL: none */
    uint64_t bytes; /**< file size */
};

/** Cache location of the packed form of one list of weights (packed.h). */
struct accel_packed_place {
    char *folder; /**< owned; NULL: this list is not cached */
    char name[80];
    struct accel_hash128 key;
    bool replaces; /**< the cached file is unusable and gets replaced */
};

struct accel_weights {
    struct accel_object object;
    struct accel_module *module;
    struct accel_driver_weights *handle; /**< NULL: the driver has no container, or needs none */
    struct accel_plane *planes;          /**< [weight][ACCEL_PLANES], NULL if no weight is used in place */
    void *copies;                        /**< owned: copies of planes that cannot be used in place, or NULL */
    struct accel_packed packed;          /**< cached file that the container uses */
    struct accel_packed_place place;     /**< cache location for newly packed weights */
    uint64_t packed_bytes;               /**< approximate size of the packed weights */
    bool stored;                         /**< newly packed weights have been stored in the cache */
};

/** Maximum number of planes of a format (accel/types.h). */
#define ACCEL_PLANES 4u

struct accel_buffer {
    struct accel_object object;
    struct accel_device *device;
    struct accel_driver_buffer *handle; /**< NULL: `address` is host memory of the core */
    void *address;                      /**< NULL: not visible to the host */
    uint64_t bytes;
};

struct accel_state {
    struct accel_object object;
    struct accel_device *device;
    struct accel_driver_state *handle; /**< NULL: host memory of the core */
    uint64_t slots;
    uint32_t part_count;
    struct accel_state_part *parts;
    uint64_t *row_bytes; /**< [part] bytes of one slot */
    void **memory;       /**< [part], NULL with a handle */
};

/** A block of scratch memory. If a queue needs a larger one, the old block is freed with its last set. */
struct accel_scratch {
    struct accel_object object;
    struct accel_device *device;
    struct accel_driver_buffer *handle; /**< driver buffer, if the driver creates buffers */
    void *address;                      /**< else host memory of the core */
    uint64_t bytes;
    uint64_t alignment;
};

/** An object that a step in flight uses. */
struct accel_held {
    struct accel_object *object;
    uint64_t value;
};

/** Thread team over a pool of threads. */
struct accel_pool_team {
    struct accel_team team; /**< first: the driver passes its address back */
    struct accel_pool *pool;
};

#define ACCEL_QUEUE_WAITS 64u /* maximum waits of one submit */

struct accel_queue {
    struct accel_object object;
    struct accel_device *device;
    struct accel_driver_queue *handle; /**< NULL: steps run in the caller's thread */
    const struct accel_team *team;     /**< never NULL */
    struct accel_pool_team own_team;   /**< owned team; its pool is NULL with one thread */
    struct accel_scratch *scratch;     /**< largest block so far, or NULL */

    /* Timeline. A driver queue uses `submitted` alone. */
    _Atomic uint64_t submitted; /**< highest value that submit returned */
    _Atomic uint64_t completed; /**< highest value that completed without failure */
    _Atomic uint64_t failed;    /**< first value that failed, 0: none */
    atomic_bool cancel;         /**< set by any thread, checked before the next step */
    atomic_flag busy;           /**< a thread is inside a call of the queue */
    bool change_logged;         /**< the log has reported that steps change the state of the calling thread */
    struct accel_error failure; /**< error of value `failed`, stored before `failed` is published */
    uint64_t void_first;        /**< first value that failed before the last reset, 0: none */
    uint64_t void_last;
    uint64_t cancelled_last; /**< highest submitted value when a reset ended a cancel */

    /* Ring of objects that steps in flight use, oldest first (driver queue). */
    struct accel_held *held;
    uint32_t held_capacity;
    uint32_t held_first;
    uint32_t held_count;
    uint32_t step_capacity;
    bool is_freed;                   /**< freed by the caller; sets still hold a reference */
    struct accel_driver_step *steps; /**< [step_capacity], filled by a submit */
    const struct accel_driver_step **step_list;
};

/** Bounds of a symbol of a step. */
struct accel_bound {
    uint64_t lowest;
    uint64_t highest; /**< upper bound for this set */
    uint64_t multiple;
};

struct accel_set {
    struct accel_object object;
    struct accel_driver_set *handle;
    int32_t(ACCEL_CALL *run)(struct accel_driver_set *set, const uint64_t *symbols, const struct accel_team *team,
                             struct accel_error *error); /**< slot of `handle`, NULL if the driver has queues */
    struct accel_queue *queue;
    uint32_t symbol_count;
    uint32_t held_count;
    struct accel_bound *bounds;
    const struct accel_graph *graph;
    struct accel_object **held; /**< module, weights, scratch, buffers, states */
};

#endif
