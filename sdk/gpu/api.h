/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a compute API (OpenCL, Vulkan, and others later) has to offer to the host room of drivers whose devices run
 * kernels: memory, pipelines, lists of dispatches, and a queue with a counter. A plugin fills one struct gpu_api; all
 * else (graphs, lowering, plans of memory, weights, states, steps, failure) is done once in this room.
 *
 * Contract of every slot: ACCEL_OK or a negative code with its text in `error` (sdk_error), out handles NULL on
 * failure. The room checks arguments; an implementation trusts them. Slots of one device are called from any thread at
 * the same time, but those of one list and of one queue by one thread at a time. `free` slots never fail, get no NULL,
 * and come when nothing of the thing is in flight. Nothing is allocated for the caller by host->allocate unless said;
 * an implementation takes its handles from there itself, so that they are counted.
 *
 * ## The model of a kernel
 * Workgroups have one dimension of `group` items; the grid has up to three. A kernel sees
 *  - storage buffers 0 .. n-1: arrays of 32-bit words. In Vulkan set 0, binding i; in OpenCL argument i, `global uint
 * *`. Only 4-byte alignment is promised for where a value begins.
 *  - one block of at most GPU_WORDS 32-bit words: in Vulkan push constants from byte 0, in OpenCL argument n, one
 * struct by value. Words 0 .. n-1 are the places, in words, at which the value of buffer i begins in the buffer as it
 * is bound (the room computes them, see gpu_limits.alignment); the parameters of the kernel follow.
 *  - constants: 32-bit words fixed when the pipeline is made. In Vulkan specialization constants with their place in
 *    the source's list as id, in OpenCL -DNAME=value. Constant 0 is always GROUP, the items of a workgroup.
 * The entry is `main` in SPIR-V and `gpu_main` in OpenCL C. There is nothing else: no textures, no uniform buffers.
 *
 * ## Symbols
 * A kernel reads no symbols: what depends on the sizes of a step are parameter words and group counts. A list is
 * recorded for one set of symbol values; the room keeps the recording as long as steps repeat these (decoding does),
 * and has it recorded again with new words and groups where they change (list_record: no new objects, the same
 * pipelines and bindings). Lengths of caches and positions are inputs, read from buffers.
 */
#ifndef SDK_GPU_API_H
#define SDK_GPU_API_H

#include <accel/driver.h>

/** Most storage buffers of a kernel. Vulkan promises no more than 4 in a stage; all desktop and mobile devices known to
 *  us have at least 8 (a device with fewer is refused by its driver). */
#define GPU_BINDINGS 8u
/** Words of the block: 128 bytes, the size of push constants that Vulkan promises. */
#define GPU_WORDS 32u
/** Most constants of a pipeline. */
#define GPU_CONSTANTS 12u
/** Most elements of a product of matrices that a subgroup holds. */
#define GPU_MATRIX_MOST 256u

/* Features of a device. A kernel text sees each as a macro that is 1 or not defined. */
#define GPU_FEATURE_F16 1u        /**< HAS_F16: arithmetic in halves */
#define GPU_FEATURE_STORAGE16 2u  /**< HAS_STORAGE16: buffers of 16-bit elements */
#define GPU_FEATURE_STORAGE8 4u   /**< HAS_STORAGE8: buffers of 8-bit elements */
#define GPU_FEATURE_INT8 8u       /**< HAS_INT8: arithmetic in 8 bits */
#define GPU_FEATURE_INT16 16u     /**< HAS_INT16: arithmetic in 16 bits */
#define GPU_FEATURE_DOT8 32u      /**< HAS_DOT8: dot of four packed signed bytes, fast or not */
#define GPU_FEATURE_DOT8_FAST 64u /**< HAS_DOT8_FAST: and in one instruction */
#define GPU_FEATURE_SUBGROUP 128u /**< HAS_SUBGROUP: sum, maximum and broadcast over a subgroup, full subgroups */
#define GPU_FEATURE_SHUFFLE 256u  /**< HAS_SHUFFLE: shuffle by xor in a subgroup */
#define GPU_FEATURE_COOPMAT 512u  /**< HAS_COOPMAT: matrices of halves that a subgroup multiplies, F32 sums */
#define GPU_FEATURE_SOFTWARE                                                                                           \
    1024u /**< the kernels run on a CPU: few threads, no need to coalesce; HAS_SOFTWARE in OpenCL */

