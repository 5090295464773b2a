/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operator of the cpu driver, with the tolerance that the conformance kit tests. The first matching entry of an
 * operator is used, so that rounded matmuls precede exact ones.
 */
#include "plugins/cpu/operators/operators.h"

#define EXACT 5e-6   /* F32 with sums in any order */
#define HALVES 4e-3  /* the output rounded to BF16, whose bits are 8 */
#define ROUNDED 1e-2 /* activations of 8 bits or in BF16, against exact ones */
#define PANELS 2u    /* input 1, W, may be packed; not for F32 activations: 2.5 to 4 times slower than rows */

#define MATMUL(precision_, variant_, tolerance_, text)                                                                 \
    {                                                                                                                  \
        .op = ACCEL_OP_MATMUL, .name = "matmul " text, .precision = (precision_), .variant = (variant_),               \
        .tolerance = (tolerance_), .check = cpu_matmul_check, .parts = cpu_matmul_parts, .part = cpu_matmul_part,      \
        .staged_bytes = cpu_matmul_act, .stage_parts = cpu_matmul_act_parts, .stage_part = cpu_matmul_act_part,        \
        .work = cpu_matmul_work, .packed_inputs = ((variant_)&CPU_ROUNDED) != 0 ? PANELS : 0,                          \
        .prepared_bytes = sizeof(struct cpu_prepared), .prepare = cpu_matmul_prepare, .describe = cpu_matmul_describe  \
    }
#define EMBED(weight, text)                                                                                            \
    {                                                                                                                  \
        .op = ACCEL_OP_EMBED, .name = "embed " text, .precision = ACCEL_F32, .variant = (weight),                      \
        .check = cpu_embed_check, .parts = cpu_embed_parts, .part = cpu_embed_part, .work = cpu_elements_work          \
    }
#define ROW(op_, variant_, flags_, text, check_, part_, parts_, work_)                                                 \
    {                                                                                                                  \
        .op = (op_), .flags = (flags_), .name = (text), .precision = ACCEL_F32, .variant = (variant_),                 \
        .tolerance = EXACT, .check = (check_), .parts = cpu_##parts_##_parts, .part = (part_),                         \
        .work = cpu_##work_##_work                                                                                     \
    }
/* The last arguments are further members. */
#define TOGETHER(op_, kind, text, precision_, variant_, tolerance_, ...)                                               \
    {                                                                                                                  \
        .op = (op_), .name = (text), .precision = (precision_), .variant = (variant_), .tolerance = (tolerance_),      \
        .check = cpu_##kind##_check, .run = cpu_##kind##_run, .scratch = cpu_##kind##_scratch,                         \
        .work = cpu_##kind##_work, __VA_ARGS__                                                                         \
    }
#define ATTENTION(text, variant, tolerance)                                                                            \
    TOGETHER(ACCEL_OP_ATTENTION, attention, text, ACCEL_F32, variant, tolerance,                                       \
             .flags = SDK_KERNEL_MASK | SDK_KERNEL_SCORE_SUMS | SDK_KERNEL_SLOPE | SDK_KERNEL_SINK)
#define EXPERTS(text, precision, variant, tolerance, packed)                                                           \
    TOGETHER(ACCEL_OP_EXPERT_MATMUL, expert, text, precision, variant, tolerance, .packed_inputs = (packed),           \
             .prepared_bytes = sizeof(struct cpu_expert_prepared), .prepare = cpu_expert_prepare,                      \
             .release = cpu_expert_release, .describe = cpu_expert_describe, .part_inputs = 2u)
#define CONV(text, precision, variant, tolerance)                                                                      \
    TOGETHER(ACCEL_OP_CONV, conv, text, precision, variant, tolerance, .describe = cpu_conv_describe)
#define HALF(operator, text, describe_)                                                                                \
    TOGETHER(ACCEL_OP_##operator, half, text, ACCEL_F32, ACCEL_OP_##operator, HALVES, .describe = (describe_))

#define ROW8(ID, name) MATMUL(ACCEL_Q8_0, CPU_##ID | CPU_ROUNDED, ROUNDED, #name " x q8"),
#define ROW8_ROW(ID, name) MATMUL(ACCEL_Q8_ROW, CPU_##ID | CPU_ROUNDED | CPU_BY_ROW, ROUNDED, #name " x q8_row"),
#define ROW16(ID, name) MATMUL(ACCEL_BF16, CPU_##ID | CPU_ROUNDED, ROUNDED, #name " x bf16"),
#define ROW32(ID, name) MATMUL(ACCEL_F32, CPU_##ID, EXACT, #name " x f32"), EMBED(CPU_##ID, #name),

static void cpu_vector_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    ((const struct cpu_device *)call->device)->kernels.part[call->variant](call, begin, end);
}

