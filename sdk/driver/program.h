/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the driver library: what `compile` makes of a graph, and what `set_create` makes of that.
 *
 * A program is a kernel for each node and, for each value, the value whose storage it uses (reshapes are aliases). A
 * set adds memory: a tensor per value and a call per node, with intermediates at offsets of the scratch that were
 * planned by lifetime for the highest symbols of the set.
 */
#ifndef SDK_DRIVER_PROGRAM_H
#define SDK_DRIVER_PROGRAM_H

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
struct sdk_kept {
    struct accel_weight weight; /* the key is the container's */
    uint64_t rows;
    uint64_t row_bytes[SDK_PLANES];
    void *planes[SDK_PLANES]; /* where it is not packed; NULL before there are bytes */
    void *packed;             /* NULL where it is not packed, and before there are bytes */
    uint32_t plane_count;
    uint32_t zero;
};

/* Bytes of one row in all planes, and of one packed row. */
static inline uint64_t sdk_kept_bytes(const struct sdk_kept *kept)
{
    uint64_t bytes = 0;

    for (uint32_t p = 0; p < kept->plane_count; p++)
        bytes += kept->row_bytes[p];
    return bytes;
}

/* A container of weights; kept ones are sorted by key. */
struct sdk_weights {
    struct accel_driver_weights base;
    struct sdk_device *device;
    struct sdk_kept *kept;
    void *block;    /* NULL: not pulled; bytes that were adopted are the core's */
    uint64_t bytes; /* of all weights */
    uint32_t count;
    uint32_t zero;
};

struct sdk_program {
    const struct accel_graph *graph;
    const struct sdk_kernel **kernels; /* per node; NULL: an alias, nothing to run */
    uint32_t *roots;                   /* per value: the value whose storage it uses */
};

struct sdk_module {
    struct accel_driver_module base;
    struct sdk_device *device;
    struct sdk_program *programs;
    uint32_t program_count;
    uint32_t zero;
};

/* What a set knows of a call beside what the kernel sees. */
struct sdk_use {
    uint32_t node;
    uint32_t form;  /* 0: none */
    uint32_t maker; /* the call whose form it uses; itself when it makes it or wants none */
    uint32_t block; /* of the form, where it makes it */
};

/*
 * What is done at one time: a call runs, or the form of its input is made. Actions that follow one another part by part
 * are a group: its first one says what holds for all.
 */
struct sdk_action {
    uint32_t call;
    uint32_t is_form;
    uint32_t members; /* of the group that begins here; 0: one before it began the group */
    uint32_t split;   /* 1: all ranks take part in the group, 0: rank 0 does it alone */
    uint32_t meet;    /* 1: ranks wait for one another after it */
    uint32_t fetched; /* 1: half of the parts are given out as ranks come, 0: each rank has its share */
    uint64_t parts;   /* 0: the kernel's `run` cuts */
    uint64_t grain;
};

/* What waiting ranks look at lies in a line of its own, away from what arriving ranks write. */
struct sdk_barrier {
    _Alignas(64) _Atomic uint32_t arrived;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t strain; /* how often ranks had to sleep of late */
    uint32_t ranks;
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
    struct sdk_block *blocks;
    struct sdk_use *uses; /* per call */
    struct sdk_action *actions;
    _Atomic uint64_t *fetched; /* per action: multiples of the grain that have been given out */
    uint32_t call_count;
    uint32_t action_count;
    uint32_t symbolic_count;
    uint32_t block_count;
    uint32_t ranks;      /* most of a step, for which scratch was planned */
    uint32_t step_ranks; /* for which the actions stand; 0: not decided yet */
    uint32_t alone;      /* 1: the crew would cost more than it saves */
    uint64_t scratch_bytes;
    struct sdk_barrier barrier;
};

extern const struct accel_module_table sdk_module_table;
extern const struct accel_device_table sdk_device_table, sdk_packing_device_table;
extern const struct accel_set_table sdk_set_table;

/* The first kernel of the table that takes the node, or NULL with the reason of the last one that did not. */
const struct sdk_kernel *sdk_pick(const struct sdk_device *device, const struct accel_graph *graph, uint32_t node,
                                  const char **out_reason);

/* Whether the weights of a node go into a container, since its kernel reads one of them packed. */
uint32_t sdk_node_packs(const struct sdk_device *device, const struct accel_graph *graph, uint32_t node,
                        const struct sdk_kernel *kernel);
/* Bytes of bookkeeping of the container that a module's weights will have; 0: none. */
uint64_t sdk_weights_bytes(const struct sdk_module *module);
/* The weight called `key`, or NULL. */
const struct sdk_kept *sdk_weights_find(const struct sdk_weights *weights, const char *key);
int32_t sdk_weights_create(struct accel_driver_device *device, const struct accel_weight *const *list, uint32_t count,
                           struct accel_driver_weights **out_weights, struct accel_error *error);

/* Fills the weights of a container, which have their places, from the source. */
int32_t sdk_pull(const struct sdk_weights *weights, const struct accel_source *source, const struct accel_task *task,
                 struct accel_error *error);

/* Makes the sets' skeleton: dims, calls, blocks and the bytes of scratch; addresses are still NULL. */
int32_t sdk_set_prepare(struct sdk_module *module, uint32_t program, const uint64_t *symbols, uint32_t ranks,
                        struct sdk_set **out_set, struct accel_error *error);
void sdk_set_release(struct sdk_set *set);
/* Bytes of bookkeeping of a set of this program. */
uint64_t sdk_set_bytes(const struct sdk_program *program);

/* Decides for the dims in the tensors which actions are one group, which groups are worth splitting over `ranks` ranks,
 * and where ranks have to meet. */
void sdk_share_out(struct sdk_set *set, uint32_t ranks);

/* Puts actions that may run part by part into groups. Fills `parts`, `grain` and `members`. */
void sdk_group(struct sdk_set *set);

/* Makes blocks live as long as ranks that are not kept in step may use them. Before blocks have offsets. */
void sdk_extend_lives(struct sdk_set *set);

/* 1: what one group writes is touched by the other. Groups begin at these actions. */
uint32_t sdk_groups_touch(const struct sdk_set *set, uint32_t a, uint32_t b);

/* Sets a tensor's dims, rows and width for these symbols. */
void sdk_tensor_measure(struct sdk_tensor *tensor, const struct accel_value *value, const uint64_t *symbols,
                        uint32_t count);

/* Module slots, one file each. */
int32_t sdk_module_create(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                          uint32_t graph_count, const struct accel_compile_options *options,
                          const struct accel_source *source, const struct accel_blob_writer *writer,
                          const struct accel_task *task, struct accel_driver_module **out_module,
                          struct accel_error *error);
int32_t sdk_set_create(struct accel_driver_module *module, const struct accel_set_description *description,
                       struct accel_driver_set **out_set, struct accel_error *error);
int32_t sdk_claim(struct accel_driver_device *device, const struct accel_graph *const *graphs, uint32_t graph_count,
                  const struct accel_compile_options *options, const struct accel_claim_sink *sink,
                  struct accel_error *error);
/* Bytes of a device with what the backend keeps behind it. */
uint64_t sdk_device_bytes(const struct sdk_backend *backend);

int32_t sdk_estimate(struct accel_driver_device *device, const struct accel_graph *const *graphs, uint32_t graph_count,
                     const struct accel_compile_options *options, const struct accel_estimate_sink *sink,
                     struct accel_error *error);

#endif
