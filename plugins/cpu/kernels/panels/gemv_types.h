/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the kernels: the dispatch at the end of an ISA's packed8.c, which defines GEMV_BLOCK32 and GEMV_BLOCK256
 * (they define gemv_NAME of a type in blocks of 32 or 256) and gemv_most, the number of rows of x up to which GEMV is
 * used.
 */
GEMV_BLOCK32(q8_0)
GEMV_BLOCK32(q4_0)
GEMV_BLOCK32(q4_1)
GEMV_BLOCK32(q8_g32)
GEMV_BLOCK32(q8_g128)
GEMV_BLOCK32(q4_g32)
GEMV_BLOCK32(q4_g128)
GEMV_BLOCK256(q2_k)
GEMV_BLOCK256(q3_k)
GEMV_BLOCK256(q4_k)
GEMV_BLOCK256(q5_k)
GEMV_BLOCK256(q6_k)

static cpu_matmul_fn *gemv_of(uint32_t type)
{
    switch (type) {
    case ACCEL_Q8_0:
        return gemv_q8_0;
    case ACCEL_Q4_0:
        return gemv_q4_0;
    case ACCEL_Q4_1:
        return gemv_q4_1;
    case ACCEL_Q8_G32:
        return gemv_q8_g32;
    case ACCEL_Q8_G128:
        return gemv_q8_g128;
    case ACCEL_Q4_G32:
        return gemv_q4_g32;
    case ACCEL_Q4_G128:
        return gemv_q4_g128;
    case ACCEL_Q2_K:
        return gemv_q2_k;
    case ACCEL_Q3_K:
        return gemv_q3_k;
    case ACCEL_Q4_K:
        return gemv_q4_k;
    case ACCEL_Q5_K:
        return gemv_q5_k;
    default:
        return gemv_q6_k;
    }
}

void CPU_NAME(packed8)(const struct cpu_matmul *call, size_t begin, size_t end)
{
    if (call->m > gemv_most(call->w.type))
        CPU_NAME(gemm8)(call, call->w.type, begin, end);
    else
        gemv_of(call->w.type)(call, begin / PANEL_ROWS, end / PANEL_ROWS);
}
