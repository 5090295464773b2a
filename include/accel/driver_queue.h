/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The driver ABI, third part: buffers, states, sets, steps and queues with their timeline. Included by accel/driver.h.
 *
 * A queue runs steps in order. Each submit returns a value of the queue's timeline, greater than all earlier ones; the
 * value is reached when the steps of that submit are done. Failures propagate along the timeline: if the steps of value
 * v fail, v fails with their error, and every later value fails with ACCEL_E_DEPENDS, in this queue and in queues that
 * wait for such a value, until `reset`. The contents of memory that failed steps write are undefined. Only values that
 * submit has already returned may be waited for.
 */
#ifndef ACCEL_DRIVER_QUEUE_H
#define ACCEL_DRIVER_QUEUE_H

#include <accel/abi.h>
#include <accel/error.h>
#include <accel/host.h>

ACCEL_BEGIN_C

struct accel_driver_weights;
struct accel_driver_queue;
struct accel_driver_set;

/* ---- buffer ---- */

struct accel_driver_buffer;

/** Slots of a buffer. Open. */
struct accel_buffer_table {
    uint32_t size;
    uint32_t zero;
    /** Frees the buffer. */
    int32_t(ACCEL_CALL *free)(struct accel_driver_buffer *buffer) ACCEL_NOEXCEPT;
    /** Optional (the host accesses the contents through steps only): returns the host address of the whole buffer,
     * valid until `free`. The host accesses it only while no step uses the buffer. */
    int32_t(ACCEL_CALL *map)(struct accel_driver_buffer *buffer, void **out_address,
                             struct accel_error *error) ACCEL_NOEXCEPT;
};

/** Begins every buffer of a driver. Closed. */
struct accel_driver_buffer {
    const struct accel_buffer_table *table;
};

/* ---- state ---- */

/** One part of a state: a matrix of [slots, row] elements, such as the keys of one layer. Closed. */
struct accel_state_part {
    uint32_t type; /**< ACCEL_F32, ACCEL_F16, ... */
    uint32_t zero;
    uint64_t row; /**< elements of one slot */
};

#define ACCEL_STATE_RESET 1u /**< all slots become zero */
#define ACCEL_STATE_COPY 2u  /**< copy `count` slots from slot `from` on to slot `to`; the ranges may overlap */

/** A change of a state. Closed. */
struct accel_state_change {
    uint32_t kind; /**< ACCEL_STATE_... */
    uint32_t zero;
    uint64_t from;
    uint64_t to;
    uint64_t count;
};

struct accel_driver_state;

/** Slots of a state. Open. */
struct accel_state_table {
    uint32_t size;
    uint32_t zero;
    /** Frees the state. */
    int32_t(ACCEL_CALL *free)(struct accel_driver_state *state) ACCEL_NOEXCEPT;
};

/** Begins every state of a driver. Closed. */
struct accel_driver_state {
    const struct accel_state_table *table;
};

/* ---- set ---- */

#define ACCEL_BIND_BUFFER 1u
#define ACCEL_BIND_STATE 2u
#define ACCEL_BIND_WEIGHTS 3u
#define ACCEL_BIND_SOURCE 4u /**< a plane of a weight of which kernels map parts: accel_source.map_part */

/** Binding of a value of a program. Closed. Memory of the core, or mapped by a source, has its address in `host`;
 * memory of the driver is identified by `object`, its own handle, and `host` is NULL. A driver refuses a set with a
 * kind that it does not know, or with an ACCEL_BIND_SOURCE for a kernel that reads whole planes: `host` is no bytes. */
struct accel_binding {
    uint32_t value; /**< index in the graph */
    uint32_t kind;  /**< ACCEL_BIND_... */
    uint32_t part;  /**< of a state: its part; of a weight: its plane (0 first, one binding for each) */
    uint32_t zero;
    void *object;    /**< struct accel_driver_buffer, accel_driver_state or accel_driver_weights */
    void *host;      /**< address of the bytes; weights are read only. With ACCEL_BIND_SOURCE the struct accel_source */
    uint64_t offset; /**< of a buffer with an object: where the bytes begin */
    uint64_t bytes;
};

/** Description of a set. Open. Arrays are valid for the call. */
struct accel_set_description {
    uint32_t size;
    uint32_t program;        /**< index of the graph in the list that was compiled */
    const uint64_t *symbols; /**< [symbol_count] highest values that steps of this set use */
    uint32_t symbol_count;
    uint32_t binding_count;
    const struct accel_binding *bindings;       /**< inputs, outputs, states and weights; constants lie in the graph */
    void *scratch;                              /**< host memory of the core, aligned as `scratch` requires; or NULL */
    struct accel_driver_buffer *scratch_buffer; /**< instead, if the driver has buffer_create: its buffer; or NULL */
    uint64_t scratch_bytes;
    uint32_t threads; /**< maximum thread count of the team passed to `run` */
    uint32_t zero;
};

