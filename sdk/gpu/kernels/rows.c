/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator that kernels do, with the tolerance that tests hold it to. */
#include "sdk/gpu/kernels/rows.h"

#define EXACT 4e-6   /* F32 with sums in any order, with the zero point corrected by sums of x */
#define ROUNDED 1e-2 /* x rounded to 8 bits, in blocks of 32 or by row */
#define HALVES 1e-2  /* x and sums of 16 products rounded to halves */

#define ROW(op_, text, check_, lower_)                                                                                 \
    {                                                                                                                  \
        .op = (op_), .name = (text), .precision = ACCEL_F32, .tolerance = EXACT, .check = (check_), .lower = (lower_)  \
    }
/* One that reads weights of two dimensions in tiles, but only whole ones. */
#define TILED_ROW(op_, text, inputs, check_, lower_)                                                                   \
    {                                                                                                                  \
        .op = (op_), .name = (text), .precision = ACCEL_F32, .matrices = (inputs), .tolerance = EXACT,                 \
        .check = (check_), .lower = (lower_)                                                                           \
    }
#define MATRIX(input) .matrices = 1u << (input), .split = 1u << (input)
/* A product of matrices. The first that rounds as a node allows and a device is quick at is taken. */
#define PRODUCT_ROW(op_, text, kind, type, needs, error, check_, lower_, scratch_)                                     \
    {                                                                                                                  \
        .op = (op_), .variant = (kind), .name = (text), .precision = (type), .features = (needs), MATRIX(1),           \
        .tolerance = (error), .check = (check_), .lower = (lower_), .scratch = (scratch_)                              \
    }
#define MATRIX_ROW(op_, text, lower_, scratch_)                                                                        \
    PRODUCT_ROW(op_, text ", matrices of halves", GPU_MATMUL_MATRIX, ACCEL_F16,                                        \
                GPU_FEATURE_F16 | GPU_FEATURE_SUBGROUP | GPU_FEATURE_COOPMAT, HALVES, gpu_matmul_matrix_check, lower_, \
                scratch_)
#define PRODUCT_ROWS(op_, text, lower_, scratch_)                                                                      \
    PRODUCT_ROW(op_, text, GPU_MATMUL_DOT, ACCEL_Q8_0, GPU_FEATURE_DOT8, ROUNDED, gpu_matmul_dot_check, lower_,        \
                scratch_),                                                                                             \
        PRODUCT_ROW(op_, text, GPU_MATMUL_HALVES, ACCEL_F16, GPU_FEATURE_F16, HALVES, gpu_matmul_halves_check, lower_, \
                    scratch_),                                                                                         \
        PRODUCT_ROW(op_, text, 0, ACCEL_F32, 0, EXACT, gpu_matmul_check, lower_, scratch_)
#define HALF 4e-3 /* y rounded to BF16 */
/* An operator on F16 and BF16, with the row above for F32. */
#define HALF_ROW(op_, text, inputs)                                                                                    \
    {                                                                                                                  \
        .op = (op_), .variant = GPU_HALVES, .name = text " of halves", .precision = ACCEL_F32, .matrices = (inputs),   \
        .split = (inputs), .tolerance = HALF, .check = gpu_half_check, .lower = gpu_half_lower,                        \
        .scratch = gpu_half_scratch                                                                                    \
    }
#define ALL_INPUTS ((1u << GPU_INPUTS) - 1)

