/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Interface that a compute API (OpenCL, Vulkan) implements for the GPU library: memory, pipelines, lists of dispatches,
 * and a queue with a counter. A plugin fills one struct gpu_api; the library implements the rest of the driver ABI once
 * (graphs, lowering, memory plans, weights, states, steps, failure).
 *
 * Contract of every slot: it returns ACCEL_OK, or a negative code with a text in `error` (sdk_error); out handles are
 * NULL on failure. The library validates arguments before the call. Slots of one device are called concurrently from
 * any thread, slots of one list or queue by one thread at a time. `free` slots never fail, never get NULL, and are
 * called when the object is not in flight. An implementation allocates its handles with host->allocate, so that they
 * are counted.
 *
 * ## The model of a kernel
 * Workgroups have one dimension of `group` items; the grid has up to three. A kernel sees
 *  - storage buffers 0 .. n-1: arrays of 32-bit words. In Vulkan set 0, binding i; in OpenCL argument i, `global uint
 * *`. Values begin at multiples of 4 bytes; no larger alignment is promised.
 *  - one block of at most GPU_WORDS 32-bit words: in Vulkan push constants from byte 0, in OpenCL argument n, one
 * struct by value. Words 0 .. n-1 are the offsets, in words, of the value of buffer i in the buffer as it is bound (the
 * library computes them, see gpu_limits.alignment); the parameters of the kernel follow.
 *  - constants: 32-bit words fixed when the pipeline is created. In Vulkan specialization constants, whose ids are
 * their indices in gpu_source.constants; in OpenCL -DNAME=value. Constant 0 is always GROUP, the items of a workgroup.
 * The entry point is `main` in SPIR-V and `gpu_main` in OpenCL C. Kernels use no textures and no uniform buffers.
 *
 * ## Symbols
 * A kernel reads no symbols: parameter words and group counts carry the sizes of a step. A list is recorded for one
 * tuple of symbols; the library reuses the recording while steps repeat them (as decoding does), and re-records it with
 * new words and groups when they change (list_record: no new objects, the same pipelines and bindings). Lengths of
 * caches and positions are inputs, read from buffers.
 */
#ifndef SDK_GPU_API_H
#define SDK_GPU_API_H

#include <accel/driver.h>

/** Storage buffers of a kernel that every device has. Vulkan guarantees only 4 per stage, but desktop and mobile
 * devices have at least 8; the driver refuses a device with fewer. */
#define GPU_BINDINGS_LEAST 8u
/** Maximum storage buffers of a kernel, where gpu_limits.bindings allows them. */
#define GPU_BINDINGS 10u
/** Words of the parameter block: 128 bytes, the push constants that Vulkan guarantees. */
#define GPU_WORDS 32u
/** Maximum constants of a pipeline. */
#define GPU_CONSTANTS 12u
/** Maximum elements of a cooperative matrix product. */
#define GPU_MATRIX_MOST 256u

/* Features of a device. A kernel text sees each as a macro that is 1 or not defined. */
#define GPU_FEATURE_F16 1u        /**< HAS_F16: arithmetic in halves */
#define GPU_FEATURE_STORAGE16 2u  /**< HAS_STORAGE16: buffers of 16-bit elements */
#define GPU_FEATURE_STORAGE8 4u   /**< HAS_STORAGE8: buffers of 8-bit elements */
#define GPU_FEATURE_INT8 8u       /**< HAS_INT8: arithmetic in 8 bits */
#define GPU_FEATURE_INT16 16u     /**< HAS_INT16: arithmetic in 16 bits */
#define GPU_FEATURE_DOT8 32u      /**< HAS_DOT8: dot of four packed signed bytes, fast or not */
#define GPU_FEATURE_DOT8_FAST 64u /**< HAS_DOT8_FAST: dot of four packed signed bytes in one instruction */
#define GPU_FEATURE_SUBGROUP 128u /**< HAS_SUBGROUP: sum, maximum and broadcast over a subgroup, full subgroups */
#define GPU_FEATURE_SHUFFLE 256u  /**< HAS_SHUFFLE: shuffle by xor in a subgroup */
#define GPU_FEATURE_COOPMAT 512u  /**< HAS_COOPMAT: matrices of halves that a subgroup multiplies, F32 sums */
#define GPU_FEATURE_SOFTWARE                                                                                           \
    1024u /**< the kernels run on a CPU: few threads, no need to coalesce; HAS_SOFTWARE in OpenCL */

