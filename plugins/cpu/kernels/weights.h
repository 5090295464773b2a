/* SPDX-License-Identifier: Apache-2.0 */
/* Weights as the CPU kernels read them: types, matrices in rows, and packed weights. */
#ifndef CPU_KERNELS_WEIGHTS_H
#define CPU_KERNELS_WEIGHTS_H

#include <accel/types.h>
#include <stddef.h>
#include <stdint.h>

/* Weight types of matmul and embed, in the order of the kernel tables. */
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
    CPU_PLANAR, /* every planar type without its own slot: see cpu_matrix.type */
    CPU_WEIGHTS
};

/* Type ids that kernels read: one per slot, and for CPU_PLANAR 60 less those with a slot. */
#define CPU_TYPES (CPU_PLANAR + 56u)

/* Returns the table slot of a type id, or -1 if no kernel reads it. */
int cpu_weight_of(uint32_t type);

/* Returns type id `index`, 0 .. CPU_TYPES - 1: first those of the slots before CPU_PLANAR, in order. */
uint32_t cpu_type_at(uint32_t index);

/* Weights [n, k]: either planes of accel/quant/format.h in place (a mapped file or a buffer), with strides in bytes, or
 * packed by cpu_pack_weights, in which case the planes are unused. */
struct cpu_matrix {
    const void *plane[3];
    size_t stride[3];
    const void *packed; /* NULL: rows in planes */
    uint32_t type;      /* type id, for CPU_PLANAR and packed weights */
};

/*
 * Packed weights: panels of 16 interleaved rows, so that one load reads the same codes of all of them. GEMV is 1.5
 * times as fast as with rows in place.
 */

/* Returns the bytes of packed W [n, k], the same as in rows; 0: kernels of `isa` do not read packed weights of this
 * type. */
size_t cpu_packed_bytes(uint32_t isa, uint32_t type, size_t n, size_t k);

/* Packs rows begin .. end of W, multiples of CPU_MATMUL_ROWS; `out` is the packed form of all rows. */
void cpu_pack_weights(const struct cpu_matrix *w, size_t k, size_t begin, size_t end, void *out);

#endif
