/* SPDX-License-Identifier: Apache-2.0 */
/* Weights as the kernels of the CPU read them: their types, a matrix of them in rows, and in panels. */
#ifndef CPU_KERNELS_WEIGHTS_H
#define CPU_KERNELS_WEIGHTS_H

#include <accel/types.h>
#include <stddef.h>
#include <stdint.h>

/* Types of weights that matmul and embed know, in the order of the tables' elements. */
enum cpu_weight {
    CPU_F32,
    CPU_F16,
    CPU_BF16,
    CPU_Q8_0,
    CPU_Q4_0,
    CPU_Q4_1,
    CPU_Q8_G32,
    CPU_Q8_G128,
    CPU_Q4_G32,
    CPU_Q4_G128,
    CPU_Q5_0,
    CPU_Q5_1,
    CPU_Q2_K,
    CPU_Q3_K,
    CPU_Q4_K,
    CPU_Q5_K,
    CPU_Q6_K,
    CPU_IQ4_NL,
    CPU_IQ4_XS,
    CPU_MXFP4,
    CPU_PLANAR, /* every planar type that has no place of its own: the matrix says which */
    CPU_WEIGHTS
};

/* Type ids that kernels read: one for each place, and for CPU_PLANAR 60 less those with a place. */
#define CPU_TYPES (CPU_PLANAR + 56u)

/* The place of a type id in the tables, or -1 when no kernel reads it. */
int cpu_weight_of(uint32_t type);

/* The type ids that kernels read, index 0 .. CPU_TYPES - 1: first those of the places before CPU_PLANAR, in order. */
uint32_t cpu_type_at(uint32_t index);

/* Weights [n, k] where they lie (a mapped file or a buffer): planes of accel/quant/format.h, bytes from row to row; or
 * in panels, as cpu_panels_make left them, and the planes say nothing. */
struct cpu_matrix {
    const void *plane[3];
    size_t stride[3];
    const void *panels; /* NULL: rows in planes */
    uint32_t type;      /* of CPU_PLANAR and of panels: the type id */
};

/*
 * Weights in panels: 16 rows side by side, in which one load has the same digits of all of them. A few rows of x are
 * multiplied 1.5 times as fast as with rows where they lie.
 */

/* Bytes of W [n, k] in panels for kernels of `level`, as many as in rows; 0: these want it in rows. */
size_t cpu_panels_bytes(uint32_t level, uint32_t type, size_t n, size_t k);

/* Rows begin .. end of W, multiples of CPU_MATMUL_ROWS, to panels; `out` is where all of them are. */
void cpu_panels_make(const struct cpu_matrix *w, size_t k, size_t begin, size_t end, void *out);

#endif