/* Handles that the implementation defines. */
struct gpu_runtime; /**< the loaded library of the API, one per driver instance */
struct gpu_device;
struct gpu_memory;
struct gpu_pipeline;
struct gpu_list;
struct gpu_queue;

/* Values of the option `arrangement`, which selects the tuning of kernels instead of the kind of device, so that the
 * GPU tuning is tested without a GPU. */
#define GPU_ARRANGE_AUTO 0u
#define GPU_ARRANGE_SOFTWARE 1u
#define GPU_ARRANGE_SMALL 2u /**< as on GPUs of small workgroups */
#define GPU_ARRANGE_GPU 3u

/* Parameters of an arrangement that the option `tuning` can override. */
enum {
    GPU_TUNE_SLICES,        /**< items that share a row of a matrix in GEMV */
    GPU_TUNE_ROWS,          /**< rows of x per launch */
    GPU_TUNE_ROW_GROUP,     /**< items that share a row: norms, softmax, arg-max */
    GPU_TUNE_ELEMENT_GROUP, /**< items of a workgroup of element-wise kernels */
    GPU_TUNE_ATTENTION,     /**< items of a workgroup of attention */
    GPU_TUNE_PARTS,         /**< parts into which attention splits the keys if a step has few tokens */
    GPU_TUNE_TILE_FROM,     /**< rows of x from which on a matmul is tiled in local memory */
    GPU_TUNINGS
};

/** Limits of a device. Filled by `open`; `enumerate` reports the same values. */
struct gpu_limits {
    uint64_t binding_bytes; /**< largest range of one binding */
    uint64_t memory_bytes;  /**< largest single memory */
    uint64_t local_bytes;   /**< of a workgroup */
    uint32_t alignment;     /**< of the offset of a binding, a power of two of at least 4; 0: memory is bound from its
                                 beginning only (OpenCL), and word offsets reach everything */
    uint32_t group_items;   /**< most items of a workgroup */
    uint32_t groups[3];     /**< most workgroups of a dispatch */
    uint32_t subgroup;      /**< items of a subgroup that kernels run with; 0 unknown or changing */
    uint32_t subgroups[2];  /**< smallest and largest size that a pipeline can require; 0: none */
    uint32_t features;      /**< GPU_FEATURE_... */
    uint32_t units;         /**< compute units, 0 unknown */
    uint32_t vendor;        /**< PCI vendor id, 0 unknown: for tables of tuning */
    uint32_t in_flight;     /**< submits of one queue in flight */
    uint32_t reads;         /**< 1: GPU_READ copies to any host memory; 0: the library stages reads */
    uint32_t one_compiler;  /**< 1: pipelines are made by one thread at a time */
    uint32_t host_staging;  /**< 1: UPLOAD and DOWNLOAD are memory of accel_host.allocate (class PROGRAM), counted
                                 there; 0: of the API, and the library accounts it */
    uint32_t matrix[3];     /**< with COOPMAT: rows, columns and inner extent of a product, each a divisor of 32
                                 that is at least 8 for the last, GPU_MATRIX_MOST */
    uint32_t bindings;      /**< most storage buffers of a kernel, at least GPU_BINDINGS_LEAST */
    uint32_t arrangement;   /**< GPU_ARRANGE_..., set by the library */
    uint32_t tuning[GPU_TUNINGS]; /**< 0: as arranged; set by gpu_limits_choose */
};

/* Kinds of memory. */
#define GPU_MEMORY_DEVICE 1u   /**< for kernels and copies */
#define GPU_MEMORY_UPLOAD 2u   /**< the host writes (mapped), copies read */
#define GPU_MEMORY_DOWNLOAD 3u /**< copies write, the host reads (mapped, cached) */

/** Source or code of a kernel for one API: a row of the constant table that the build generates from sdk/gpu/kernels
 * (embed.sh). */
