/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The driver ABI, second part: claims, estimates, blobs, weights, modules. Included by accel/driver.h.
 */
#ifndef ACCEL_DRIVER_MODULE_H
#define ACCEL_DRIVER_MODULE_H

#include <accel/abi.h>
#include <accel/error.h>
#include <accel/graph.h>
#include <accel/host.h>

ACCEL_BEGIN_C

struct accel_driver_set;
struct accel_set_description;

/** Options of a compilation. Open. */
struct accel_compile_options {
    uint32_t size;
    uint32_t flags;          /**< ACCEL_COMPILE_... */
    const uint64_t *buckets; /**< values of the symbols to compile for: of graph 0, symbol 0 of every bucket, and so
                                  on: [bucket][symbol] for each graph in turn */
    const uint32_t *bucket_counts; /**< buckets of each graph; at least 1 (the highest values) */
    uint32_t threads;              /**< maximum thread count of the team for steps; 0: not known yet */
    uint32_t zero;
};

#define ACCEL_COMPILE_DETERMINISTIC                                                                                    \
    1u /**< flag: bitwise equal results in every run on this device, else fail with                                    \
            ACCEL_E_UNSUPPORTED */

/* Answers of `claim`. */
#define ACCEL_CLAIM_NATIVE 1u   /**< as the operator specifies */
#define ACCEL_CLAIM_EMULATED 2u /**< correct, by other means: slower, or more memory; `reason` explains */
#define ACCEL_CLAIM_LIKELY 3u   /**< probably supported; the compilation decides */
#define ACCEL_CLAIM_NO 4u       /**< not supported; `reason` explains */

/* Location of a weight during steps. */
#define ACCEL_RESIDENT 1u /**< in a container of weights, of the driver or the core */
#define ACCEL_MAPPED 2u   /**< in place: in the source's mapping, in the layout of the file format */
#define ACCEL_BAKED 3u    /**< in the compiled module */

/* Variant of a kernel, if settings choose between several. Programs that read a plan use this number, not the name of
 * the kernel, which is for display. */
#define ACCEL_VARIANT_PLAIN 0u   /**< the only variant */
#define ACCEL_VARIANT_TILED 1u   /**< attention that computes the scores block by block */
#define ACCEL_VARIANT_EAGER 2u   /**< attention that computes the whole matrix of scores */
#define ACCEL_VARIANT_OWN 0x100u /**< first number that a driver may define */

/** A driver's claim for one node. Closed. */
struct accel_claim {
    uint32_t graph;     /**< index in the list of `claim` */
    uint32_t node;      /**< index in the graph */
    uint32_t answer;    /**< ACCEL_CLAIM_... */
    uint32_t weights;   /**< ACCEL_RESIDENT, ACCEL_MAPPED, ACCEL_BAKED; 0: reads no weight */
    const char *kernel; /**< name of the kernel that would run, never NULL; empty with ACCEL_CLAIM_NO */
    const char *reason; /**< never NULL; empty with ACCEL_CLAIM_NATIVE */
    double tolerance;   /**< largest |error| to expect, relative to the largest element of the output */
    uint64_t alignment; /**< required of a mapped weight's address, in bytes, a power of two; 0: any */
    uint32_t variant;   /**< ACCEL_VARIANT_..., or a number of the driver's own from ACCEL_VARIANT_OWN on */
    uint32_t precision; /**< coarsest type of its arithmetic, as in accel_report; 0: not stated */
};

/** Receives claims. Open. Every node needs one; the last one for a node takes effect. */
struct accel_claim_sink {
    uint32_t size;
    uint32_t zero;
    /** Receives one claim, which is copied before the call returns. If it returns any code but ACCEL_OK, the driver's
     * `claim` returns that code. */
    int32_t(ACCEL_CALL *claim)(const struct accel_claim_sink *sink, const struct accel_claim *claim,
                               struct accel_error *error) ACCEL_NOEXCEPT;
};

/** Receives memory estimates. Open. */
struct accel_estimate_sink {
    uint32_t size;
    uint32_t zero;
    /** Adds bytes of a class (ACCEL_MEMORY_...) in a heap, from `lower` to `upper`; `formula` explains the number.
     * Several calls for one class add up. */
    int32_t(ACCEL_CALL *bytes)(const struct accel_estimate_sink *sink, uint32_t heap, uint32_t memory_class,
                               uint64_t lower, uint64_t upper, const char *formula,
                               struct accel_error *error) ACCEL_NOEXCEPT;
};

