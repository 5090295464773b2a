/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel multiplies: families of matmul kernels, and the choice between them by type, layout, rows and ISA. */
#ifndef CPU_KERNELS_PRODUCTS_H
#define CPU_KERNELS_PRODUCTS_H

#include <stdbool.h>

#include "weights.h"

/* How far x may be rounded. */
enum { CPU_ROUND_NONE, CPU_ROUND_BLOCKS, CPU_ROUND_ROWS };

/* How activations are staged for a matmul (activations.h). */
enum { CPU_ACT_NONE, CPU_ACT_Q8, CPU_ACT_Q8_ROW, CPU_ACT_F32, CPU_ACT_BF16 };

/* Families of matmul kernels. X(ID, name, activations): kernel cpu_NAME_TYPE_ISA. */
#define CPU_PRODUCT_FAMILIES(X)                                                                                        \
    X(SCALAR32, matmul, CPU_ACT_NONE)                                                                                  \
    X(SCALAR8, matmul8, CPU_ACT_Q8)                                                                                    \
    X(GEMM16, gemm16, CPU_ACT_BF16)                                                                                    \
    X(GEMV_K, gemv_k, CPU_ACT_Q8)                                                                                      \
    X(GEMV_PLANAR, gemv_planar, CPU_ACT_Q8)                                                                            \
    X(GEMV_ROW4, gemv_row4, CPU_ACT_Q8)                                                                                \
    X(GEMV_UNPACKED, gemv_unpacked, CPU_ACT_Q8)                                                                        \
    X(GEMV_PACKED, gemv_packed, CPU_ACT_Q8)                                                                            \
    X(GEMM8_ROW, gemm8_row, CPU_ACT_Q8_ROW)                                                                            \
    X(GEMM8, gemm8, CPU_ACT_Q8)                                                                                        \
    X(GEMV32, gemv32, CPU_ACT_NONE)                                                                                    \
    X(GEMM32, gemm32, CPU_ACT_F32)

enum cpu_product_family {
#define CPU_FAMILY(ID, name, activations) CPU_##ID,
    CPU_PRODUCT_FAMILIES(CPU_FAMILY)
#undef CPU_FAMILY
        CPU_PRODUCTS
};

/* Types of the families, as far as they are not those of a column of accel/quant/formats.def. X(ID, name) */
#define CPU_K_TYPES(X) X(Q2_K, q2_k) X(Q3_K, q3_k) X(Q4_K, q4_k) X(Q5_K, q5_k) X(Q6_K, q6_k)
#define CPU_GEMV_K_TYPES(X) CPU_K_TYPES(X) X(IQ4_XS, iq4_xs)
#define CPU_ROW4_UNPACKED(X) X(Q5_0, q5_0) X(Q5_1, q5_1) X(IQ4_NL, iq4_nl)
#define CPU_GEMV_PLANAR_TYPES(X) X(Q8_G128, q8_g128) X(Q4_G128, q4_g128) X(PLANAR, planar) X(PLANAR_A, planar_a)
#define CPU_GEMV_PACKED_TYPES(X)                                                                                       \
    X(Q4_0, 4) X(Q4_1, 4_minimum) X(Q8_0, 8) X(Q8_G32, 8) X(Q8_G128, 8) X(Q4_G32, 4) X(Q4_G128, 4) CPU_K_TYPES(X)
#define CPU_GEMM_ROW_TYPES(X) X(Q8_G128, q8_g128) X(PLANAR, planar)
#define CPU_GEMM_UNPACKED(X)                                                                                           \
    CPU_GEMV_K_TYPES(X)                                                                                                \
    CPU_ROW4_UNPACKED(X)                                                                                               \
    X(MXFP4, mxfp4)                                                                                                    \
    X(PLANAR, planar)                                                                                                  \
    X(PLANAR_A, planar_a)                                                                                              \
    X(IQ3_S, iq3_s) X(IQ3_XXS, iq3_xxs) X(IQ2_XXS, iq2_xxs) X(IQ1_S, iq1_s) X(TQ2_0, tq2_0) X(TQ1_0, tq1_0)

/* Rows of x from which on the kernel stays the same. */
#define CPU_PRODUCT_ROWS 49u

/* Most values of x that GEMV kernels arrange on the stack. */
#define CPU_GEMV_VALUES 32768u

/* Most rows of x of AVX2 GEMV with packed blocks of 256 weights. */
#define CPU_GEMV_PACKED_256_ROWS 2u

struct cpu_matmul;
struct cpu_kernels;

/* Computes all m rows of the columns begin .. end (rows of W). */
typedef void cpu_matmul_fn(const struct cpu_matmul *call, size_t begin, size_t end);

/* The kernel that multiplies, and what it reads. */
struct cpu_product {
    cpu_matmul_fn *run;
    uint32_t family; /* enum cpu_product_family */
    uint32_t act;    /* CPU_ACT_... */
};

/* Chooses the kernel for m rows of x with weights of a type in rows of k values; `rounding`: CPU_ROUND_...,
 * CPU_ROUND_ROWS for codes of 8 bits only; `packed`: W is packed, which no kernel reads with CPU_ROUND_NONE. `packed`
 * does not change `act`. */
struct cpu_product cpu_product_of(const struct cpu_kernels *kernels, uint32_t type, uint32_t rounding, bool packed,
                                  size_t m, size_t k);

/* Returns the name of a family: "gemv_k". */
const char *cpu_product_name(uint32_t family);

#endif
