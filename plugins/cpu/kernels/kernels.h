/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The face of the CPU kernels: one table of functions per level of vector instructions.
 *
 * Shapes are outermost first and rows are contiguous where no stride is named; strides count elements, those of weights
 * bytes. Activations are F32. Every kernel gets a range [begin, end) of the work that it does, in units which its type
 * states: callers cut the range over threads as they like (cuts at multiples of CPU_MATMUL_ROWS keep matmul's tiles
 * whole). Results do not depend on the cut, except in the last bits of matmul where a cut splits a tile.
 *
 * No kernel allocates, starts a thread, keeps a pointer, fails, or checks its arguments: the driver has checked them
 * when it compiled the graph. Any alignment of the element type will do. Inputs and outputs do not overlap; an
 * element-wise kernel may write over its first input, rotary over its input, matmul over its residual.
 */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include "activations.h"
#include "attention.h"
#include "weights.h"

#include <accel/ops.h>

#define CPU_LEVEL_SCALAR 0u     /* plain C, sums in double: the twin that the others are tested against */
#define CPU_LEVEL_AVX2 1u       /* AVX2, FMA, F16C, BMI2 */
#define CPU_LEVEL_AVXVNNI 2u    /* dot products of bytes in 256 bits on top */
#define CPU_LEVEL_AVX512 3u     /* AVX2 and AVX-512 F, BW, VL, DQ, VNNI */
#define CPU_LEVEL_AVX512BF16 4u /* dot products of BF16 on top */
#define CPU_LEVEL_AMX 5u        /* products of tiles of bytes and of BF16 on top */
#define CPU_LEVEL_NEON 6u       /* aarch64 as every one is */
#define CPU_LEVEL_DOTPROD 7u    /* dot products of bytes on top */
#define CPU_LEVEL_I8MM 8u       /* products of matrices of bytes on top */
#define CPU_LEVELS 9u

/* Good units for cutting the rows of weights over threads: of matmul and matmul8, and of matmul16. */
#define CPU_MATMUL_ROWS 16u
#define CPU_MATMUL16_ROWS 32u

/* y [m, n] = function(x [m, k] W^T + bias [n]) + residual [m, n]. The quantized types want k as a multiple of their
 * group. */
struct cpu_matmul {
    struct cpu_matrix w;
    size_t m;
    size_t n;
    size_t k;
    const float *x;        /* slot `matmul` */
    size_t x_stride;       /* elements from row to row of x, k or more */
    const float *x32;      /* slot `matmul`: x as cpu_arrange_fn left it; NULL: not made, and many rows are slow */
    struct cpu_rows8 x8;   /* slot `matmul8`: x as cpu_quantize_fn rounded it */
    const uint16_t *x16;   /* slot `matmul16`: x as cpu_round16_fn rounded it */
    const float *bias;     /* NULL: none */
    const float *residual; /* NULL: none; may be y */
    size_t residual_stride;
    uint32_t function; /* ACCEL_FN_... */
    float *y;
    size_t y_stride;
};

/* Computes all m rows of the columns begin .. end (rows of W). */
typedef void cpu_matmul_fn(const struct cpu_matmul *call, size_t begin, size_t end);

/* A matmul that knows rows only, with columns begin .. end of W in panels; both are multiples of CPU_MATMUL_ROWS. */
void cpu_panels_by_rows(cpu_matmul_fn *matmul, const struct cpu_matmul *call, size_t begin, size_t end);

/* Rows ids[begin .. end) of table [rows, width] to y [n, width]; an id outside of the table reads row 0. */
typedef void cpu_embed_fn(const struct cpu_matrix *table, size_t rows, size_t width, const int32_t *ids, float *y,
                          size_t begin, size_t end);

/* Rows begin .. end of x [rows, n]; bias is NULL for the rms norm, and may be for the layer norm. */
typedef void cpu_norm_fn(const float *x, const float *weight, const float *bias, float epsilon, size_t n, float *y,
                         size_t begin, size_t end);

struct cpu_rotary {
    const float *x; /* [tokens, heads, size] */
    float *y;
    size_t heads;
    size_t size;
    const int32_t *position; /* [tokens] */
    const float *frequency;  /* [pairs] */
    size_t pairs;            /* at most size / 2 */
    uint32_t pairing;        /* ACCEL_PAIR_... */
    float scale;
};

/* Tokens begin .. end. */
typedef void cpu_rotary_fn(const struct cpu_rotary *call, size_t begin, size_t end);

/* Elements begin .. end. */
typedef void cpu_activation_fn(uint32_t function, const float *x, float *y, size_t begin, size_t end);

/* Elements begin .. end: y = function(gate) * up. */
typedef void cpu_gate_fn(uint32_t function, const float *gate, const float *up, float *y, size_t begin, size_t end);

/* Elements begin .. end: y[i] = a[i] op b[i % period]. */
typedef void cpu_binary_fn(const float *a, const float *b, size_t period, float *y, size_t begin, size_t end);

/* Rows begin .. end of x [rows, n]. */
typedef void cpu_softmax_fn(const float *x, size_t n, float *y, size_t begin, size_t end);

/* Rows begin .. end of x [rows, n]: the first of the largest; NaN counts as smaller than everything. */
typedef void cpu_argmax_fn(const float *x, size_t n, int32_t *y, size_t begin, size_t end);

/* Every slot is filled at every level, but matmul8 of the scalar types F32, F16 and BF16; and matmul16 and round16,
 * which are there for the types and at the levels where products of BF16 are faster than those of F32. matmul16 takes
 * W in panels too. */
struct cpu_kernels {
    uint32_t level;
    cpu_matmul_fn *matmul[CPU_WEIGHTS];   /* x in F32 */
    cpu_matmul_fn *matmul8[CPU_WEIGHTS];  /* x rounded to 8 bits */
    cpu_matmul_fn *matmul16[CPU_WEIGHTS]; /* x rounded to BF16 */
    cpu_matmul_fn *panels8;               /* the same, W in panels; NULL where cpu_panels_bytes says 0 of all */
    cpu_embed_fn *embed[CPU_WEIGHTS];
    cpu_quantize_fn *quantize;
    cpu_round16_fn *round16;
    cpu_arrange_fn *arrange;
    cpu_norm_fn *rms_norm;
    cpu_norm_fn *layer_norm;
    cpu_rotary_fn *rotary;
    cpu_activation_fn *activation;
    cpu_gate_fn *gate;
    cpu_binary_fn *add;
    cpu_binary_fn *mul;
    cpu_softmax_fn *softmax;
    cpu_argmax_fn *argmax;
    cpu_attention_fn *attention;
    cpu_attention_mass_fn *attention_mass;
    cpu_cache_write_fn *cache_write;
};

/* The best level that was built and that this processor and its operating system allow. */
uint32_t cpu_level_detect(void);

/* NULL where a level can be used here, or what is in the way: "the processor has no such instructions". */
const char *cpu_level_obstacle(uint32_t level);

/* The name of a level: "scalar", "avx2", ... */
const char *cpu_level_name(uint32_t level);

/* Fills the table for a level, in whose way there must be no obstacle. A level that was not built counts as the one
 * that it builds upon. */
void cpu_kernels_fill(struct cpu_kernels *out_kernels, uint32_t level);

#endif