/** Source of the bytes of weights. Open. Thread-safe. Planes are those of the weight's format. */
struct accel_source {
    uint32_t size;
    uint32_t zero;
    /** Returns the mapped address of a plane, valid as long as the source. ACCEL_E_UNSUPPORTED: it is not mapped; use
     * `read`. */
    int32_t(ACCEL_CALL *map)(const struct accel_source *source, const char *key, uint32_t plane,
                             const void **out_address, uint64_t *out_bytes, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Copies the `bytes` bytes of a plane from `offset` on to `memory`. */
    int32_t(ACCEL_CALL *read)(const struct accel_source *source, const char *key, uint32_t plane, uint64_t offset,
                              void *memory, uint64_t bytes, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (packed weights are not cached): returns a 16-byte hash of the content of a weight. */
    int32_t(ACCEL_CALL *hash)(const struct accel_source *source, const char *key, uint8_t out_hash[16],
                              struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (planes that `map` does not map are copied): returns the mapped address of `bytes` bytes from `offset`
     * on of a plane whose parts lie in several places, valid as long as the source. ACCEL_OK for 0 bytes of plane 0:
     * each expert of each plane lies together, at any alignment. All planes of the weight are then bound as
     * ACCEL_BIND_SOURCE and not copied, unless its claim requires an alignment above 1. ACCEL_E_UNSUPPORTED: these
     * bytes do not lie together. */
    int32_t(ACCEL_CALL *map_part)(const struct accel_source *source, const char *key, uint32_t plane, uint64_t offset,
                                  uint64_t bytes, const void **out_address, struct accel_error *error) ACCEL_NOEXCEPT;
};

/** Receives a blob, in order from its first byte. Open. */
struct accel_blob_writer {
    uint32_t size;
    uint32_t zero;
    /** Appends `count` bytes. */
    int32_t(ACCEL_CALL *write)(const struct accel_blob_writer *writer, const void *bytes, uint64_t count,
                               struct accel_error *error) ACCEL_NOEXCEPT;
};

/** One weight of a container. Open. */
struct accel_weight {
    uint32_t size;
    uint32_t type;
    uint32_t rank;
    uint32_t zero;
    uint64_t dims[ACCEL_RANK]; /**< outermost first */
    const char *key;
};

struct accel_driver_weights;

/** Slots of a container of weights. Open. One thread at a time until `pull` has returned. */
struct accel_weights_table {
    uint32_t size;
    uint32_t zero;
    /** Frees the container and its weights. */
    int32_t(ACCEL_CALL *free)(struct accel_driver_weights *weights) ACCEL_NOEXCEPT;
    /** Loads all weights from `source` and stores them in the driver's layout. Apart from the container itself it
     * allocates at most one buffer to convert a chunk of a weight at a time. */
    int32_t(ACCEL_CALL *pull)(struct accel_driver_weights *weights, const struct accel_source *source,
                              const struct accel_task *task, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (packed weights are not cached): after `pull`, writes the container's bytes to `writer`. The core
     * caches them for containers with an equal list, equal hashes of the weights, and an equal fingerprint of the
     * device and build of the driver. */
    int32_t(ACCEL_CALL *save)(struct accel_driver_weights *weights, const struct accel_blob_writer *writer,
                              struct accel_error *error) ACCEL_NOEXCEPT;
    /** Required with `save`, else NULL: called instead of `pull`, uses the bytes that `save` wrote in place. The core
     * keeps them readable and unchanged, at an address that is a multiple of 4096, until `free` has returned, counts
     * them under ACCEL_MEMORY_WEIGHTS, and has verified their hash. ACCEL_E_MISS: the container is still empty, and the
     * core calls `pull`. */
    int32_t(ACCEL_CALL *adopt)(struct accel_driver_weights *weights, const void *packed, uint64_t bytes,
                               struct accel_error *error) ACCEL_NOEXCEPT;
};

/** Begins every container of weights of a driver. Closed. */
struct accel_driver_weights {
    const struct accel_weights_table *table;
};

/** Reports how a node was compiled. Closed. */
struct accel_node_report {
    uint32_t graph;
    uint32_t node;
    uint32_t precision; /**< type of the arithmetic: ACCEL_F32, ACCEL_Q8_0 ... */
    uint32_t zero;
    const char *unit;   /**< execution unit or instruction set: "avx2", "tensor core"; never NULL */
    const char *kernel; /**< never NULL; "unknown" if the vendor's compiler does not report it */
};

/** Receives reports. Open. */
struct accel_report_sink {
    uint32_t size;
    uint32_t zero;
    /** Receives the report of one node, which is copied before the call returns. */
    int32_t(ACCEL_CALL *node)(const struct accel_report_sink *sink, const struct accel_node_report *report,
                              struct accel_error *error) ACCEL_NOEXCEPT;
};

struct accel_driver_module;

/** Slots of a module. Open. */
struct accel_module_table {
    uint32_t size;
    uint32_t zero;
    /** Frees the module, after its sets. */
    int32_t(ACCEL_CALL *free)(struct accel_driver_module *module) ACCEL_NOEXCEPT;
    /** Returns the bytes and alignment of the scratch memory that a set of this program needs for these values of the
     * symbols and this thread count. The bytes never decrease as a symbol increases. Sets of a queue share scratch, so
     * its contents are undefined when a step begins. */
    int32_t(ACCEL_CALL *scratch)(struct accel_driver_module *module, uint32_t program, const uint64_t *symbols,
                                 uint32_t threads, uint64_t *out_bytes, uint64_t *out_alignment,
                                 struct accel_error *error) ACCEL_NOEXCEPT;
    /** Creates a set: binds a program (the index of its graph) to memory. Allocates all memory that steps need. */
    int32_t(ACCEL_CALL *set_create)(struct accel_driver_module *module, const struct accel_set_description *description,
                                    struct accel_driver_set **out_set, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (default: the report repeats the claims): reports the compiled form of each node. */
    int32_t(ACCEL_CALL *report)(struct accel_driver_module *module, const struct accel_report_sink *sink,
                                struct accel_error *error) ACCEL_NOEXCEPT;
};

/** Begins every module of a driver. Closed. */
struct accel_driver_module {
    const struct accel_module_table *table;
};

ACCEL_END_C

#endif