const struct gpu_row gpu_rows[] = {
    {.op = ACCEL_OP_EMBED,
     .name = "embed",
     .precision = ACCEL_F32,
     MATRIX(0),
     .tolerance = EXACT,
     .check = gpu_embed_check,
     .lower = gpu_embed_lower},
    MATRIX_ROW(ACCEL_OP_MATMUL, "matmul", gpu_matmul_lower, NULL),
    PRODUCT_ROW(ACCEL_OP_MATMUL, "matmul", GPU_MATMUL_DOT_ROW, ACCEL_Q8_ROW, GPU_FEATURE_DOT8, ROUNDED,
                gpu_matmul_dot_row_check, gpu_matmul_lower, gpu_matmul_scratch),
    PRODUCT_ROWS(ACCEL_OP_MATMUL, "matmul", gpu_matmul_lower, NULL),
    ROW(ACCEL_OP_RMS_NORM, "rms norm", NULL, gpu_norm_lower),
    ROW(ACCEL_OP_LAYER_NORM, "layer norm", NULL, gpu_norm_lower),
    ROW(ACCEL_OP_ROTARY, "rotary", gpu_rotary_check, gpu_rotary_lower),
    ROW(ACCEL_OP_CACHE_WRITE, "cache write", gpu_cache_write_check, gpu_cache_write_lower),
    {.op = ACCEL_OP_ATTENTION,
     .name = "attention",
     .precision = ACCEL_F32,
     .tolerance = EXACT,
     .check = gpu_attention_check,
     .lower = gpu_attention_lower,
     .scratch = gpu_attention_scratch},
    TILED_ROW(ACCEL_OP_ADD, "add", 2, NULL, gpu_pointwise_lower),
    TILED_ROW(ACCEL_OP_MUL, "mul", 2, NULL, gpu_pointwise_lower),
    ROW(ACCEL_OP_ACTIVATION, "activation", NULL, gpu_pointwise_lower),
    ROW(ACCEL_OP_GATE, "gate", NULL, gpu_pointwise_lower),
    ROW(ACCEL_OP_SOFTMAX, "softmax", NULL, gpu_softmax_lower),
    ROW(ACCEL_OP_GATHER, "gather", gpu_gather_check, gpu_gather_lower),
    ROW(ACCEL_OP_ARGMAX, "argmax", gpu_argmax_check, gpu_argmax_lower),
    ROW(ACCEL_OP_SCALE, "scale", NULL, gpu_pointwise_lower),
    ROW(ACCEL_OP_CLAMP, "clamp", NULL, gpu_pointwise_lower),
    TILED_ROW(ACCEL_OP_CONCAT, "concat", ALL_INPUTS, gpu_strided_check, gpu_concat_lower),
    TILED_ROW(ACCEL_OP_SLICE, "slice", ALL_INPUTS, gpu_strided_check, gpu_slice_lower),
    TILED_ROW(ACCEL_OP_PERMUTE, "permute", ALL_INPUTS, gpu_strided_check, gpu_permute_lower),
    TILED_ROW(ACCEL_OP_PAD, "pad", ALL_INPUTS, gpu_strided_check, gpu_pad_lower),
    ROW(ACCEL_OP_REDUCE, "reduce", gpu_reduce_check, gpu_reduce_lower),
    ROW(ACCEL_OP_GROUP_NORM, "group norm", NULL, gpu_group_norm_lower),
    MATRIX_ROW(ACCEL_OP_CONV, "convolution", gpu_conv_lower, gpu_conv_scratch),
    PRODUCT_ROWS(ACCEL_OP_CONV, "convolution", gpu_conv_lower, gpu_conv_scratch),
    ROW(ACCEL_OP_POOL, "pool", NULL, gpu_pool_lower),
    ROW(ACCEL_OP_RESIZE, "resize", gpu_resize_check, gpu_resize_lower),
    ROW(ACCEL_OP_TOP_K, "top k", gpu_top_k_check, gpu_top_k_lower),
    {.op = ACCEL_OP_SAMPLE,
     .name = "sample",
     .precision = ACCEL_F32,
     .check = gpu_sample_check,
     .lower = gpu_sample_lower,
     .scratch = gpu_sample_scratch},
    {.op = ACCEL_OP_EXPERT_MATMUL,
     .name = "expert matmul",
     .precision = ACCEL_F32,
     MATRIX(1),
     .tolerance = EXACT,
     .check = gpu_expert_matmul_check,
     .lower = gpu_expert_matmul_lower},
    TILED_ROW(ACCEL_OP_DENSE_ATTENTION, "dense attention", 1u << 6, gpu_dense_attention_check,
              gpu_dense_attention_lower),
    ROW(ACCEL_OP_CAST, "cast", gpu_cast_check, gpu_cast_lower),
    HALF_ROW(ACCEL_OP_MATMUL, "matmul", 1u << 1),
    HALF_ROW(ACCEL_OP_RMS_NORM, "rms norm", 0),
    HALF_ROW(ACCEL_OP_ADD, "add", 0),
    HALF_ROW(ACCEL_OP_MUL, "mul", 0),
    HALF_ROW(ACCEL_OP_ACTIVATION, "activation", 0),
    HALF_ROW(ACCEL_OP_GATE, "gate", 0),
    HALF_ROW(ACCEL_OP_GATHER, "gather", 0),
    HALF_ROW(ACCEL_OP_CONCAT, "concat", 0),
    HALF_ROW(ACCEL_OP_SLICE, "slice", 0),
    HALF_ROW(ACCEL_OP_PERMUTE, "permute", 0),
};

const uint32_t gpu_row_count = sizeof(gpu_rows) / sizeof(*gpu_rows);