struct gpu_runtime; /**< the loaded library of the API, one for each instance; the implementation's own */
struct gpu_device;  /**< the implementation's own, like all below */
struct gpu_memory;
struct gpu_pipeline;
struct gpu_list;
struct gpu_queue;

/* How kernels are cut, where not by kind of device: the option `arrangement`, so that what GPUs run is tested without
 * one. */
#define GPU_ARRANGE_AUTO 0u
#define GPU_ARRANGE_SOFTWARE 1u
#define GPU_ARRANGE_SMALL 2u /**< as on GPUs of small workgroups */
#define GPU_ARRANGE_GPU 3u

/* What the option `tuning` changes of an arrangement. */
enum {
    GPU_TUNE_SLICES,        /**< items that share a row of a matrix for few rows of x */
    GPU_TUNE_ROWS,          /**< rows of x that it takes at a time */
    GPU_TUNE_ROW_GROUP,     /**< items that share a row: norms, softmax, arg-max */
    GPU_TUNE_ELEMENT_GROUP, /**< items of a workgroup of element-wise kernels */
    GPU_TUNE_ATTENTION,     /**< items of a workgroup of attention */
    GPU_TUNE_PARTS,         /**< parts of the keys of few tokens */
    GPU_TUNE_TILE_FROM,     /**< rows of x from which on matrices go through local memory */
    GPU_TUNINGS
};

/** What a device can do. Filled by `open`, and the same before opening as far as `enumerate` tells facts. */
struct gpu_limits {
    uint64_t binding_bytes; /**< largest range of one binding */
    uint64_t memory_bytes;  /**< largest single memory */
    uint64_t local_bytes;   /**< of a workgroup */
    uint32_t alignment;     /**< of the offset of a binding, a power of two of at least 4; 0: memory is bound from its
                                 beginning only (OpenCL), and word offsets reach everything */
    uint32_t group_items;   /**< most items of a workgroup */
    uint32_t groups[3];     /**< most workgroups of a dispatch */
    uint32_t subgroup;      /**< items of a subgroup that kernels run with; 0 unknown or changing */
    uint32_t subgroups[2];  /**< least and most that a pipeline may ask for; 0: it cannot */
    uint32_t features;      /**< GPU_FEATURE_... */
    uint32_t units;         /**< compute units, 0 unknown */
    uint32_t vendor;        /**< PCI vendor id of the maker, 0 unknown: for tables of tuning */
    uint32_t in_flight;     /**< submits of one queue in flight */
    uint32_t reads;         /**< 1: GPU_READ copies to any host memory; 0: the room stages reads */
    uint32_t one_compiler;  /**< 1: pipelines are made by one thread at a time */
    uint32_t host_staging;  /**< 1: UPLOAD and DOWNLOAD are memory of accel_host.allocate (class PROGRAM), counted
                                 there; 0: of the API, and the room has it counted */
    uint32_t matrix[3];     /**< with COOPMAT: rows, columns and inner extent of a product, each a divisor of 32
                                 that is at least 8 for the last, GPU_MATRIX_MOST */
    uint32_t arrangement;   /**< GPU_ARRANGE_..., set by the room */
    uint32_t tuning[GPU_TUNINGS]; /**< 0: as arranged; set by gpu_limits_choose */
};

/* Where memory lies. */
#define GPU_MEMORY_DEVICE 1u   /**< for kernels and copies */
#define GPU_MEMORY_UPLOAD 2u   /**< the host writes (mapped), copies read */
#define GPU_MEMORY_DOWNLOAD 3u /**< copies write, the host reads (mapped, cached) */

/** A kernel's text for one API: a row of a table that the build makes of sdk/gpu/kernels (embed.sh). Const. */
struct gpu_source {
    const char *name;      /**< unique: "rms_norm", "matmul_vec_q4_0" */
    const char *constants; /**< names, separated by spaces, the first one GROUP */
    const char *defines;   /**< OpenCL: options beside the constants, "-DTYPE=2"; else "" */
    const void *code;      /**< OpenCL: text that ends in zero; Vulkan: words of SPIR-V */
    uint64_t bytes;
    uint32_t features; /**< that this code needs. Rows of one name stand one after the other, most wanted first; the
                            first whose features the device has is taken */
    uint32_t zero;
};

