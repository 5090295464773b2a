/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators of the cpu driver: how a node of a graph becomes calls of kernels on the ranks of a crew. One file for
 * each kind; table.c lists them.
 */
#ifndef CPU_OPERATORS_H
#define CPU_OPERATORS_H

#include "plugins/cpu/device.h"

/* A variant has the type of the weights (enum cpu_weight; 0 where an operator reads none) and, with this bit, says that
 * x is rounded first: to BF16 for weights in F16 and BF16, else to 8 bits. */
#define CPU_ROUNDED 0x100u

static inline uint32_t cpu_variant_weight(uint32_t variant)
{
    return variant & (CPU_ROUNDED - 1u);
}

/* Of one kernel: what sdk_kernel's functions of the same names do. Matmul shares out columns of y (rows of W), norms
 * and softmax rows, the others elements or tokens. */
const char *cpu_matmul_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
uint64_t cpu_matmul_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_matmul_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
uint64_t cpu_matmul_form(const struct sdk_call *call, uint32_t *out_form);
uint64_t cpu_matmul_form_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_matmul_form_part(const struct sdk_call *call, uint64_t begin, uint64_t end);

const char *cpu_embed_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
uint64_t cpu_embed_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_embed_part(const struct sdk_call *call, uint64_t begin, uint64_t end);

const char *cpu_attention_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
void cpu_attention_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks);
const char *cpu_cache_write_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
uint64_t cpu_cache_write_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_cache_write_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
const char *cpu_rotary_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
uint64_t cpu_rotary_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_rotary_part(const struct sdk_call *call, uint64_t begin, uint64_t end);

uint64_t cpu_rows_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_rms_norm_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
void cpu_layer_norm_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
void cpu_softmax_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
const char *cpu_argmax_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
void cpu_argmax_part(const struct sdk_call *call, uint64_t begin, uint64_t end);

uint64_t cpu_elements_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_add_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
void cpu_mul_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
void cpu_activation_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
void cpu_gate_part(const struct sdk_call *call, uint64_t begin, uint64_t end);
const char *cpu_gather_check(const struct sdk_kernel *kernel, const struct sdk_node *node);
uint64_t cpu_gather_parts(const struct sdk_call *call, uint64_t *out_grain);
void cpu_gather_part(const struct sdk_call *call, uint64_t begin, uint64_t end);

/* Nanoseconds of one rank, for sdk_kernel.work; 0 where there is nothing to share out. `rows`: kernels that share out
 * rows; `elements`: those that share out elements of their output. */
uint64_t cpu_matmul_work(const struct sdk_call *call);
uint64_t cpu_attention_work(const struct sdk_call *call);
uint64_t cpu_attention_scratch(const struct sdk_call *call, uint32_t ranks);
uint64_t cpu_cache_write_work(const struct sdk_call *call);
uint64_t cpu_rotary_work(const struct sdk_call *call);
uint64_t cpu_rows_work(const struct sdk_call *call);
uint64_t cpu_elements_work(const struct sdk_call *call);

/* The time of `operations`, of which vectors do `rate` in a nanosecond and plain C one. */
static inline uint64_t cpu_time(const struct sdk_call *call, uint64_t operations, uint64_t rate)
{
    const struct cpu_device *device = call->device;

    return device->kernels.level == CPU_LEVEL_SCALAR ? operations : operations / rate;
}

/* Planes, panels and row lengths of weights as the kernels want them. */
void cpu_matrix_of(const struct cpu_device *device, const struct sdk_tensor *tensor, uint32_t weight,
                   struct cpu_matrix *out_matrix);

#endif