struct gpu_source {
    const char *name;      /**< unique: "norm", "matmul_vec" */
    const char *constants; /**< names, separated by spaces, the first one GROUP */
    const char *defines;   /**< OpenCL: options beside the constants, "-DTYPE=2"; else "" */
    const void *code;      /**< OpenCL: text that ends in zero; Vulkan: words of SPIR-V */
    uint64_t bytes;
    uint32_t features; /**< features that this code requires. Variants of one name are consecutive, best first; the
                          first variant whose features the device has is used */
    uint32_t zero;
};

/** Identifies a pipeline. The library creates one pipeline per key. */
struct gpu_key {
    const struct gpu_source *source;
    uint32_t constants[GPU_CONSTANTS]; /**< values in the order of source->constants; [0] is the items of a workgroup */
    uint32_t constant_count;           /**< names in source->constants */
    uint32_t bindings;                 /**< storage buffers */
    uint32_t words;                    /**< of the block, offsets included */
    uint32_t subgroup;                 /**< size of a subgroup that the kernel must have, 0 any */
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
    uint32_t barrier;   /**< 1: waits until all earlier launches are done and visible; 0: may overlap them */
};

/* Operations of a submit. They run in order, and each sees the writes of those before it. */
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

/** A value of a queue's counter to wait for. The queue belongs to the same device; the value was submitted and has not
 * failed. */
struct gpu_point {
    struct gpu_queue *queue;
    uint64_t value;
};

/** A compute API: constants and slots that stay valid for the life of the process. */
struct gpu_api {
    const char *name; /**< of the driver: "opencl" */
    const struct gpu_source *sources;
    uint32_t source_count;
    uint32_t zero;
    uint64_t cache_bytes;  /**< bound of the host memory (class HOST) that cache_write allocates at once, and that
                                cache_read holds beyond its input; larger kernels are left out of the cache */
    uint64_t cache_header; /**< bytes that cache_write writes without any kernel; 0: none */
    uint64_t queue_bytes;  /**< host memory (class PROGRAM) of a queue */
    const char *slack;     /**< unaccounted device memory beyond the requests of memory_create, with its bound, as text
                                for plans; NULL: none */

    /* ---- instance and devices ---- */

    /** Loads the library of the API. ACCEL_E_NOT_FOUND with a remedy where there is none. */
    int32_t (*load)(const struct accel_host *host, struct gpu_runtime **out_runtime, struct accel_error *error);
    void (*unload)(struct gpu_runtime *runtime);
    /** As accel_instance_table.enumerate. Facts hold limits that gpu_facts_limits makes of gpu_limits. */
    int32_t (*enumerate)(struct gpu_runtime *runtime, const struct accel_hardware *const *hardware,
                         uint32_t hardware_count, const struct accel_device_sink *sink, struct accel_error *error);
    /** Opens a device and reports its limits. Settings are checked against the driver's option table. */
    int32_t (*open)(struct gpu_runtime *runtime, const char *id, const struct accel_setting *settings,
                    uint32_t setting_count, struct gpu_device **out_device, struct gpu_limits *out_limits,
                    struct accel_error *error);
    /** Closes a device, whose memories, pipelines, lists and queues have been freed. Works on a lost device. */
    void (*close)(struct gpu_device *device);
    /** Writes 16 bytes that change whenever cached pipelines of this device become invalid. */
    void (*fingerprint)(const struct gpu_device *device, uint8_t out_fingerprint[16]);
    /** Optional (NULL: unknown). Reports the device memory that is free and in use now. */
    int32_t (*memory_now)(struct gpu_device *device, struct accel_memory_now *out_memory, struct accel_error *error);

    /* ---- memory ---- */

    /** Allocates memory of a kind (GPU_MEMORY_...): at least 4 bytes, a multiple of 4, with undefined contents. Returns
     *  ACCEL_E_MEMORY if there is not enough, and does not defer this to the first use as far as the API allows. */
    int32_t (*memory_create)(struct gpu_device *device, uint64_t bytes, uint32_t kind, struct gpu_memory **out_memory,
                             struct accel_error *error);
    void (*memory_free)(struct gpu_device *device, struct gpu_memory *memory);
    /** Returns the coherent host address of a memory, valid until it is freed, or NULL if the host cannot map it. Never
     *  NULL for UPLOAD and DOWNLOAD. A DEVICE memory with an address may be accessed by the host while no submit that
     *  uses it is in flight. */
    void *(*memory_address)(struct gpu_memory *memory);