/** What a pipeline is made of. Pipelines with equal keys are made once by the room. */
struct gpu_key {
    const struct gpu_source *source;
    uint32_t constants[GPU_CONSTANTS]; /**< values in the order of source->constants; [0] is the items of a workgroup */
    uint32_t constant_count;
    uint32_t bindings; /**< storage buffers */
    uint32_t words;    /**< of the block, offsets included */
    uint32_t subgroup; /**< size of a subgroup that the kernel must have, 0 any */
};

/** A range of memory. `offset` is a multiple of gpu_limits.alignment, or 0 where that is 0. */
struct gpu_range {
    struct gpu_memory *memory;
    uint64_t offset;
    uint64_t bytes;
};

/** One launch of a list. */
struct gpu_dispatch {
    const struct gpu_pipeline *pipeline;
    struct gpu_range ranges[GPU_BINDINGS];
    uint32_t words[GPU_WORDS];
    uint32_t range_count;
    uint32_t word_count;
    uint32_t groups[3]; /**< any 0: the launch is left out of this recording */
    uint32_t barrier;   /**< 1: all launches before must be done and visible first; 0: may run beside them */
};

/* Operations of a submit. All of a submit run one after the other, each sees what those before it wrote. */
#define GPU_RUN 1u  /**< the launches of `list` */
#define GPU_COPY 2u /**< `bytes` of source to target; never overlapping */
#define GPU_FILL 3u /**< `bytes` of target with the byte `fill`; offset and bytes are multiples of 4 */
#define GPU_READ 4u /**< `bytes` of source to `host`; only where gpu_limits.reads */

struct gpu_operation {
    uint32_t kind; /**< GPU_... */
    uint32_t fill;
    struct gpu_list *list;
    struct gpu_memory *source;
    struct gpu_memory *target;
    uint64_t source_offset; /**< any byte */
    uint64_t target_offset;
    uint64_t bytes;
    void *host;
};

/** A value of a queue's counter to wait for: of the same device, already submitted, and not failed. */
struct gpu_point {
    struct gpu_queue *queue;
    uint64_t value;
};

/** A compute API. Const, for the life of the process. */
struct gpu_api {
    const char *name; /**< of the driver: "opencl" */
    const struct gpu_source *sources;
    uint32_t source_count;
    uint32_t zero;
    uint64_t cache_bytes; /**< most host memory (class HOST) that cache_write takes at once, and again what cache_read
                               keeps beyond the bytes that it is given; more is left out of the cache */
    const char *slack; /**< device memory that is held beyond what memory_create was asked for and that is not counted,
                            with its bound, in words for plans; NULL: none */

    /* ---- instance and devices ---- */

    /** Loads the library of the API. ACCEL_E_NOT_FOUND with a remedy where there is none. */
    int32_t (*load)(const struct accel_host *host, struct gpu_runtime **out_runtime, struct accel_error *error);
    void (*unload)(struct gpu_runtime *runtime);
    /** As accel_instance_table.enumerate. Facts hold limits that gpu_facts_limits makes of gpu_limits. */
    int32_t (*enumerate)(struct gpu_runtime *runtime, const struct accel_hardware *const *hardware,
                         uint32_t hardware_count, const struct accel_device_sink *sink, struct accel_error *error);
    /** Opens a device and says its limits. Settings are checked against the driver's option table. */
    int32_t (*open)(struct gpu_runtime *runtime, const char *id, const struct accel_setting *settings,
                    uint32_t setting_count, struct gpu_device **out_device, struct gpu_limits *out_limits,
                    struct accel_error *error);
    /** All memories, pipelines, lists and queues are gone. Works on a lost device. */
    void (*close)(struct gpu_device *device);
    /** 16 bytes that differ whenever compiled code of this device would be stale. */
    void (*fingerprint)(const struct gpu_device *device, uint8_t out_fingerprint[16]);
    /** Optional (unknown): bytes of the device's memory now. */
    int32_t (*memory_now)(struct gpu_device *device, struct accel_memory_now *out_memory, struct accel_error *error);

    /* ---- memory ---- */

    /** Memory of a kind (GPU_MEMORY_...), at least 4 bytes, a multiple of 4; its contents are undefined. ACCEL_E_MEMORY
     *  when there is no more: found here and not at first use, as far as the API allows. */
    int32_t (*memory_create)(struct gpu_device *device, uint64_t bytes, uint32_t kind, struct gpu_memory **out_memory,
                             struct accel_error *error);
    void (*memory_free)(struct gpu_device *device, struct gpu_memory *memory);
    /** The host's address of all of a memory, valid until it is freed, coherent; NULL where the host cannot see it.
     *  Never NULL for UPLOAD and DOWNLOAD. For DEVICE an address means that the host may use the bytes whenever no
     *  submit that uses them is in flight. */
    void *(*memory_address)(struct gpu_memory *memory);