const struct sdk_kernel cpu_operators[] = {
    CPU_GEMM_ROW_TYPES(ROW8_ROW)
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    CPU_CODE_##code(CPU_NOTHING, ROW16, CPU_NOTHING, ROW8, ROW8, ID, name)
#include <accel/quant/formats.def>
        CPU_PLANAR_OWN(ROW8) CPU_PLANAR_CODES(ROW8)
#define ACCEL_FORMAT(ID, name, ...) ROW32(ID, name)
#include <accel/quant/formats.def>
            CPU_PLANAR_OWN(ROW32) CPU_PLANAR_SHARED(ROW32) ATTENTION("attention q4 x q8", CPU_ROUNDED, ROUNDED),
    ATTENTION("attention", 0, EXACT),
    EXPERTS("expert matmul x q8_row", ACCEL_Q8_ROW, CPU_ROUNDED | CPU_BY_ROW, ROUNDED, PANELS),
    EXPERTS("expert matmul x q8", ACCEL_Q8_0, CPU_ROUNDED, ROUNDED, PANELS),
    EXPERTS("expert matmul x bf16", ACCEL_BF16, CPU_ROUNDED, ROUNDED, PANELS),
    /* With expert_bytes: packed experts would not be in the mapped file. cpu_allow selects. */
    EXPERTS("expert matmul x q8_row, mapped", ACCEL_Q8_ROW, CPU_ROUNDED | CPU_BY_ROW, ROUNDED, 0),
    EXPERTS("expert matmul x q8, mapped", ACCEL_Q8_0, CPU_ROUNDED, ROUNDED, 0),
    EXPERTS("expert matmul x bf16, mapped", ACCEL_BF16, CPU_ROUNDED, ROUNDED, 0),
    EXPERTS("expert matmul x f32", ACCEL_F32, 0, EXACT, 0),
    CONV("conv x q8_row", ACCEL_Q8_ROW, CPU_ROUNDED | CPU_BY_ROW, ROUNDED),
    CONV("conv x q8", ACCEL_Q8_0, CPU_ROUNDED, ROUNDED),
    CONV("conv x bf16", ACCEL_BF16, CPU_ROUNDED, ROUNDED),
    CONV("conv x f32", ACCEL_F32, 0, EXACT),
    TOGETHER(ACCEL_OP_DENSE_ATTENTION, dense, "dense attention", ACCEL_F32, 0, EXACT, .describe = NULL),
#define CPU_OPERATOR(op, name, flags, text, check, parts, work)                                                        \
    ROW(ACCEL_OP_##op, 0, flags, text, check, cpu_##name##_part, parts, work),
#define CPU_VECTOR_OPERATOR(op_, name_, flags_, text, check_, parts_, work_)                                           \
    ROW(ACCEL_OP_##op_, CPU_PART_##op_, flags_, text, check_, cpu_vector_part, parts_, work_),
#include "plugins/cpu/kernels/operators.def"
    HALF(MATMUL, "matmul of halves x f32", cpu_half_describe),
    HALF(RMS_NORM, "rms norm of halves", NULL),
    HALF(ADD, "add of halves", NULL),
    HALF(MUL, "mul of halves", NULL),
    HALF(ACTIVATION, "activation of halves", NULL),
    HALF(GATE, "gate of halves", NULL),
};

uint32_t cpu_allow(const void *device, const struct sdk_kernel *kernel)
{
    const uint32_t is_limited = ((const struct cpu_device *)device)->experts != NULL;

    return kernel->op != ACCEL_OP_EXPERT_MATMUL || kernel->variant == 0 || (kernel->packed_inputs == 0) == is_limited;
}

_Static_assert(sizeof(cpu_operators) / sizeof(*cpu_operators) == CPU_OPERATORS, "CPU_OPERATORS counts the rows");
