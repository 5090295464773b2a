/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal interface of the driver library: `compile` makes a program of a graph, and `set_create` a set of a program.
 *
 * A program has a kernel per node and, per value, the value that owns its storage (reshapes are aliases). A set adds
 * memory: a tensor per value and a call per node, with intermediates at scratch offsets that were planned by lifetime
 * for the highest symbols of the set.
 */
#ifndef SDK_DRIVER_PROGRAM_H
#define SDK_DRIVER_PROGRAM_H

#include <stdbool.h>

#include <accel/driver/sdk.h>

#include "sdk/driver/graph.h"

#define SDK_IDS 32u /* devices of an instance whose ids are checked */

/** The library's part of an instance. */
struct sdk_instance {
    struct accel_driver_instance base;
    const struct sdk_backend *backend;
    const struct accel_host *host;
    _Atomic uint64_t ids[SDK_IDS]; /* hashes of the ids that enumerate gave, 0: a free place */
    _Atomic uint32_t devices;
};

/** The library's part of a device; the driver's own bytes follow in `own`. */
struct sdk_device {
    struct accel_driver_device base;
    struct sdk_instance *instance;
    const struct sdk_backend *backend;
    const struct accel_host *host;
    _Atomic uint32_t modules;
    _Atomic uint32_t containers; /* of weights */
    void *own;
};

/* A weight of a container. */
struct sdk_weight_entry {
    struct accel_weight weight; /* the key is the container's */
    uint64_t rows;
    uint64_t row_bytes[SDK_PLANES];
    void *planes[SDK_PLANES]; /* where it is not packed; NULL before there are bytes */
    void *packed;             /* NULL where it is not packed, and before there are bytes */
    uint32_t plane_count;
    uint32_t zero;
};

/* Bytes of one row in all planes, and of one packed row. */
static inline uint64_t sdk_entry_row_bytes(const struct sdk_weight_entry *entry)
{
    uint64_t bytes = 0;

    for (uint32_t p = 0; p < entry->plane_count; p++)
        bytes += entry->row_bytes[p];
    return bytes;
}

/* A container of weights; entries are sorted by key. */
struct sdk_weights {
    struct accel_driver_weights base;
    struct sdk_device *device;
    struct sdk_weight_entry *entries;
    void *block;    /* NULL: not loaded; adopted bytes belong to the core */
    uint64_t bytes; /* of all weights */
    uint32_t count;
    uint32_t zero;
};

struct sdk_program {
    const struct accel_graph *graph;
    const struct sdk_kernel **kernels; /* per node; NULL: an alias, nothing to run */
    uint32_t *roots;                   /* per value: the value that owns its storage */
};

struct sdk_module {
    struct accel_driver_module base;
    struct sdk_device *device;
    struct sdk_program *programs;
    uint32_t program_count;
    uint32_t zero;
};

/* Per-call data of a set beside the call that the kernel sees. */
struct sdk_use {
    uint32_t node;
    uint32_t format;   /* of the staged activations; 0: none */
    uint32_t producer; /* call that stages the input; the call itself if it does, or reads no staged input */
    uint32_t block;    /* of the staged activations, if this call is their producer */
};

/*
 * A step of a set's schedule: runs a call, or stages the activations of its input. Consecutive actions that run part by
 * part are a group, whose first action holds the members of the group.
 */
struct sdk_action {
    uint32_t call;
    bool is_staging;
    uint32_t members; /* of the group that begins here; 0: one before it began the group */
    uint32_t split;   /* 1: all threads share the group, 0: thread 0 runs it */
    uint32_t barrier; /* 1: threads wait at the barrier after it */
    uint32_t dynamic; /* 1: half of the parts are scheduled dynamically, 0: all statically */
    uint64_t parts;   /* 0: the kernel's `run` cuts */
    uint64_t grain;
};

/* The phase, which waiting threads read, has a cache line of its own, away from the counters that arriving threads
 * write. */
struct sdk_barrier {
    _Alignas(64) _Atomic uint32_t arrived;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t strain; /* grows when threads sleep, see barrier.c */
    uint32_t threads;
    _Alignas(64) _Atomic uint32_t phase;
};

