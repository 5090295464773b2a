/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operator of the cpu driver, with the tolerance that the conformance kit tests. The first matching entry of an
 * operator is used, so that rounded matmuls precede exact ones.
 */
#include "plugins/cpu/operators/operators.h"

#define EXACT 5e-6   /* F32 with sums in any order */
#define ROUNDED 1e-2 /* activations of 8 bits or in BF16, against exact ones */
#define PANELS 2u    /* input 1, W, may be packed */

#define MATMUL8(weight, text)                                                                                          \
    {                                                                                                                  \
        .op = ACCEL_OP_MATMUL, .name = "matmul " text " x q8", .precision = ACCEL_Q8_0,                                \
        .variant = (weight) | CPU_ROUNDED, .tolerance = ROUNDED, .check = cpu_matmul_check, .parts = cpu_matmul_parts, \
        .part = cpu_matmul_part, .staged_bytes = cpu_matmul_act, .stage_parts = cpu_matmul_act_parts,                  \
        .stage_part = cpu_matmul_act_part, .work = cpu_matmul_work, .packed_inputs = PANELS                            \
    }
#define MATMUL16(weight, text)                                                                                         \
    {                                                                                                                  \
        .op = ACCEL_OP_MATMUL, .name = "matmul " text " x bf16", .precision = ACCEL_BF16,                              \
        .variant = (weight) | CPU_ROUNDED, .tolerance = ROUNDED, .check = cpu_matmul_check, .parts = cpu_matmul_parts, \
        .part = cpu_matmul_part, .staged_bytes = cpu_matmul_act, .stage_parts = cpu_matmul_act_parts,                  \
        .stage_part = cpu_matmul_act_part, .work = cpu_matmul_work, .packed_inputs = PANELS                            \
    }
#define MATMUL(weight, text)                                                                                           \
    {                                                                                                                  \
        .op = ACCEL_OP_MATMUL, .name = "matmul " text " x f32", .precision = ACCEL_F32, .variant = (weight),           \
        .tolerance = EXACT, .check = cpu_matmul_check, .parts = cpu_matmul_parts, .part = cpu_matmul_part,             \
        .staged_bytes = cpu_matmul_act, .stage_parts = cpu_matmul_act_parts, .stage_part = cpu_matmul_act_part,        \
        .work = cpu_matmul_work, .packed_inputs = PANELS                                                               \
    }
#define EMBED(weight, text)                                                                                            \
    {                                                                                                                  \
        .op = ACCEL_OP_EMBED, .name = "embed " text, .precision = ACCEL_F32, .variant = (weight),                      \
        .check = cpu_embed_check, .parts = cpu_embed_parts, .part = cpu_embed_part, .work = cpu_elements_work          \
    }
#define ROW(op_, flags_, text, check_, kind, parts_, work_)                                                            \
    {                                                                                                                  \
        .op = (op_), .flags = (flags_), .name = (text), .precision = ACCEL_F32, .tolerance = EXACT, .check = (check_), \
        .parts = cpu_##parts_##_parts, .part = cpu_##kind##_part, .work = cpu_##work_##_work                           \
    }
#define ATTENTION(text, variant_, tolerance_)                                                                          \
    {                                                                                                                  \
        .op = ACCEL_OP_ATTENTION,                                                                                      \
        .flags = SDK_KERNEL_MASK | SDK_KERNEL_SCORE_SUMS | SDK_KERNEL_SLOPE | SDK_KERNEL_SINK, .name = (text),         \
        .precision = ACCEL_F32, .variant = (variant_), .tolerance = (tolerance_), .check = cpu_attention_check,        \
        .run = cpu_attention_run, .scratch = cpu_attention_scratch, .work = cpu_attention_work                         \
    }
#define GATHERED(op_, kind, text, precision_, variant_, tolerance_, packed)                                            \
    {                                                                                                                  \
        .op = (op_), .name = (text), .precision = (precision_), .variant = (variant_), .tolerance = (tolerance_),      \
        .check = cpu_##kind##_check, .run = cpu_##kind##_run, .scratch = cpu_##kind##_scratch,                         \
        .work = cpu_##kind##_work, .packed_inputs = (packed)                                                           \
    }