#define ACCEL_STEP_RUN 1u    /**< run `set` with `symbols` */
#define ACCEL_STEP_COPY 2u   /**< copy `bytes` from source to target */
#define ACCEL_STEP_UPDATE 3u /**< write `bytes` of `data` to target; data is copied before submit returns */
#define ACCEL_STEP_READ 4u   /**< copy `bytes` of source to `memory`, which stays valid until the value is reached */
#define ACCEL_STEP_FILL 5u   /**< fill `bytes` of target with the byte `fill` */
#define ACCEL_STEP_STATE 6u  /**< apply `changes` to `state`, in order */

/** One step of a queue, as a driver receives it. Open. Members that its kind does not use are zero. */
struct accel_driver_step {
    uint32_t size;
    uint32_t kind; /**< ACCEL_STEP_... */
    struct accel_driver_set *set;
    const uint64_t *symbols; /**< of the set's program, in the order of its graph; copied before submit returns */
    uint32_t symbol_count;
    uint32_t fill;
    struct accel_driver_buffer *source;
    struct accel_driver_buffer *target;
    uint64_t source_offset;
    uint64_t target_offset;
    uint64_t bytes;
    const void *data;
    void *memory;
    struct accel_driver_state *state;
    const struct accel_state_change *changes;
    uint64_t change_count;
};

/** Slots of a set. Open. */
struct accel_set_table {
    uint32_t size;
    uint32_t zero;
    /** Frees the set, but not the memory that it binds. */
    int32_t(ACCEL_CALL *free)(struct accel_driver_set *set) ACCEL_NOEXCEPT;
    /** Required if the driver has no queue_create, else NULL: runs the program now, in the caller's thread and on
     * the threads of the team, and returns when it is done. One call at a time for one set, and for all sets that
     * share scratch. Allocates nothing. */
    int32_t(ACCEL_CALL *run)(struct accel_driver_set *set, const uint64_t *symbols, const struct accel_team *team,
                             struct accel_error *error) ACCEL_NOEXCEPT;
};

/** Begins every set of a driver. Closed. */
struct accel_driver_set {
    const struct accel_set_table *table;
};

/* ---- queue ---- */

/** A fence: a point of a queue's timeline to wait for. Closed. The queue belongs to the same device. */
struct accel_driver_fence {
    struct accel_driver_queue *queue;
    uint64_t value;
};

/** Slots of a queue. Open. One thread at a time, but `cancel` and `completed` from any. */
struct accel_queue_table {
    uint32_t size;
    uint32_t zero;
    /** Frees the queue. Called only when no step of it is in flight. */
    int32_t(ACCEL_CALL *free)(struct accel_driver_queue *queue) ACCEL_NOEXCEPT;
    /** Enqueues steps that begin when all fences in `waits` are reached. Never blocks, never allocates. ACCEL_OK: the
     * steps are enqueued; a failure of theirs is a failure of *out_value. ACCEL_E_AGAIN: the queue is full. */
    int32_t(ACCEL_CALL *submit)(struct accel_driver_queue *queue, const struct accel_driver_step *const *steps,
                                uint32_t step_count, const struct accel_driver_fence *waits, uint32_t wait_count,
                                uint64_t *out_value, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Waits until `value` is reached (ACCEL_OK), has failed (its code) or the deadline on the host's clock has passed
     *  (ACCEL_E_TIMEOUT). Steps make progress without another call. */
    int32_t(ACCEL_CALL *wait)(struct accel_driver_queue *queue, uint64_t value, uint64_t deadline,
                              struct accel_error *error) ACCEL_NOEXCEPT;
    /** Returns the highest value that was reached without failure. */
    int32_t(ACCEL_CALL *completed)(struct accel_driver_queue *queue, uint64_t *out_value,
                                   struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (steps in flight run to their end): stops the steps in flight; their values fail with
     *  ACCEL_E_CANCELLED. */
    int32_t(ACCEL_CALL *cancel)(struct accel_driver_queue *queue, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Clears a failure: waits until no step is in flight; after that the queue accepts steps again. */
    int32_t(ACCEL_CALL *reset)(struct accel_driver_queue *queue, struct accel_error *error) ACCEL_NOEXCEPT;
};

/** Begins every queue of a driver. Closed. */
struct accel_driver_queue {
    const struct accel_queue_table *table;
};

ACCEL_END_C

#endif
