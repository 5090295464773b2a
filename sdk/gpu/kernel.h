/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Kernel rows: how a node of a graph becomes launches. sdk/gpu/kernels defines one table of rows,
 * gpu_rows[gpu_row_count], and one of weight layouts (gpu_layout_find); they serve every API.
 *
 * The library selects for each node the first row with the node's `op` whose features the device has and whose `check`
 * returns NULL. Its `lower` describes launches by gpu_emit. It is a pure function of the call: it runs at claim and
 * compile (with the highest symbols, to find the pipelines), when a set is created, and whenever the symbols of a step
 * differ from the recorded ones.
 *
 * Dependencies:
 *  - sources, constants, bindings and the number of launches depend on types, attributes, device, and the highest
 *    extents of the set (a decode set has most_rows 1 and needs no tiled kernels), never on this step's extents;
 *  - words and groups also depend on this step's extents. A launch with 0 groups is skipped: a row with a GEMV and a
 *    GEMM kernel emits both if most_rows allows both, and sets the groups of one of them.
 * Pipelines of sets with fewer rows should be a subset of those of sets with more, since compile sees only the highest
 * symbols (other pipelines are compiled late, when the set is created).
 *
 * Launches of a row run in order, and each sees the writes of those before it: the library sets barriers from the
 * access of bindings, and omits them if ranges do not overlap.
 */
#ifndef SDK_GPU_KERNEL_H
#define SDK_GPU_KERNEL_H

#include <stdbool.h>

#include <accel/driver/sdk.h>

#include "sdk/gpu/api.h"

#define GPU_INPUTS 12u
#define GPU_OUTPUTS 2u
#define GPU_PLANES 4u

/* Values on the device, as rows see them. */

/**
 * A value. Elements are F32 or I32, contiguous, but for weights and states, whose rows begin at multiples of their
 * pitch.
 *
 * Matrices (weights of rank 2) are stored in planes as described by their layout (gpu_layout), other weights as in the
 * file; each row of each plane is padded to a multiple of 4 bytes, `pitch`. A weight too large for one binding or one
 * memory is split into `parts` of part_rows rows each (the last one may have fewer); every plane of a part has its own
 * range. A kernel launched for a part sees its rows from 0 on.
 *
 * A part of a state is [slots, row]: pitch[0] bytes per slot, the planes of a planar row one after the other (types.h),
 * padded to 4 bytes. It has one plane and one part here.
 */
struct gpu_tensor {
    uint64_t dims[ACCEL_RANK]; /**< outermost first, of this step */
    uint64_t rows;             /**< product of all dims but the innermost */
    uint64_t width;            /**< innermost dim */
    uint64_t most_rows;        /**< rows for the highest symbols of the set */
    uint64_t pitch[GPU_PLANES];
    uint64_t part_rows; /**< rows of a part; of all but weights `rows` */
    uint32_t parts;     /**< at least 1 */
    uint32_t type;      /**< ACCEL_F32 ... */
    uint32_t rank;
    uint32_t planes;
    uint32_t value; /**< index in the graph; of scratch GPU_NO_VALUE. Private to the library */
    uint32_t tile;  /**< rows of a part are padded to a multiple of it: that of the layout, or 1 */
    uint64_t begin; /**< byte of the scratch memory that a tensor of `value` GPU_NO_VALUE begins at; else 0 */
};

#define GPU_NO_VALUE UINT32_MAX

/** Returns a tensor of `bytes` bytes, a multiple of 4, at the beginning of the scratch memory. */
struct gpu_tensor gpu_work_space(uint64_t bytes);

/** Rows of a part of a tensor. */
uint64_t gpu_part_rows(const struct gpu_tensor *tensor, uint32_t part);

struct gpu_row;

/** One node, as `lower` sees it. */
struct gpu_call {
    const struct gpu_tensor *inputs[GPU_INPUTS]; /**< NULL: optional and absent */
    const struct gpu_tensor *outputs[GPU_OUTPUTS];
    const struct gpu_tensor *scratch; /**< of gpu_row.scratch bytes, rank 1 of I32; NULL if it needs none */
    const void *attributes;           /**< the operator's open struct, checked by the core; or NULL */
    const struct gpu_limits *limits;  /**< of the device */
    const struct gpu_row *row;
};

/** The limits of the device of a node that a check sees: its sdk_node.device. */
static inline const struct gpu_limits *gpu_limits_of(const struct sdk_node *node)
{
    return node->device;
}

#define GPU_BIND_READ 1u
#define GPU_BIND_WRITE 2u

/** A storage buffer of a launch: plane `plane` of part `part` of a tensor. */
struct gpu_bind {
    const struct gpu_tensor *tensor; /**< NULL: never touched (an optional input that is absent); something is bound */
    uint32_t plane;
    uint32_t part;   /**< of a weight; else 0 */
    uint32_t access; /**< GPU_BIND_... */
    uint32_t zero;
};

