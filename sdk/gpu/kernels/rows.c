/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator that kernels do, with the tolerance that tests hold it to. */
#include "sdk/gpu/kernels/rows.h"

#include <accel/ops.h>

#define EXACT 4e-6   /* F32 with sums in any order, with the zero point corrected by sums of x */
#define ROUNDED 1e-2 /* x rounded to 8 bits in blocks of 32 */
#define HALVES 1e-2  /* x and sums of 16 products rounded to halves */

#define ROW(op_, text, check_, lower_)                                                                                 \
    {                                                                                                                  \
        .op = (op_), .name = (text), .precision = ACCEL_F32, .tolerance = EXACT, .check = (check_), .lower = (lower_)  \
    }

const struct gpu_row gpu_rows[] = {
    ROW(ACCEL_OP_EMBED, "embed", gpu_embed_check, gpu_embed_lower),
    {.op = ACCEL_OP_MATMUL,
     .variant = GPU_MATMUL_MATRIX,
     .name = "matmul, matrices of halves",
     .precision = ACCEL_F16,
     .features = GPU_FEATURE_F16 | GPU_FEATURE_SUBGROUP | GPU_FEATURE_COOPMAT,
     .tolerance = HALVES,
     .check = gpu_matmul_matrix_check,
     .lower = gpu_matmul_lower},
    {.op = ACCEL_OP_MATMUL,
     .variant = GPU_MATMUL_DOT,
     .name = "matmul",
     .precision = ACCEL_Q8_0,
     .features = GPU_FEATURE_DOT8,
     .tolerance = ROUNDED,
     .check = gpu_matmul_dot_check,
     .lower = gpu_matmul_lower},
    {.op = ACCEL_OP_MATMUL,
     .variant = GPU_MATMUL_HALVES,
     .name = "matmul",
     .precision = ACCEL_F16,
     .features = GPU_FEATURE_F16,
     .tolerance = HALVES,
     .check = gpu_matmul_halves_check,
     .lower = gpu_matmul_lower},
    ROW(ACCEL_OP_MATMUL, "matmul", gpu_matmul_check, gpu_matmul_lower),
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
    ROW(ACCEL_OP_ADD, "add", NULL, gpu_pointwise_lower),
    ROW(ACCEL_OP_MUL, "mul", NULL, gpu_pointwise_lower),
    ROW(ACCEL_OP_ACTIVATION, "activation", NULL, gpu_pointwise_lower),
    ROW(ACCEL_OP_GATE, "gate", NULL, gpu_pointwise_lower),
    ROW(ACCEL_OP_SOFTMAX, "softmax", NULL, gpu_softmax_lower),
    ROW(ACCEL_OP_GATHER, "gather", gpu_gather_check, gpu_gather_lower),
    ROW(ACCEL_OP_ARGMAX, "argmax", gpu_argmax_check, gpu_argmax_lower),
};

const uint32_t gpu_row_count = sizeof(gpu_rows) / sizeof(*gpu_rows);
