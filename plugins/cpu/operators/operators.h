/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of the cpu driver: each turns a graph node into kernel calls on the threads of a team. One file per kind of
 * operator; table.c lists them.
 */
#ifndef CPU_OPERATORS_H
#define CPU_OPERATORS_H

#include "plugins/cpu/device.h"

/* A variant holds the weight type (enum cpu_weight; 0 for operators without weights). This bit marks that activations
 * are rounded first: to BF16 for F16 and BF16 weights, to 8 bits for all others. */
#define CPU_ROUNDED 0x100u
#define CPU_BY_ROW 0x200u /* beside CPU_ROUNDED: rows may be rounded with one scale each */

static inline uint32_t cpu_variant_weight(uint32_t variant)
{
    return variant & (CPU_ROUNDED - 1u);
}

/* Callbacks of sdk_kernel. Matmul splits the columns of y (rows of W) over threads, norms and softmax split rows, all
 * others split elements or tokens. */
const char *cpu_matmul_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
uint64_t cpu_matmul_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_matmul_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
uint64_t cpu_matmul_work(const struct sdk_call *call);
uint64_t cpu_matmul_act(const struct sdk_call *call, uint32_t *out_format);
uint64_t cpu_matmul_act_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_matmul_act_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
void cpu_matmul_prepare(const struct sdk_call *call, void *prepared);
uint32_t cpu_matmul_describe(const struct sdk_call *call, char *name, uint32_t size);

/* Matmul, prepared for its rows: the kernel, and all that it reads and writes. */
struct cpu_prepared {
    struct cpu_product product;
    struct cpu_matmul matmul;
};

/*
 * Products, for operators that stage rows of their own: matmul, expert_matmul, conv, operators on halves. Returns the
 * kernel for `rows` rows of x, which are rounded as `variant` has it, with W.
 */
struct cpu_product cpu_product_for(const struct cpu_device *device, uint32_t variant, const struct sdk_tensor *w,
                                   uint64_t rows);
/* Describes the kernel for `rows` rows, for sdk_kernel.describe: "gemm8 avx2", with "x q8" if x is rounded less than
 * `variant` allows. */
uint32_t cpu_product_describe(const struct sdk_call *call, uint32_t variant, uint64_t rows, char *name, uint32_t size);
/* Returns the bytes of staged rows; of CPU_ACT_NONE, those of a copy. */
uint64_t cpu_act_bytes(uint32_t kind, uint64_t rows, uint64_t width);
/* Returns the number of rows of which `begin` of cpu_act_stage is a multiple, and `end` unless it is `rows`. */
uint32_t cpu_act_grain(uint32_t kind);
/* Stages rows begin .. end of `rows`, which lie at x: row `begin` first. */
void cpu_act_stage(const struct cpu_device *device, uint32_t kind, const float *x, uint64_t width, uint64_t rows,
                   void *staged, uint64_t begin, uint64_t end);
/* Makes a matmul read the rows that are staged; of CPU_ACT_NONE it reads matmul->x. */
void cpu_act_bind(uint32_t kind, struct cpu_matmul *matmul, void *staged);
/* Describes the matmul of a call, whose rows are staged at `staged` as `act` states. */
void cpu_matmul_of(const struct sdk_call *call, uint32_t weight, uint32_t act, void *staged,
                   struct cpu_matmul *out_matmul);

const char *cpu_embed_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
uint64_t cpu_embed_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_embed_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
const char *cpu_cache_write_check(const struct sdk_kernel *kernel, const struct sdk_node *node);

/* Operators that are run by all threads together: expert.c, conv.c, attention.c, half.c. */
#define CPU_TOGETHER(name)                                                                                             \
    const char *cpu_##name##_check(const struct sdk_kernel *kernel, const struct sdk_node *node);                      \
    void cpu_##name##_run(const struct sdk_call *call, uint32_t thread, uint32_t threads);                             \
    uint64_t cpu_##name##_scratch(const struct sdk_call *call, uint32_t threads);                                      \
    uint64_t cpu_##name##_work(const struct sdk_call *call);
