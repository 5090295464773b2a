/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface of the CPU kernels: one table of functions per instruction set (ISA).
 *
 * Shapes are outermost first, and rows are contiguous unless a stride is named; strides count elements, those of
 * weights bytes. Activations are F32. Every kernel gets a range [begin, end) of its work, in units that its type
 * states: callers split the range over threads (splits at multiples of CPU_MATMUL_ROWS keep matmul tiles whole).
 * Results do not depend on the split, except for the last bits of a matmul whose tile is split.
 *
 * No kernel allocates, starts a thread, stores a pointer, fails, or checks its arguments: the driver checked them when
 * it compiled the graph. Any alignment of the element type is allowed. Inputs and outputs do not overlap; an
 * element-wise kernel may overwrite its first input, rotary its input, matmul its residual.
 */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include "activations.h"
#include "attention.h"
#include "products.h"
#include "weights.h"

#include <accel/ops.h>

#define CPU_ISA_SCALAR 0u     /* plain C, sums in double: the reference that the tests compare with */
#define CPU_ISA_AVX2 1u       /* AVX2, FMA, F16C, BMI2 */
#define CPU_ISA_AVXVNNI 2u    /* AVX2 and 256-bit dot products of bytes */
#define CPU_ISA_AVX512 3u     /* AVX2 and AVX-512 F, BW, VL, DQ, VNNI */
#define CPU_ISA_AVX512BF16 4u /* AVX-512 and dot products of BF16 */
#define CPU_ISA_AMX 5u        /* AVX-512, BF16, and products of tiles of bytes and BF16 */
#define CPU_ISA_NEON 6u       /* aarch64 baseline */
#define CPU_ISA_DOTPROD 7u    /* NEON and dot products of bytes */
#define CPU_ISA_I8MM 8u       /* dot products and products of matrices of bytes */
#define CPU_ISA_COUNT 9u

/* Preferred units for splitting rows of weights over threads, and those of kernels with act_bf16. */
#define CPU_MATMUL_ROWS 16u
#define CPU_MATMUL16_ROWS 32u

/* y [m, n] = function(x [m, k] W^T + bias [n]) + residual [m, n]. For quantized types k is a multiple of their group.
 */
struct cpu_matmul {
    struct cpu_matrix w;
    size_t m;
    size_t n;
    size_t k;
    const float *x;           /* CPU_ACT_NONE */
    size_t x_stride;          /* elements from row to row of x, k or more */
    const float *act_f32;     /* CPU_ACT_F32: staged by cpu_arrange_fn */
    struct cpu_act_q8 act_q8; /* CPU_ACT_Q8 and CPU_ACT_Q8_ROW: staged by cpu_quantize_fn */
    const uint16_t *act_bf16; /* CPU_ACT_BF16: staged by cpu_round16_fn */
    const float *bias;        /* NULL: none */
    const float *residual;    /* NULL: none; may be y */
    size_t residual_stride;
    uint32_t function; /* ACCEL_FN_... */
    float *y;
    size_t y_stride;
};

/* Copies rows ids[begin .. end) of table [rows, width] to y [n, width]; an id outside of the table reads row 0. */
typedef void cpu_embed_fn(const struct cpu_matrix *table, size_t rows, size_t width, const int32_t *ids, float *y,
                          size_t begin, size_t end);

/* Rows begin .. end of x [rows, n]; bias is NULL for the rms norm, and may be for the layer norm. */
typedef void cpu_norm_fn(const float *x, const float *weight, const float *bias, float epsilon, size_t n, float *y,
                         size_t begin, size_t end);

/* Elements begin .. end. */
typedef void cpu_activation_fn(uint32_t function, const float *x, float *y, size_t begin, size_t end);

/* Elements begin .. end: y = function(gate) * up. */
typedef void cpu_gate_fn(uint32_t function, const float *gate, const float *up, float *y, size_t begin, size_t end);

/* y[i] += x[i / each] * w[i], `count` elements. */
typedef void cpu_add_products_fn(const float *x, const float *w, size_t each, size_t count, float *y);

/* Rows begin .. end of x [rows, n]. */
typedef void cpu_softmax_fn(const float *x, size_t n, float *y, size_t begin, size_t end);

/* Computes parts begin .. end of a vector operator of operators.def. */
struct sdk_call;
typedef void cpu_part_fn(const struct sdk_call *call, uint64_t begin, uint64_t end);

enum {
#define CPU_OPERATOR(op, name, flags, text, check, parts, work)
#define CPU_VECTOR_OPERATOR(op, name, flags, text, check, parts, work) CPU_PART_##op,
#include "operators.def"
    CPU_PARTS
};

/* Every ISA fills every entry, except those of `product` for families and types that it has no kernel of, `arrange` of
 * plain C, and `round16`, which exists for ISAs whose BF16 products are faster than F32. */
struct cpu_kernels {
    uint32_t isa;
    cpu_matmul_fn *product[CPU_PRODUCTS][CPU_WEIGHTS]; /* chosen by cpu_product_of */
    cpu_embed_fn *embed[CPU_WEIGHTS];
    cpu_quantize_fn *quantize;
    cpu_quantize_fn *quantize_rows;
    cpu_round16_fn *round16;
    cpu_arrange_fn *arrange;
    cpu_norm_fn *rms_norm;
    cpu_norm_fn *layer_norm;
    cpu_activation_fn *activation;
    cpu_gate_fn *gate;
    cpu_softmax_fn *softmax;
    cpu_attention_fn *attention;
    cpu_attention_score_sums_fn *attention_score_sums;
    cpu_cache_write_fn *cache_write;
    cpu_add_products_fn *add_products;
    cpu_part_fn *part[CPU_PARTS];
};

/* Fills the slots of a table that an ISA has kernels of. */
typedef void cpu_fill_fn(struct cpu_kernels *table);

/* Returns whether the kernels of an ISA were built. */
bool cpu_isa_is_built(uint32_t isa);

/* Returns the best ISA that was built and that this processor and its operating system support. */
uint32_t cpu_isa_detect(void);

/* Returns NULL if an ISA can be used here, else the reason: "the processor has no such instructions". */
const char *cpu_isa_why_unavailable(uint32_t isa);

/* Returns "amd" or "intel" for processors of these vendors, else "". */
const char *cpu_vendor(void);

/* Returns the name of an ISA: "scalar", "avx2", ... */
const char *cpu_isa_name(uint32_t isa);

/* Returns the ISA of a name, or CPU_ISA_COUNT. */
uint32_t cpu_isa_find(const char *name);

/* Fills the table for an ISA that can be used here. An ISA that was not built falls back to the one that it extends. */
void cpu_kernels_fill(struct cpu_kernels *out_kernels, uint32_t isa);

#endif
