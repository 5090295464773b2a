/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the kernels: the end of a level's panels8.c. It defines, before it includes this, FEW_LAYOUT and FEW_KIND,
 * which make few_NAME of a type in blocks of 32 or of 256, and few_most, the rows of x up to which those are the way.
 */
FEW_LAYOUT(q8_0)
FEW_LAYOUT(q4_0)
FEW_LAYOUT(q4_1)
FEW_LAYOUT(q8_g32)
FEW_LAYOUT(q8_g128)
FEW_LAYOUT(q4_g32)
FEW_LAYOUT(q4_g128)
FEW_KIND(q2_k)
FEW_KIND(q3_k)
FEW_KIND(q4_k)
FEW_KIND(q5_k)
FEW_KIND(q6_k)

static cpu_matmul_fn *few_of(uint32_t type)
{
    switch (type) {
    case ACCEL_Q8_0:
        return few_q8_0;
    case ACCEL_Q4_0:
        return few_q4_0;
    case ACCEL_Q4_1:
        return few_q4_1;
    case ACCEL_Q8_G32:
        return few_q8_g32;
    case ACCEL_Q8_G128:
        return few_q8_g128;
    case ACCEL_Q4_G32:
        return few_q4_g32;
    case ACCEL_Q4_G128:
        return few_q4_g128;
    case ACCEL_Q2_K:
        return few_q2_k;
    case ACCEL_Q3_K:
        return few_q3_k;
    case ACCEL_Q4_K:
        return few_q4_k;
    case ACCEL_Q5_K:
        return few_q5_k;
    default:
        return few_q6_k;
    }
}

void CPU_NAME(panels8)(const struct cpu_matmul *call, size_t begin, size_t end)
{
    if (call->m > few_most(call->w.type))
        CPU_NAME(gemm8)(call, call->w.type, begin, end);
    else
        few_of(call->w.type)(call, begin / PANEL_ROWS, end / PANEL_ROWS);
}