/** One launch. Members that are not needed are zero. */
struct gpu_launch {
    const char *source;                /**< gpu_source.name */
    uint32_t constants[GPU_CONSTANTS]; /**< in the order of the source's list; [0] GROUP, the items of a workgroup */
    uint32_t bind_count;
    struct gpu_bind binds[GPU_BINDINGS];
    uint32_t words[GPU_WORDS - GPU_BINDINGS]; /**< parameters; the kernel sees them behind the words of offsets */
    uint32_t word_count;
    uint32_t subgroup;  /**< size of a subgroup that it must run with; 0: any */
    uint64_t groups[3]; /**< each at least 1, or all 0 to leave it out. At most gpu_limits.groups: see gpu_fold */
};

struct gpu_emitter;

/** Adds a launch to the node. The struct is copied. The emitter stores the first failure (an unknown source, too many
 *  groups), which becomes the error of the call. */
void gpu_emit(struct gpu_emitter *emitter, const struct gpu_launch *launch);

/** Spreads `count` workgroups over x and y if x alone cannot hold them. A kernel then uses y * gridsize.x + x as its
 *  index and returns if that is at least `count`. A count of 0 yields three zeros. */
void gpu_fold(const struct gpu_limits *limits, uint64_t count, uint64_t groups[3]);

/** The bits of a float, for words. */
uint32_t gpu_float_word(float value);

/** Returns NULL if the row implements this node, or the reason. */
typedef const char *gpu_row_check(const struct gpu_row *row, const struct sdk_node *node);
/** Emits the launches of a node. */
typedef void gpu_row_lower(const struct gpu_call *call, struct gpu_emitter *emitter);
/** Returns the scratch bytes of a node for the highest extents (call->scratch is NULL); no step may need more. Scratch
 * is undefined between nodes. */
typedef uint64_t gpu_row_scratch(const struct gpu_call *call);

/** A kernel for an operator. Const. */
struct gpu_row {
    uint32_t op;        /**< ACCEL_OP_... */
    uint32_t variant;   /**< distinguishes rows that share their functions */
    const char *name;   /**< for placement reports, which add the types that it reads */
    uint32_t precision; /**< type of the arithmetic: ACCEL_F32, ACCEL_Q8_0 ... */
    uint32_t features;  /**< GPU_FEATURE_... that the device must have for the row to be considered */
    uint32_t
        matrices;   /**< inputs (bits) that may be weights of two dimensions, which are stored in tiles (gpu_layout) */
    uint32_t split; /**< inputs (bits) that may be weights in several parts */
    uint32_t zero;
    double tolerance;     /**< largest error, relative to the output's largest element */
    gpu_row_check *check; /**< NULL: any node whose values are all F32 */
    gpu_row_lower *lower;
    gpu_row_scratch *scratch; /**< NULL: none */
};

extern const struct gpu_row gpu_rows[];
extern const uint32_t gpu_row_count;

/** Types of weights that rows of matmul read, for the facts of devices. Defined beside the rows. */
extern const uint32_t gpu_types[];
extern const uint32_t gpu_type_count;

/**
 * Storage of matrices (weights of rank 2, which matmul and embed read) of a type on devices. All types that rows accept
 * have one; weights of another rank are stored as in the file. Packed while loading, `tile` rows at a time.
 *
 * Rows are interleaved word by word, so that neighbouring items read neighbouring words: in a plane of n words per row,
 * word j of row r is word ((r / tile) * n + j) * tile + r % tile. The last tile is padded with rows of zeros, and the
 * rows of a part are a multiple of `tile`, except in the last one. A pitch (gpu_tensor) is the 4 n bytes of a row.
 * Const.
 */
struct gpu_layout {
    uint32_t type;
    uint32_t planes;
    uint32_t tile; /**< rows that are interleaved */
    uint32_t zero;
    /** Bytes of a row of `width` values in a plane, a multiple of 4. */
    uint64_t (*row_bytes)(const struct gpu_layout *layout, uint32_t plane, uint64_t width);
    /** Packs one row. `from`: planes of the row in the file, any alignment; `to`: row_bytes each, 4-byte aligned,
     *  zeroed, not yet interleaved. */
    void (*pack)(const struct gpu_layout *layout, uint64_t width, const void *const *from, void *const *to);
};

/** Returns whether kernels use the tuning for CPUs: on CPU devices, unless the option `arrangement` overrides it.
 * Defined beside the rows. */
bool gpu_is_arranged_for_cpu(const struct gpu_limits *limits);

/** The layout of matrices of a type, or NULL: no row reads such matrices. Defined beside the rows. */
const struct gpu_layout *gpu_layout_find(uint32_t type);

#endif
