/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal interface of the GPU library (libaccel-gpu), which implements the driver ABI over a compute API (api.h).
 * instance.c: instance and device; memory.c: memory accounting; pipeline.c: pipelines, one per key; shape.c: extents,
 * pitches and parts of values; claim.c: selects a kernel row per node; lower.c: launches of a graph; estimate.c;
 * module.c, set.c, weights.c, state.c, buffer.c, queue.c: objects of the driver ABI; step.c: translates steps into
 * operations; arena.c: suballocation; transfer.c: copies outside of any queue; cache.c: compiled kernels on disk;
 * host.c and features.c: services for plugins (host.h).
 *
 * Locks: gpu_device_state.lock guards the list of pipelines, gpu_transfer.lock the transfer queue, gpu_timeline.lock
 * the members that `completed` reads while another thread submits. No lock is held during a call of the host.
 */
#ifndef SDK_GPU_INTERNAL_H
#define SDK_GPU_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "sdk/driver/graph.h"
#include "sdk/gpu/cache.h"
#include "sdk/gpu/host.h"
#include "sdk/gpu/kernel.h"

/* Largest ACCEL_STEP_UPDATE, and the sizes of a queue's upload and download rings. */
#define GPU_INLINE_BYTES (UINT64_C(256) << 10)
#define GPU_UPLOAD_BYTES (UINT64_C(1) << 20)
#define GPU_DOWNLOAD_BYTES (UINT64_C(1) << 20)
/* Steps of one queue in flight, whatever the API offers beyond. */
#define GPU_IN_FLIGHT 32u
/* Alignment of values in memories that the library creates. */
#define GPU_ALIGNMENT 256u
/* Largest memory shared by several weights or parts of states, since drivers limit the size of an allocation. */
#define GPU_CHUNK_BYTES (UINT64_C(1) << 30)
/* Size of the staging memory for copies from the host. */
#define GPU_STAGING_BYTES (UINT64_C(4) << 20)
/* Size of the bounce memory for copies within a state, or one row if that is larger. */
#define GPU_BOUNCE_BYTES (UINT64_C(1) << 18)

/* Shortest interval between two writes of the cache file while kernels are being compiled. */
#define GPU_STORE_NANOSECONDS UINT64_C(2000000000)

/* ---- instance and device ---- */

struct gpu_instance {
    struct accel_driver_instance base;
    const struct gpu_api *api;
    const struct accel_host *host;
    struct gpu_runtime *runtime;
    _Atomic uint32_t devices;
};

/* A pipeline of a device, shared by the modules that hold it. */
struct gpu_compiled {
    struct gpu_compiled *next;
    struct gpu_key key;
    struct gpu_pipeline *pipeline; /* NULL: not made yet */
    uint32_t pending;              /* 1: not compiled yet, and no thread has started */
    uint32_t holders;
};

/* A reference of a module to a compiled pipeline. */
struct gpu_hold {
    struct gpu_hold *next;
    struct gpu_compiled *compiled;
};

/* Copies from the host outside of the caller's queues: weights, constants, zeros. One thread at a time. */
struct gpu_transfer {
    pthread_mutex_t lock;
    struct gpu_queue *queue; /* made when the device is opened */
    uint64_t value;
};

struct gpu_device_state {
    struct accel_driver_device base;
    struct gpu_instance *instance;
    const struct gpu_api *api;
    const struct accel_host *host;
    struct gpu_device *device;
    struct gpu_limits limits;
    pthread_mutex_t lock;
    struct gpu_compiled *pipelines;
    struct gpu_transfer transfer;
    struct gpu_cache cache;
    _Atomic uint32_t children; /* modules, containers, states, buffers, queues */
    _Atomic uint32_t fresh;    /* pipelines compiled since the cache was last written */
    _Atomic uint64_t stored;   /* time of the last periodic cache write, on the host's clock */
    uint32_t precompiles;      /* option precompile */
};

extern const struct accel_device_table gpu_device_table;

/* ---- memory.c ---- */

/* Allocates zeroed host memory that the host counts under a class. gpu_release frees it and accepts NULL. */
int32_t gpu_allocate(const struct gpu_device_state *gpu, uint32_t memory_class, uint64_t bytes, void **out_memory,
                     struct accel_error *error);
void gpu_release(const struct gpu_device_state *gpu, void *memory);

/* Adds bytes to a class of the host's accounting; a negative count subtracts them. */
int32_t gpu_account(const struct gpu_device_state *gpu, uint32_t memory_class, int64_t bytes,
                    struct accel_error *error);
/* Memory of the API, counted by the host under a class (0: not) while it is alive; dropped with the bytes it was made
 * with. */
int32_t gpu_memory_make(struct gpu_device_state *gpu, uint32_t memory_class, uint64_t bytes, uint32_t kind,
                        struct gpu_memory **out_memory, struct accel_error *error);