    /* ---- pipelines ---- */

    /** Compiles. Called from several threads at once. ACCEL_E_REFUSED with the compiler's first lines where the device
     *  does not take the kernel. */
    int32_t (*pipeline_create)(struct gpu_device *device, const struct gpu_key *key, struct gpu_pipeline **out_pipeline,
                               struct accel_error *error);
    void (*pipeline_free)(struct gpu_device *device, struct gpu_pipeline *pipeline);
    /** Optional (nobody knows): 1 where what cache_read took makes this pipeline without a compiler. */
    uint32_t (*pipeline_kept)(struct gpu_device *device, const struct gpu_key *key);
    /** Optional (nothing is cached): writes what makes the pipelines made so far quick to make again, and what `others`
     *  holds beside that, `count` bytes of an earlier cache_write (0: none). The device keeps nothing of these; where
     *  they are no use, they are left out. */
    int32_t (*cache_write)(struct gpu_device *device, const void *others, uint64_t count,
                           const struct accel_blob_writer *writer, struct accel_error *error);
    /** Optional, with cache_write: takes bytes that cache_write wrote on a device of the same fingerprint. They may
     *  still be wrong: checks them, ACCEL_E_MISS when they are no use. Copies what it keeps. */
    int32_t (*cache_read)(struct gpu_device *device, const void *bytes, uint64_t count, struct accel_error *error);

    /* ---- lists ---- */

    /** Makes a list of `count` launches and records them: everything that the list will need is found here. The array
     *  is the caller's, and stays valid and unmoved until list_free. */
    int32_t (*list_create)(struct gpu_device *device, const struct gpu_dispatch *dispatches, uint32_t count,
                           struct gpu_list **out_list, struct accel_error *error);
    /** Records again, after the caller changed words, groups and barriers of the array; pipelines and ranges are the
     *  same. No submit of this list is in flight. */
    int32_t (*list_record)(struct gpu_list *list, struct accel_error *error);
    void (*list_free)(struct gpu_list *list);

    /* ---- queues ---- */

    int32_t (*queue_create)(struct gpu_device *device, struct gpu_queue **out_queue, struct accel_error *error);
    void (*queue_free)(struct gpu_queue *queue);
    /** Starts operations after everything submitted to this queue before and after `waits`; the counter becomes `value`
     *  (greater than before) when they are done. Never blocks, and the device begins without another call. The same
     *  list may be in flight several times. At most gpu_limits.in_flight submits are in flight; one has at most
     *  GPU_OPERATIONS operations and GPU_WAITS waits. Failure: nothing is known of the operations; the room fails the
     *  value and submits no more until the queue is idle (gpu_api.wait of what was submitted before). */
    int32_t (*submit)(struct gpu_queue *queue, const struct gpu_operation *operations, uint32_t count,
                      const struct gpu_point *waits, uint32_t wait_count, uint64_t value, struct accel_error *error);
    /** The counter: highest value that is done. From any thread. A failure of the device or of an operation is the
     *  result (ACCEL_E_DEVICE_LOST, ACCEL_E_MEMORY ...), with the counter as far as it came. */
    int32_t (*completed)(struct gpu_queue *queue, uint64_t *out_value, struct accel_error *error);
    /** Waits until the counter has reached `value`, or the deadline on the host's clock has passed (ACCEL_E_TIMEOUT).
     *  Failure as `completed`; with UINT64_MAX as deadline it returns only when nothing up to `value` is running. */
    int32_t (*wait)(struct gpu_queue *queue, uint64_t value, uint64_t deadline, struct accel_error *error);
    /** After a failure, when nothing is in flight: makes the queue fit for new submits, or ACCEL_E_DEVICE_LOST. */
    int32_t (*reset)(struct gpu_queue *queue, struct accel_error *error);
};

/** Most host memory (class PROGRAM) that a queue of the API takes: what plans count for it. */
#define GPU_API_QUEUE_BYTES (96u << 10)

/** Most operations of one submit (a state change is one for each part and piece). */
#define GPU_OPERATIONS 1024u

/** Most waits of one submit. */
#define GPU_WAITS 64u

#endif