    /* ---- pipelines ---- */

    /** Compiles a pipeline. Called from several threads at once. Returns ACCEL_E_REFUSED with the compiler's first
     * lines if the device cannot run the kernel. */
    int32_t (*pipeline_create)(struct gpu_device *device, const struct gpu_key *key, struct gpu_pipeline **out_pipeline,
                               struct accel_error *error);
    void (*pipeline_free)(struct gpu_device *device, struct gpu_pipeline *pipeline);
    /** Optional (NULL: unknown). Returns 1 if the imported cache contains this pipeline, so that it is not compiled. */
    uint32_t (*pipeline_cached)(struct gpu_device *device, const struct gpu_key *key);
    /** Optional (NULL: no cache). Exports the compiled pipelines, and those of `others` (`count` bytes of an earlier
     *  cache_write; 0: none) that the device does not have. Entries of `others` that are invalid are dropped. */
    int32_t (*cache_write)(struct gpu_device *device, const void *others, uint64_t count,
                           const struct accel_blob_writer *writer, struct accel_error *error);
    /** Optional, with cache_write: imports bytes of a cache_write of a device with the same fingerprint, and copies
     *  them. Validates them, and returns ACCEL_E_MISS if they are unusable. */
    int32_t (*cache_read)(struct gpu_device *device, const void *bytes, uint64_t count, struct accel_error *error);

    /* ---- lists ---- */

    /** Creates a list of `count` launches and records them; allocates all that the list needs. The caller owns the
     * array and keeps it valid at its address until list_free. */
    int32_t (*list_create)(struct gpu_device *device, const struct gpu_dispatch *dispatches, uint32_t count,
                           struct gpu_list **out_list, struct accel_error *error);
    /** Records the list again after the caller changed words, groups or barriers of the array, but not pipelines or
     * ranges. No submit of this list is in flight. */
    int32_t (*list_record)(struct gpu_list *list, struct accel_error *error);
    void (*list_free)(struct gpu_list *list);

    /* ---- queues ---- */

    int32_t (*queue_create)(struct gpu_device *device, struct gpu_queue **out_queue, struct accel_error *error);
    void (*queue_free)(struct gpu_queue *queue);
    /** Starts operations after all earlier submits of this queue and after `waits`; the counter becomes `value`
     * (greater than before) when they are done. Never blocks, and the device starts without another call. One list may
     * be in flight several times. At most gpu_limits.in_flight submits are in flight; a submit has at most
     * GPU_OPERATIONS operations and GPU_WAITS waits. After a failure the state of the operations is undefined; the
     * library fails the value and submits nothing until the queue is idle (gpu_api.wait for the last submitted value).
     */
    int32_t (*submit)(struct gpu_queue *queue, const struct gpu_operation *operations, uint32_t count,
                      const struct gpu_point *waits, uint32_t wait_count, uint64_t value, struct accel_error *error);
    /** Reads the counter: the highest value that is done. Any thread may call it. If the device or an operation failed,
     *  returns that error (ACCEL_E_DEVICE_LOST, ACCEL_E_MEMORY ...) and the last value that was done. */
    int32_t (*completed)(struct gpu_queue *queue, uint64_t *out_value, struct accel_error *error);
    /** Waits until the counter has reached `value`, or the deadline on the host's clock has passed (ACCEL_E_TIMEOUT).
     *  Fails like `completed`; with UINT64_MAX as deadline it returns only when nothing up to `value` is running. */
    int32_t (*wait)(struct gpu_queue *queue, uint64_t value, uint64_t deadline, struct accel_error *error);
    /** Makes a queue usable again after a failure, when nothing is in flight, or returns ACCEL_E_DEVICE_LOST. */
    int32_t (*reset)(struct gpu_queue *queue, struct accel_error *error);
};

/** Maximum operations of one submit. A state change needs one per part and contiguous range. */
#define GPU_OPERATIONS 1024u

/** Maximum waits of one submit. */
#define GPU_WAITS 64u

#endif
