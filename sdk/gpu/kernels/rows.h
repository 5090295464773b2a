/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the files of kernel rows. All functions are pure. arrange.c alone chooses the arrangement
 * (workgroup, lanes, rows of x) by kind of device.
 */
#ifndef SDK_GPU_KERNELS_ROWS_H
#define SDK_GPU_KERNELS_ROWS_H

#include "sdk/gpu/kernel.h"

/* Variants of matmul. */
#define GPU_MATMUL_DOT 1u     /**< GEMM with x quantized to 8 bits */
#define GPU_MATMUL_HALVES 2u  /**< GEMM with x rounded to halves */
#define GPU_HALVES 4u         /**< any operator on F16 and BF16: widened, computed in F32, narrowed */
#define GPU_MATMUL_DOT_ROW 5u /**< GEMM with x quantized to 8 bits, one scale per row */
#define GPU_MATMUL_MATRIX 3u  /**< GEMM with x and W rounded to halves, by cooperative matrices */

/** Tile of the GEMM: the constants of matmul_tile.k. */
struct gpu_tile {
    const char *source; /**< NULL: none, GEMV is used */
    uint32_t group;
    uint32_t lanes;
    uint32_t side;
    uint32_t m;
    uint32_t steps;
    uint32_t depth;
    uint32_t quads;
    uint32_t from; /**< rows of x from which on it is quicker */
    uint32_t zero;
};

/** Tuning of kernels for a device. */
struct gpu_arrangement {
    const char *matmul;     /**< source of the GEMV */
    uint32_t lanes;         /**< of it: lanes that share a tile of rows */
    uint32_t slices;        /**< items of a lane */
    uint32_t rows;          /**< most rows of x per launch of the GEMV */
    uint32_t row_group;     /**< items that share a row: norms, softmax, arg-max */
    uint32_t element_group; /**< items of a workgroup of element-wise kernels */
    uint32_t attention;     /**< items of a workgroup of attention */
    uint32_t parts;         /**< parts of the keys of few tokens */
    uint32_t heads;         /**< heads that share a sine, 0: all */
    struct gpu_tile tile;   /**< GEMM */
    struct gpu_tile dot;    /**< the same with x rounded to 8 bits */
    struct gpu_tile halves; /**< the same with x rounded to halves */
    uint32_t matrix_from;   /**< rows of x from which on subgroups multiply matrices, 0: never */
    uint32_t vector;        /**< rows of a matrix that an item of the GEMV has in a vector, VEC of dialect.h */
};

/** Returns the arrangement for a device, with the overrides of its option `tuning`. */
struct gpu_arrangement gpu_arrange(const struct gpu_limits *limits);

/* ---- launch.c ---- */

/** Sets the constant SUBGROUP of groups.h, the one at `index`, and the size that the launch must run with. */
void gpu_use_subgroups(const struct gpu_limits *limits, struct gpu_launch *launch, uint32_t index);

/** Returns a read bind and a write bind of plane 0 of a tensor (NULL: of none). */
struct gpu_bind gpu_read(const struct gpu_tensor *tensor);
struct gpu_bind gpu_write(const struct gpu_tensor *tensor);

/** Sets the binds of D, S and Z of part `part` of a matrix; planes it lacks are absent. */
void gpu_bind_matrix(struct gpu_launch *launch, const struct gpu_tensor *matrix, uint32_t part);

/** `count` in pieces of `each`, rounded up. */
uint64_t gpu_pieces(uint64_t count, uint64_t each);
/** Sets workgroups x by y; where either is 0 the launch is left out. */
void gpu_grid(struct gpu_launch *launch, uint64_t x, uint64_t y);

/** A product of rows of x and a matrix. */
struct gpu_product {
    const struct gpu_tensor *x; /**< rows of the width of w */
    const struct gpu_tensor *w;
    const struct gpu_tensor *bias;     /**< NULL: none */
    const struct gpu_tensor *residual; /**< NULL: none */
    const struct gpu_tensor *y;
    uint64_t rows;      /**< of x, in this step */
    uint64_t most_rows; /**< for the highest symbols of the set */
    uint64_t base;      /**< element of y that the first row begins at */
    uint32_t function;  /**< ACCEL_FN_... */
    uint32_t variant;   /**< GPU_MATMUL_..., 0: in F32 */
};

/** Emits the launches of a product. */
void gpu_emit_product(const struct gpu_call *call, struct gpu_emitter *emitter, const struct gpu_product *product);
/** Sets constants 1 to 4, the format of a matrix; false if kernels do not read it. */
bool gpu_use_format(struct gpu_launch *launch, uint32_t type);

/* ---- the rows ---- */

gpu_row_check gpu_argmax_check, gpu_attention_check, gpu_cache_write_check, gpu_cast_check, gpu_dense_attention_check,
    gpu_embed_check, gpu_expert_matmul_check, gpu_gather_check, gpu_half_check, gpu_matmul_check, gpu_matmul_dot_check,
    gpu_matmul_dot_row_check, gpu_matmul_halves_check, gpu_matmul_matrix_check, gpu_reduce_check, gpu_resize_check,
    gpu_rotary_check, gpu_sample_check, gpu_strided_check, gpu_top_k_check;

gpu_row_lower gpu_argmax_lower, gpu_attention_lower, gpu_cache_write_lower, gpu_cast_lower, gpu_concat_lower,
    gpu_conv_lower, gpu_dense_attention_lower, gpu_embed_lower, gpu_expert_matmul_lower, gpu_gather_lower,
    gpu_group_norm_lower, gpu_half_lower, gpu_matmul_lower, gpu_norm_lower, gpu_pad_lower, gpu_permute_lower,
    gpu_pointwise_lower, gpu_pool_lower, gpu_reduce_lower, gpu_resize_lower, gpu_rotary_lower, gpu_sample_lower,
    gpu_slice_lower, gpu_softmax_lower, gpu_top_k_lower;

gpu_row_scratch gpu_attention_scratch, gpu_conv_scratch, gpu_half_scratch, gpu_matmul_scratch, gpu_sample_scratch;

#endif