/* NULL is allowed. */
void gpu_memory_drop(struct gpu_device_state *gpu, uint32_t memory_class, uint64_t bytes, uint32_t kind,
                     struct gpu_memory *memory);

/* ---- arena.c: places in few memories ---- */

struct gpu_place {
    uint32_t chunk;
    uint32_t zero;
    uint64_t offset;
};

/* Memories that are filled front to back. */
struct gpu_arena {
    struct gpu_memory **chunks;
    uint64_t *sizes;
    uint32_t count;
    uint32_t memory_class; /* 0: its owner has it counted */
    uint64_t limit;        /* of one chunk */
};

/* Returns the bytes that an allocation occupies in its chunk. */
uint64_t gpu_place_bytes(uint64_t bytes);
/* Bytes that a place can have at most: those over the limit of a chunk get one of their own. */
uint64_t gpu_place_most(const struct gpu_limits *limits);
/* Bytes that one chunk of several places can hold at most. */
uint64_t gpu_arena_limit(const struct gpu_limits *limits);
/* An arena for up to `items` places; then a place for each; then the memories. */
int32_t gpu_arena_init(struct gpu_device_state *gpu, struct gpu_arena *arena, uint32_t memory_class, uint64_t items,
                       struct accel_error *error);
struct gpu_place gpu_arena_place(struct gpu_arena *arena, uint64_t bytes);
int32_t gpu_arena_fill(struct gpu_device_state *gpu, struct gpu_arena *arena, struct accel_error *error);
void gpu_arena_free(struct gpu_device_state *gpu, struct gpu_arena *arena);

/* ---- transfer.c ---- */

/* Bytes of the host to memory; returns when they are there. */
int32_t gpu_transfer_write(struct gpu_device_state *gpu, struct gpu_memory *memory, uint64_t offset, const void *bytes,
                           uint64_t count, struct accel_error *error);
/* Zeros. Offset and count are multiples of 4. */
int32_t gpu_transfer_clear(struct gpu_device_state *gpu, struct gpu_memory *memory, uint64_t offset, uint64_t count,
                           struct accel_error *error);
/* Host memory that a transfer comes from; the caller's for as long as he loads. */
struct gpu_stage {
    struct gpu_memory *memory;
    char *address;
    uint64_t bytes;
};

int32_t gpu_stage_make(struct gpu_device_state *gpu, uint64_t bytes, struct gpu_stage *out_stage,
                       struct accel_error *error);
void gpu_stage_free(struct gpu_device_state *gpu, struct gpu_stage *stage);
/* Runs operations and waits for them. */
int32_t gpu_transfer_run(struct gpu_device_state *gpu, const struct gpu_operation *operations, uint32_t count,
                         struct accel_error *error);

/* ---- pipeline.c ---- */

/* The source of that name that the device can run, or NULL. */
const struct gpu_source *gpu_source_find(const struct gpu_device_state *gpu, const char *name);
struct gpu_module;

/* The entry of a key, held by the module from now on; its pipeline may have to be made. */
int32_t gpu_pipeline_hold(struct gpu_module *module, const struct gpu_key *key, struct gpu_compiled **out_compiled,
                          struct accel_error *error);
/* The pipeline of a key, made now where it is not there. */
int32_t gpu_pipeline_get(struct gpu_module *module, const struct gpu_key *key, struct gpu_pipeline **out_pipeline,
                         struct accel_error *error);
/* Makes all that is held and not made, on the threads of the task. */
int32_t gpu_pipeline_compile(struct gpu_module *module, const struct accel_task *task, struct accel_error *error);
/* Writes the cache where pipelines were made since the last time. */
void gpu_pipeline_store(struct gpu_device_state *gpu);
/* Lets go of all that a module holds. */
void gpu_pipeline_drop(struct gpu_module *module);

/* ---- shape.c ---- */

/* How a weight is stored on the device. `planes` is 0 where it cannot be. */
struct gpu_storage {
    const struct gpu_layout *layout; /* NULL: as in the file, rows padded to 4 bytes */
    uint64_t rows;
    uint64_t width;
    uint64_t part_rows; /* such that every plane of a part fits into a binding and a chunk */
    uint64_t pitch[GPU_PLANES];
    uint32_t type;
    uint32_t planes;
    uint32_t parts;
    uint32_t tile;
};

void gpu_storage_of(const struct gpu_limits *limits, uint32_t type, uint32_t rank, uint64_t rows, uint64_t width,
                    struct gpu_storage *out_storage);