const struct sdk_kernel cpu_operators[] = {
    MATMUL8(CPU_Q8_0, "q8_0"),
    MATMUL8(CPU_Q4_0, "q4_0"),
    MATMUL8(CPU_Q4_1, "q4_1"),
    MATMUL8(CPU_Q8_G32, "q8_g32"),
    MATMUL8(CPU_Q8_G128, "q8_g128"),
    MATMUL8(CPU_Q4_G32, "q4_g32"),
    MATMUL8(CPU_Q4_G128, "q4_g128"),
    MATMUL8(CPU_Q5_0, "q5_0"),
    MATMUL8(CPU_Q5_1, "q5_1"),
    MATMUL8(CPU_Q2_K, "q2_k"),
    MATMUL8(CPU_Q3_K, "q3_k"),
    MATMUL8(CPU_Q4_K, "q4_k"),
    MATMUL8(CPU_Q5_K, "q5_k"),
    MATMUL8(CPU_Q6_K, "q6_k"),
    MATMUL8(CPU_IQ4_NL, "iq4_nl"),
    MATMUL8(CPU_IQ4_XS, "iq4_xs"),
    MATMUL8(CPU_MXFP4, "mxfp4"),
    MATMUL8(CPU_PLANAR, "planar"),
    MATMUL16(CPU_F16, "f16"),
    MATMUL16(CPU_BF16, "bf16"),
    MATMUL(CPU_F32, "f32"),
    MATMUL(CPU_F16, "f16"),
    MATMUL(CPU_BF16, "bf16"),
    MATMUL(CPU_Q8_0, "q8_0"),
    MATMUL(CPU_Q4_0, "q4_0"),
    MATMUL(CPU_Q4_1, "q4_1"),
    MATMUL(CPU_Q8_G32, "q8_g32"),
    MATMUL(CPU_Q8_G128, "q8_g128"),
    MATMUL(CPU_Q4_G32, "q4_g32"),
    MATMUL(CPU_Q4_G128, "q4_g128"),
    MATMUL(CPU_Q5_0, "q5_0"),
    MATMUL(CPU_Q5_1, "q5_1"),
    MATMUL(CPU_Q2_K, "q2_k"),
    MATMUL(CPU_Q3_K, "q3_k"),
    MATMUL(CPU_Q4_K, "q4_k"),
    MATMUL(CPU_Q5_K, "q5_k"),
    MATMUL(CPU_Q6_K, "q6_k"),
    MATMUL(CPU_IQ4_NL, "iq4_nl"),
    MATMUL(CPU_IQ4_XS, "iq4_xs"),
    MATMUL(CPU_MXFP4, "mxfp4"),
    MATMUL(CPU_PLANAR, "planar"),
    EMBED(CPU_F32, "f32"),
    EMBED(CPU_F16, "f16"),
    EMBED(CPU_BF16, "bf16"),
    EMBED(CPU_Q8_0, "q8_0"),
    EMBED(CPU_Q4_0, "q4_0"),
    EMBED(CPU_Q4_1, "q4_1"),
    EMBED(CPU_Q8_G32, "q8_g32"),
    EMBED(CPU_Q8_G128, "q8_g128"),
    EMBED(CPU_Q4_G32, "q4_g32"),
    EMBED(CPU_Q4_G128, "q4_g128"),
    EMBED(CPU_Q5_0, "q5_0"),
    EMBED(CPU_Q5_1, "q5_1"),
    EMBED(CPU_Q2_K, "q2_k"),
    EMBED(CPU_Q3_K, "q3_k"),
    EMBED(CPU_Q4_K, "q4_k"),
    EMBED(CPU_Q5_K, "q5_k"),
    EMBED(CPU_Q6_K, "q6_k"),
    EMBED(CPU_IQ4_NL, "iq4_nl"),
    EMBED(CPU_IQ4_XS, "iq4_xs"),
    EMBED(CPU_MXFP4, "mxfp4"),
    EMBED(CPU_PLANAR, "planar"),
    ROW(ACCEL_OP_RMS_NORM, 0, "rms norm", NULL, rms_norm, rows, rows),
    ROW(ACCEL_OP_LAYER_NORM, 0, "layer norm", NULL, layer_norm, rows, rows),
    ROW(ACCEL_OP_ROTARY, SDK_KERNEL_PARTWISE, "rotary", cpu_words_check, rotary, rotary, rotary),
    ROW(ACCEL_OP_CACHE_WRITE, SDK_KERNEL_PARTWISE, "cache write", cpu_cache_write_check, cache_write, cache_write,
        cache_write),
    ATTENTION("attention q4 x q8", CPU_ROUNDED, ROUNDED),
    ATTENTION("attention", 0, EXACT),
    ROW(ACCEL_OP_ADD, SDK_KERNEL_PARTWISE, "add", NULL, add, elements, elements),
    ROW(ACCEL_OP_MUL, SDK_KERNEL_PARTWISE, "mul", NULL, mul, elements, elements),
    ROW(ACCEL_OP_ACTIVATION, SDK_KERNEL_PARTWISE, "activation", NULL, activation, elements, elements),
    ROW(ACCEL_OP_GATE, SDK_KERNEL_PARTWISE, "gate", NULL, gate, elements, elements),
    ROW(ACCEL_OP_SOFTMAX, 0, "softmax", NULL, softmax, rows, rows),
    ROW(ACCEL_OP_GATHER, 0, "gather", cpu_words_check, gather, gather, elements),
    ROW(ACCEL_OP_ARGMAX, 0, "argmax", cpu_words_check, argmax, rows, rows),
    GATHERED(ACCEL_OP_EXPERT_MATMUL, expert, "expert matmul x q8", ACCEL_Q8_0, CPU_ROUNDED, ROUNDED, PANELS),
    GATHERED(ACCEL_OP_EXPERT_MATMUL, expert, "expert matmul x bf16", ACCEL_BF16, CPU_ROUNDED, ROUNDED, PANELS),
    GATHERED(ACCEL_OP_EXPERT_MATMUL, expert, "expert matmul x f32", ACCEL_F32, 0, EXACT, PANELS),
    GATHERED(ACCEL_OP_CONV, conv, "conv x q8", ACCEL_Q8_0, CPU_ROUNDED, ROUNDED, 0),
    GATHERED(ACCEL_OP_CONV, conv, "conv x bf16", ACCEL_BF16, CPU_ROUNDED, ROUNDED, 0),
    GATHERED(ACCEL_OP_CONV, conv, "conv x f32", ACCEL_F32, 0, EXACT, 0),
    {.op = ACCEL_OP_DENSE_ATTENTION,
     .name = "dense attention",
     .precision = ACCEL_F32,
     .tolerance = EXACT,
     .check = cpu_dense_check,
     .run = cpu_dense_run,
     .scratch = cpu_attention_scratch,
     .work = cpu_dense_work},
#define CPU_OPERATOR(op, name, text, check, parts, work) ROW(ACCEL_OP_##op, 0, text, check, name, parts, work),
#define CPU_VECTOR_OPERATOR(op_, name_, text, check_, parts_, work_)                                                   \
    {.op = ACCEL_OP_##op_,                                                                                             \
     .name = (text),                                                                                                   \
     .precision = ACCEL_F32,                                                                                           \
     .variant = CPU_PART_##op_,                                                                                        \
     .tolerance = EXACT,                                                                                               \
     .check = (check_),                                                                                                \
     .parts = cpu_##parts_##_parts,                                                                                    \
     .part = cpu_vector_part,                                                                                          \
     .work = cpu_##work_##_work},
#include "plugins/cpu/kernels/operators.def"
};

void cpu_vector_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    ((const struct cpu_device *)call->device)->kernels.part[call->variant](call, begin, end);
}

_Static_assert(sizeof(cpu_operators) / sizeof(*cpu_operators) == CPU_OPERATORS, "CPU_OPERATORS counts the rows");