struct sdk_set {
    struct accel_driver_set base;
    struct sdk_module *module;
    const struct sdk_program *program;
    struct sdk_tensor *tensors; /* per value */
    struct sdk_call *calls;     /* per node that runs */
    const struct sdk_kernel **kernels;
    uint64_t *symbols;  /* for which the tensors' dims stand */
    uint32_t *symbolic; /* values with a symbolic dim */
    char *prepared;     /* of the calls, one after the other, each a multiple of 64 bytes */
    struct sdk_block *blocks;
    struct sdk_use *uses; /* per call */
    struct sdk_action *actions;
    _Atomic uint64_t *claimed; /* per action: multiples of the grain that threads have claimed */
    uint32_t call_count;
    uint32_t action_count;
    uint32_t symbolic_count;
    uint32_t block_count;
    uint32_t threads;      /* most of a step, for which scratch was planned */
    uint32_t step_threads; /* for which the actions stand; 0: not decided yet */
    uint32_t serial;       /* 1: one thread runs the step, since starting the team costs more than it saves */
    uint64_t scratch_bytes;
    struct sdk_barrier barrier;
};

extern const struct accel_module_table sdk_module_table;
extern const struct accel_device_table sdk_device_table, sdk_packing_device_table;
extern const struct accel_set_table sdk_set_table;

/* Returns the first kernel of the table that accepts the node, or NULL with the reason of the last one. */
const struct sdk_kernel *sdk_select_kernel(const struct sdk_device *device, const struct accel_graph *graph,
                                           uint32_t node, const char **out_reason);

/* Returns whether the weights of a node belong in a container, since its kernel reads one of them packed. */
uint32_t sdk_node_packs(const struct sdk_device *device, const struct accel_graph *graph, uint32_t node,
                        const struct sdk_kernel *kernel);
/* Returns the bytes of bookkeeping of the container for a module's weights; 0: it has none. */
uint64_t sdk_weights_bytes(const struct sdk_module *module);
/* Returns the weight called `key`, or NULL. */
const struct sdk_weight_entry *sdk_weights_find(const struct sdk_weights *weights, const char *key);
SDK_SLOT(device, weights_create) sdk_weights_create;

/* Reads the weights of a container, whose memory is allocated, from the source. */
int32_t sdk_load_weights(const struct sdk_weights *weights, const struct accel_source *source,
                         const struct accel_task *task, struct accel_error *error);

/* Creates a set without memory: dims, calls, blocks and bytes of scratch are known, addresses are NULL. */
int32_t sdk_set_prepare(struct sdk_module *module, uint32_t program, const uint64_t *symbols, uint32_t threads,
                        struct sdk_set **out_set, struct accel_error *error);
void sdk_set_release(struct sdk_set *set);
/* Prepares the calls of a bound set for its dims. */
void sdk_set_prepare_calls(struct sdk_set *set);
/* Returns the bytes of bookkeeping of a set of this program. */
uint64_t sdk_set_bytes(const struct sdk_program *program);

/* Schedules the actions for the current dims: forms groups, decides which groups are split over `threads` threads, and
 * places barriers. */
void sdk_schedule(struct sdk_set *set, uint32_t threads);

/* Groups actions that need no barrier between them. Fills `parts`, `grain` and `members`. */
void sdk_group_actions(struct sdk_set *set);

/* Extends the lifetimes of blocks that unsynchronized threads may still use. Call before blocks have offsets. */
void sdk_extend_lifetimes(struct sdk_set *set);

/* Returns whether one group writes memory that the other accesses. The arguments are the groups' first actions. */
bool sdk_groups_conflict(const struct sdk_set *set, uint32_t a, uint32_t b);

/* Sets a tensor's dims, rows and width for these symbols. */
void sdk_tensor_measure(struct sdk_tensor *tensor, const struct accel_value *value, const uint64_t *symbols,
                        uint32_t count);

/* Module slots, one file each. */
SDK_SLOT(device, compile) sdk_module_create;
SDK_SLOT(module, set_create) sdk_set_create;
SDK_SLOT(device, claim) sdk_claim;
/* Returns the bytes of a device with those of its backend. */
uint64_t sdk_device_bytes(const struct sdk_backend *backend);

SDK_SLOT(device, estimate) sdk_estimate;

#endif