uint64_t gpu_storage_rows(const struct gpu_storage *storage, uint32_t part);
/* Bytes of a plane of a part, the last tile filled up. */
uint64_t gpu_storage_bytes(const struct gpu_storage *storage, uint32_t part, uint32_t plane);
/* Bytes of all planes and parts as an arena places them. */
uint64_t gpu_storage_total(const struct gpu_storage *storage);
/* Bytes of a slot of a part of a state. */
uint64_t gpu_state_pitch(uint32_t type, uint64_t width);
/* Extents of a value; `most`: those are the highest. */
void gpu_tensor_measure(const struct gpu_limits *limits, struct gpu_tensor *tensor, const struct accel_graph *graph,
                        uint32_t value, const uint64_t *symbols, uint32_t most);
/* Bytes of a value that is no weight. */
uint64_t gpu_tensor_bytes(const struct gpu_tensor *tensor);
/* Bytes of a plane of a part, the last tile filled up. */
uint64_t gpu_part_bytes(const struct gpu_tensor *tensor, uint32_t part, uint32_t plane);

/* ---- lower.c ---- */

struct gpu_program {
    const struct accel_graph *graph;
    const struct gpu_row **rows; /* per node; NULL: an alias, nothing to run */
    uint32_t *roots;             /* per value: the value that owns its storage */
    struct gpu_place *constants; /* per value: location of a constant */
};

/* Per-launch data of a set beside the dispatch: needed for barriers and for re-recording. */
struct gpu_use {
    const struct gpu_source *source;
    uint32_t access; /* two bits for each binding */
    uint32_t node;
};

#define GPU_EMIT_CHECK 1u  /* check and count only */
#define GPU_EMIT_WANT 2u   /* and put the pipelines on the list */
#define GPU_EMIT_BIND 3u   /* fill dispatches: pipelines, ranges, words, groups */
#define GPU_EMIT_RECORD 4u /* only words and groups change */

struct gpu_set;

struct gpu_emitter {
    struct gpu_device_state *gpu;
    struct gpu_module *module; /* WANT, BIND */
    const struct accel_graph *graph;
    struct gpu_set *set; /* BIND, RECORD */
    struct gpu_dispatch *dispatches;
    struct gpu_use *uses;
    uint32_t mode; /* GPU_EMIT_... */
    uint32_t node;
    uint32_t count; /* launches so far */
    uint32_t capacity;
    int32_t code; /* the first failure */
    uint32_t zero;
    struct accel_error *error;
};

/* A node as its row sees it, without scratch. */
struct gpu_call gpu_call_of(const struct gpu_device_state *gpu, const struct gpu_program *program,
                            const struct gpu_tensor *tensors, uint32_t n);
/* Returns the scratch bytes of a node, a multiple of 4; 0 if it needs none or runs nothing. */
uint64_t gpu_scratch_bytes(const struct gpu_call *call);
/* Emits the launches of node `node` with the tensors of a shape plan. */
void gpu_lower_node(struct gpu_emitter *emitter, const struct gpu_program *program, const struct gpu_tensor *tensors,
                    const struct gpu_tensor *scratches, uint32_t node);
/* Sets a barrier before each launch that conflicts (read/write or write/write) with a launch since the last barrier. */
void gpu_lower_barriers(struct gpu_dispatch *dispatches, const struct gpu_use *uses, uint32_t count);

/* ---- module.c ---- */

struct gpu_module {
    struct accel_driver_module base;
    struct gpu_device_state *gpu;
    struct gpu_program *programs;
    struct gpu_hold *holds; /* under gpu->lock, since sets may add to it */
    uint32_t program_count;
    uint32_t zero;
    struct gpu_arena constants;
};

SDK_SLOT(device, compile) gpu_module_compile;
SDK_SLOT(device, load) gpu_module_load;
/* Bytes of the lists of a program of this graph. */
uint64_t gpu_program_bytes(const struct accel_graph *graph);
/* Lowers a program for these symbols: counts its launches, and in mode GPU_EMIT_WANT has the module hold their
 * pipelines. *out_scratch: bytes of its intermediates and work space. */
int32_t gpu_program_walk(struct gpu_module *module, const struct gpu_program *program, const uint64_t *symbols,
                         uint32_t mode, uint64_t *out_scratch, uint32_t *out_launches, struct accel_error *error);
/* A module with a row for each node, and nothing on the device yet. */
int32_t gpu_module_create(struct gpu_device_state *gpu, const struct accel_graph *const *graphs, uint32_t graph_count,
                          struct gpu_module **out_module, struct accel_error *error);

/* ---- claim.c, estimate.c ---- */

/* Size of the text of gpu_row_title. */
#define GPU_TITLE 64u
/* Returns the name of a row for a node, with the types that it reads: "matmul q4_0 x f32". May return `text`. */
const char *gpu_row_title(const struct gpu_row *row, const struct accel_graph *graph, uint32_t node,
                          char text[GPU_TITLE]);