CPU_TOGETHER(expert)
void cpu_expert_prepare(const struct sdk_call *call, void *prepared);
void cpu_expert_release(const struct sdk_call *call, void *prepared);
uint32_t cpu_expert_describe(const struct sdk_call *call, char *name, uint32_t size);
/* The prepared bytes of a call with experts: its kernels for 1, 2, ... rows of an expert, of which the last is that of
 * all more rows; the bytes of a staged row at most; its matrix if experts have a limit. */
struct cpu_expert_prepared {
    struct cpu_product products[CPU_PRODUCT_ROWS];
    uint64_t row_bytes;
    struct cpu_expert_matrix *matrix;
};
CPU_TOGETHER(conv)
uint32_t cpu_conv_describe(const struct sdk_call *call, char *name, uint32_t size);
CPU_TOGETHER(attention)
CPU_TOGETHER(dense)
CPU_TOGETHER(half)
uint32_t cpu_half_describe(const struct sdk_call *call, char *name, uint32_t size);
/* Returns why a kernel does not run a node, NULL if it does. `others`: bits of inputs that are not F32. */
const char *cpu_gathered_check(const struct sdk_kernel *kernel, const struct sdk_node *node, uint32_t others,
                               uint32_t rounding);

/* Operators of operators.def. Vector operators share cpu_vector_part, which calls the function of the instruction set.
 * Work is in estimated nanoseconds on one thread, for sdk_kernel.work; 0 if splitting is not worth it. `rows`: kernels
 * that split rows; `elements`: kernels that split elements of their output. */
#define CPU_OPERATOR(op, name, flags, text, check, parts, work)                                                        \
    void cpu_##name##_part(const struct sdk_call *call, uint64_t begin, uint64_t end);                                 \
    CPU_VECTOR_OPERATOR(op, name, flags, text, check, parts, work)
#define CPU_VECTOR_OPERATOR(op, name, flags, text, check, parts, work)                                                 \
    uint64_t cpu_##parts##_parts(const struct sdk_call *call, uint64_t *out_grain);                                    \
    uint64_t cpu_##work##_work(const struct sdk_call *call);
#include "plugins/cpu/kernels/operators.def"
/* Accepts values of 4 bytes: the core has checked which of them are I32. */
const char *cpu_words_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
/* Accepts values of every type that is moved, of 4 or 2 bytes. */
const char *cpu_moved_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
const char *cpu_cast_check(const struct sdk_kernel *kernel, const struct sdk_node *node);

/* Estimated nanoseconds of `operations`: vector kernels execute `rate` per nanosecond, plain C one. */
static inline uint64_t cpu_time(const struct sdk_call *call, uint64_t operations, uint64_t rate)
{
    const struct cpu_device *device = call->device;

    return device->kernels.isa == CPU_ISA_SCALAR ? operations : operations / rate;
}

/* Returns the bits of a code of Q8_0 and of planar types, 0 for other types. */
static inline uint32_t cpu_code_bits(uint32_t type)
{
    return ACCEL_IS_PLANAR(type) ? ACCEL_PLANAR_BITS(type) : type == ACCEL_Q8_0 ? 8 : 0;
}

static inline bool cpu_is_half(uint32_t type)
{
    return type == ACCEL_F16 || type == ACCEL_BF16;
}

/* Returns the bytes of a value of F32, I32, F16 or BF16. */
static inline uint64_t cpu_value_bytes(uint32_t type)
{
    return cpu_is_half(type) ? 2 : 4;
}

static inline uint64_t cpu_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t cpu_round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

/* Fills a kernel's view of weights: planes, packed panels and row strides. */
void cpu_matrix_of(const struct cpu_device *device, const struct sdk_tensor *tensor, uint32_t weight,
                   struct cpu_matrix *out_matrix);

/* Makes a view of W [rows, width] begin at a row; of packed weights at a multiple of CPU_MATMUL_ROWS. */
void cpu_matrix_from(const struct cpu_device *device, uint64_t row, uint64_t width, struct cpu_matrix *matrix);

#endif
