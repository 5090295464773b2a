/* SPDX-License-Identifier: Apache-2.0 */
/* Weights as the CPU kernels read them: types, matrices in rows, and packed weights. */
#ifndef CPU_KERNELS_WEIGHTS_H
#define CPU_KERNELS_WEIGHTS_H

#include <accel/types.h>
#include <stddef.h>
#include <stdint.h>

/* Planar types with kernels of their own, and slots that the planar types of a scheme share. X(ID, name) */
#define CPU_PLANAR_OWN(X) X(Q8_G32, q8_g32) X(Q8_G128, q8_g128) X(Q4_G32, q4_g32) X(Q4_G128, q4_g128)
#define CPU_PLANAR_CODES(X) X(PLANAR, planar) X(PLANAR_A, planar_a) X(CODEBOOK, codebook)
#define CPU_PLANAR_SHARED(X) CPU_PLANAR_CODES(X) X(PLANAR_F8, planar_f8)

/* Applies a macro by the column `code` of accel/quant/formats.def: to F32, to F16 and BF16, to other floats, to codes
 * in whole bytes or nibbles, which kernels read in place, and to all others, which they unpack. */
#define CPU_CODE_FLOAT(F32, HALF, FLOAT, PLAIN, UNPACKED, ...) F32(__VA_ARGS__)
#define CPU_CODE_HALF(F32, HALF, FLOAT, PLAIN, UNPACKED, ...) HALF(__VA_ARGS__)
#define CPU_CODE_FLOAT8(F32, HALF, FLOAT, PLAIN, UNPACKED, ...) FLOAT(__VA_ARGS__)
#define CPU_CODE_PLAIN(F32, HALF, FLOAT, PLAIN, UNPACKED, ...) PLAIN(__VA_ARGS__)
#define CPU_CODE_PLAIN_MINIMUM(F32, HALF, FLOAT, PLAIN, UNPACKED, ...) PLAIN(__VA_ARGS__)
#define CPU_CODE_SCALED(F32, HALF, FLOAT, PLAIN, UNPACKED, ...) UNPACKED(__VA_ARGS__)
#define CPU_CODE_MINIMUM(F32, HALF, FLOAT, PLAIN, UNPACKED, ...) UNPACKED(__VA_ARGS__)
#define CPU_CODE_CODEBOOK(F32, HALF, FLOAT, PLAIN, UNPACKED, ...) UNPACKED(__VA_ARGS__)
#define CPU_CODE_GRID(F32, HALF, FLOAT, PLAIN, UNPACKED, ...) UNPACKED(__VA_ARGS__)
#define CPU_NOTHING(...)

/* True: values have a minimum. */
#define CPU_MINIMUM_FLOAT 0
#define CPU_MINIMUM_HALF 0
#define CPU_MINIMUM_FLOAT8 0
#define CPU_MINIMUM_PLAIN 0
#define CPU_MINIMUM_PLAIN_MINIMUM 1
#define CPU_MINIMUM_SCALED 0
#define CPU_MINIMUM_MINIMUM 1
#define CPU_MINIMUM_CODEBOOK 0
#define CPU_MINIMUM_GRID 0

/* Slots of the kernel tables: the weights of accel/quant/formats.def, the planar types of CPU_PLANAR_OWN, and the slots
 * from CPU_PLANAR on, which several types share (see cpu_matrix.type). */
enum cpu_weight {
#define ACCEL_FORMAT(ID, ...) CPU_##ID,
#include <accel/quant/formats.def>
    CPU_PLANAR_FIRST,
    CPU_BEFORE_PLANAR = CPU_PLANAR_FIRST - 1,
#define CPU_SLOT(ID, name) CPU_##ID,
    CPU_PLANAR_OWN(CPU_SLOT) CPU_PLANAR_SHARED(CPU_SLOT)
#undef CPU_SLOT
        CPU_WEIGHTS
};

/* Planar types: those of every group. */
enum {
    CPU_PLANAR_FORMATS = 0
#define ACCEL_PLANAR_FORMAT(...) +1
#include <accel/quant/formats.def>
    ,
    CPU_PLANAR_GROUPS = 0
#define ACCEL_PLANAR_GROUP(log2_group) +1
#include <accel/quant/formats.def>
};

#define CPU_OWN_COUNT(ID, name) +1u
/* Type ids that kernels read: one per slot before CPU_PLANAR, and the planar types without a slot of their own. */
#define CPU_TYPES (CPU_PLANAR + CPU_PLANAR_FORMATS * CPU_PLANAR_GROUPS - (0u CPU_PLANAR_OWN(CPU_OWN_COUNT)))

/* Returns the table slot of a type id, or -1 if no kernel reads it. */
int cpu_weight_of(uint32_t type);

/* Returns type id `index`, 0 .. CPU_TYPES - 1: first those of the slots before CPU_PLANAR, in order. */
uint32_t cpu_type_at(uint32_t index);

/* How GEMV reads packed weights, F16 and BF16 from memory with one row of x. */
struct cpu_streams {
    uint16_t count; /* memory streams, 1 to CPU_STREAMS; 0: as the kernel prefers, and `ahead` means nothing */
    uint16_t ahead; /* prefetch distance of each stream in bytes; 0: the processor's own prefetch alone */
};

#define CPU_STREAMS 4u

/* Weights [n, k]: either planes of accel/quant/format.h in place (a mapped file or a buffer), with strides in bytes, or
 * packed by cpu_pack_weights, in which case the planes are unused. */
struct cpu_matrix {
    const void *plane[3];
    size_t stride[3];
    const void *packed; /* NULL: rows in planes */
    uint32_t type;      /* type id */
    struct cpu_streams streams;
};

/*
 * Packed weights: panels of 16 interleaved rows, so that one load reads the same codes of all of them. GEMV is 1.5
 * times as fast as with rows in place.
 */

/* Changes with the order of packed bytes, so that packed weights on disk are packed again. */
#define CPU_PANEL_VERSION 1u

/* Returns the bytes of packed W [n, k], the same as in rows; 0: kernels of `isa` do not read packed weights of this
 * type. */
size_t cpu_packed_bytes(uint32_t isa, uint32_t type, size_t n, size_t k);

/* Packs rows begin .. end of W, multiples of CPU_MATMUL_ROWS; `out` is the packed form of all rows. */
void cpu_pack_weights(const struct cpu_matrix *w, size_t k, size_t begin, size_t end, void *out);

#endif