/* Returns the first row that accepts the node, or NULL with a reason. */
const struct gpu_row *gpu_select_row(const struct gpu_device_state *gpu, const struct accel_graph *graph, uint32_t node,
                                     const char **out_reason);
SDK_SLOT(device, claim) gpu_claim;
SDK_SLOT(device, estimate) gpu_estimate;

/* ---- set.c ---- */

/* Extents of all values and scratch offsets of intermediates for one tuple of symbols. Computed without device memory.
 */
struct gpu_shape_plan {
    struct gpu_tensor *tensors;   /* per value */
    struct gpu_tensor *scratches; /* per node; no dims: needs none */
    struct sdk_block *blocks;     /* value v at v, scratch of node n at value_count + n, until they are planned */
    uint64_t *offsets;            /* the same, in scratch; after planning */
    uint64_t scratch_bytes;
    uint32_t launches;
    uint32_t zero;
};

/* Location of a value: a memory and an offset, or a weight of a container. */
struct gpu_location {
    struct gpu_memory *memory;
    uint64_t offset;
    const struct gpu_container *container;
    uint32_t weight; /* in the container */
    uint32_t zero;
};

/* A recording for one tuple of symbols. */
struct gpu_recording {
    struct gpu_list *list;
    struct gpu_dispatch *dispatches;
    uint64_t *symbols;
    struct gpu_timeline *timeline; /* queue of its last submit */
    uint64_t value;                /* and its value; 0: none */
};

#define GPU_RECORDINGS 2u

struct gpu_set {
    struct accel_driver_set base;
    struct gpu_module *module;
    const struct gpu_program *program;
    struct gpu_shape_plan plan;
    struct gpu_location *locations; /* per value, then per node for its scratch */
    struct gpu_use *uses;           /* per launch; the same for all recordings */
    struct gpu_recording recordings[GPU_RECORDINGS];
    uint32_t recording_count;
    uint32_t launch_count;
};

/* Bytes of the lists of a shape plan of a graph. */
uint64_t gpu_shape_plan_bytes(const struct accel_graph *graph);
/* Measures values and plans scratch in caller memory of gpu_shape_plan_bytes bytes. */
void gpu_shape_plan_make(const struct gpu_device_state *gpu, const struct gpu_program *program, const uint64_t *symbols,
                         void *memory, struct gpu_shape_plan *out_plan);
SDK_SLOT(module, set_create) gpu_set_create;
/* The recording for these symbols, or ACCEL_E_AGAIN where all are in flight with others. */
int32_t gpu_set_recording(struct gpu_set *set, const uint64_t *symbols, struct gpu_recording **out_recording,
                          struct accel_error *error);
/* Returns the bytes of a set's bookkeeping for `launches` launches. */
uint64_t gpu_set_bytes(const struct accel_graph *graph, uint32_t launches, uint32_t recordings);

/* ---- weights.c, state.c, buffer.c ---- */

/* A weight of a container. */
struct gpu_weight {
    char *key;
    uint64_t places; /* first one: [part][plane] */
    struct gpu_storage storage;
};

struct gpu_container {
    struct accel_driver_weights base;
    struct gpu_device_state *gpu;
    struct gpu_weight *weights; /* sorted by key */
    uint32_t count;
    struct gpu_place *places;
    struct gpu_arena arena;
};

SDK_SLOT(device, weights_create) gpu_weights_create;
/* The index of a weight, or -1. */
int64_t gpu_weights_find(const struct gpu_container *container, const char *key);

struct gpu_state_part {
    struct gpu_place place;
    uint64_t pitch;
};

struct gpu_state {
    struct accel_driver_state base;
    struct gpu_device_state *gpu;
    uint64_t slots;
    uint32_t part_count;
    uint32_t zero;
    struct gpu_state_part *parts;
    struct gpu_arena arena;
    struct gpu_memory *bounce; /* for copies that overlap themselves */
    uint64_t bounce_bytes;
    uint64_t counted; /* bytes of the parts, class STATE */
    uint64_t padding; /* between them, class PROGRAM */
};

SDK_SLOT(device, state_create) gpu_state_create;

struct gpu_buffer {
    struct accel_driver_buffer base;
    struct gpu_device_state *gpu;
    struct gpu_memory *memory;
    uint64_t bytes;
    uint32_t memory_class;
    uint32_t zero;
};

SDK_SLOT(device, buffer_create) gpu_buffer_create;

/* ---- queue.c ---- */

struct gpu_timeline;
/* Host memory of a queue. */
uint64_t gpu_queue_bytes(const struct gpu_limits *limits);
SDK_SLOT(device, queue_create) gpu_queue_create;
/* Returns whether a value of a queue has completed or failed. */
bool gpu_timeline_is_over(struct gpu_timeline *timeline, uint64_t value);

#endif
