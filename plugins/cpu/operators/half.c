/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Casts between types, and operators on F16 and BF16: inputs are widened to F32 in scratch memory, the kernel for F32
 * computes, and the result is narrowed. Bound: bytes.
 */
#include <accel/quant/half.h>

#include "plugins/cpu/operators/operators.h"

#define LINE 64u  /* bytes of a cache line */
#define SPAN 256u /* elements that are converted together; threads split at multiples of it */

/* ---- conversions ---- */

/* Floats are a row of an embedding table. */
static void widen(const struct sdk_call *call, uint32_t type, const void *from, uint64_t at, uint64_t count, float *to)
{
    const struct cpu_device *device = call->device;
    const struct cpu_matrix table = {.plane = {(const char *)from + at * cpu_value_bytes(type)}, .type = type};
    const int32_t row = 0;

    if (type != ACCEL_I32)
        device->kernels.embed[cpu_weight_of(type)](&table, 1, count, &row, to, 0, 1);
    for (uint64_t i = 0; type == ACCEL_I32 && i < count; i++)
        to[i] = (float)((const int32_t *)from)[at + i];
}

/* Cuts toward zero; what I32 does not hold is its nearest number, and a NaN 0. */
static int32_t cut(float x)
{
    if (x >= 0x1p31f)
        return INT32_MAX;
    if (x < -0x1p31f)
        return INT32_MIN;
    return x == x ? (int32_t)x : 0;
}

/* F32 and F16 are a slot of a cache. */
static void narrow(const struct sdk_call *call, const float *from, uint32_t type, void *to, uint64_t at, uint64_t count)
{
    const struct cpu_device *device = call->device;
    const struct cpu_cache cache = {(char *)to + at * cpu_value_bytes(type), type, .row = count};
    const int32_t slot = 0;

    if (type == ACCEL_F32 || type == ACCEL_F16)
        device->kernels.cache_write(from, &slot, &cache, 0, 1);
    for (uint64_t i = 0; type == ACCEL_BF16 && i < count; i++)
        ((uint16_t *)to)[at + i] = accel_bf16_from_f32(from[i]);
    for (uint64_t i = 0; type == ACCEL_I32 && i < count; i++)
        ((int32_t *)to)[at + i] = cut(from[i]);
}

static bool is_cast_type(uint32_t type)
{
    return type == ACCEL_F32 || type == ACCEL_I32 || cpu_is_half(type);
}

const char *cpu_cast_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return is_cast_type(sdk_input(node, 0)->type) && is_cast_type(sdk_output(node, 0)->type)
               ? NULL
               : "x and y have to be F32, F16, BF16 or I32";
}

void cpu_cast_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct sdk_tensor *x = call->inputs[0], *y = call->outputs[0];
    float span[SPAN];

    for (uint64_t at = begin, count; at < end; at += count) {
        count = cpu_least(SPAN, end - at);
        widen(call, x->type, x->planes[0], at, count, span);
        narrow(call, span, y->type, y->planes[0], at, count);
    }
}

/* ---- operators on halves ---- */

/* A call on halves, with the call of the F32 kernel, whose tensors lie in scratch. */
struct wide {
    struct sdk_tensor inputs[SDK_INPUTS];
    struct sdk_tensor output;
    struct sdk_call call;
    const struct sdk_kernel *kernel; /* NULL: matmul */
    uint64_t bytes;                  /* of scratch */
    void *staged;                    /* activations of matmul */
    struct cpu_product product;      /* of matmul */
};

/* Returns whether an input is widened: all halves are, but not W of a matmul. The variant is the operator. */
static bool is_widened(const struct sdk_call *call, uint32_t input)
{
    return call->inputs[input] != NULL && cpu_is_half(call->inputs[input]->type) &&
           !(call->variant == ACCEL_OP_MATMUL && input == 1);
}

static uint64_t elements_of(const struct sdk_tensor *tensor)
{
    return tensor->rows * tensor->width;
}

static void *place(const struct sdk_call *call, struct wide *wide, uint64_t bytes)
{
    void *at = call->scratch == NULL ? NULL : (char *)call->scratch + wide->bytes;

    wide->bytes += cpu_round_up(bytes, LINE);
    return at;
}

static void widen_tensor(const struct sdk_call *call, struct wide *wide, struct sdk_tensor *tensor)
{
    tensor->type = ACCEL_F32;
    tensor->planes[0] = place(call, wide, elements_of(tensor) * sizeof(float));
}

/* Finds the kernel for F32 that computes in parts. */
static const struct sdk_kernel *kernel_of(uint32_t op)
{
    for (uint32_t i = 0; i < CPU_OPERATORS; i++)
        if (cpu_operators[i].op == op && cpu_operators[i].part != NULL)
            return &cpu_operators[i];
    return NULL;
}

static void make_wide(const struct sdk_call *call, struct wide *wide)
{
    wide->call = *call;
    wide->bytes = 0;
    for (uint32_t i = 0; i < SDK_INPUTS; i++) {
        if (!is_widened(call, i))
            continue;
        wide->inputs[i] = *call->inputs[i];
        widen_tensor(call, wide, &wide->inputs[i]);
        wide->call.inputs[i] = &wide->inputs[i];
    }
    wide->output = *call->outputs[0];
    widen_tensor(call, wide, &wide->output);
    wide->call.outputs[0] = &wide->output;
    if (call->variant == ACCEL_OP_MATMUL) {
        const struct sdk_tensor *w = call->inputs[1];

        wide->kernel = NULL;
        wide->product = cpu_product_for(call->device, 0, w, call->inputs[0]->rows);
        if (wide->product.act != CPU_ACT_NONE)
            wide->staged = place(call, wide, cpu_act_bytes(wide->product.act, call->inputs[0]->rows, w->width));
        return;
    }
    wide->kernel = kernel_of(call->variant);
    wide->call.variant = wide->kernel->variant;
}

const char *cpu_half_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        const struct accel_value *value = sdk_input(node, i);
        const bool is_matrix = kernel->op == ACCEL_OP_MATMUL && i == 1;

        if (value == NULL)
            continue;
        if (is_matrix && cpu_weight_of(value->type) < 0)
            return "no kernel for this type of weights";
        if (!is_matrix && value->type != ACCEL_F32 && !cpu_is_half(value->type))
            return "inputs have to be F32, F16 or BF16";
    }
    return cpu_is_half(sdk_output(node, 0)->type) ? NULL : "activations in F32 have weights of vectors in F32";
}

uint32_t cpu_half_describe(const struct sdk_call *call, char *name, uint32_t size)
{
    return cpu_product_describe(call, 0, call->inputs[0]->rows, name, size);
}

uint64_t cpu_half_scratch(const struct sdk_call *call, uint32_t threads)
{
    struct wide wide;

    (void)threads;
    make_wide(call, &wide);
    return wide.bytes;
}

uint64_t cpu_half_work(const struct sdk_call *call)
{
    const struct sdk_tensor *y = call->outputs[0];
    const uint64_t each = call->variant == ACCEL_OP_MATMUL ? call->inputs[1]->width / 8 : 4;

    return elements_of(y) <= LINE ? 0 : cpu_time(call, elements_of(y) * (each + 1), 1);
}

static void multiply(const struct wide *wide, uint32_t thread, uint32_t threads)
{
    const struct sdk_call *call = &wide->call;
    const struct sdk_tensor *x = call->inputs[0], *w = call->inputs[1];
    struct cpu_matmul matmul;
    uint64_t begin, end;

    if (wide->product.act != CPU_ACT_NONE) {
        sdk_split(x->rows, cpu_act_grain(wide->product.act), thread, threads, &begin, &end);
        if (begin < end)
            cpu_act_stage(call->device, wide->product.act, (const float *)x->planes[0] + begin * w->width, w->width,
                          x->rows, wide->staged, begin, end);
        sdk_barrier_wait(call->barrier);
    }
    cpu_matmul_of(call, (uint32_t)cpu_weight_of(w->type), wide->product.act, wide->staged, &matmul);
    sdk_split(w->rows, CPU_MATMUL_ROWS, thread, threads, &begin, &end);
    if (begin < end)
        wide->product.run(&matmul, begin, end);
}

void cpu_half_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    struct wide wide;
    uint64_t begin, end, grain = 1;

    make_wide(call, &wide);
    for (uint32_t i = 0; i < SDK_INPUTS; i++) {
        if (!is_widened(call, i))
            continue;
        sdk_split(elements_of(call->inputs[i]), SPAN, thread, threads, &begin, &end);
        widen(call, call->inputs[i]->type, call->inputs[i]->planes[0], begin, end - begin,
              (float *)wide.inputs[i].planes[0] + begin);
    }
    sdk_barrier_wait(call->barrier);
    if (wide.kernel == NULL) {
        multiply(&wide, thread, threads);
    } else {
        const uint64_t parts = wide.kernel->parts(&wide.call, &grain);

        sdk_split(parts, grain, thread, threads, &begin, &end);
        if (begin < end)
            wide.kernel->part(&wide.call, begin, end);
    }
    sdk_barrier_wait(call->barrier);
    sdk_split(elements_of(&wide.output), SPAN, thread, threads, &begin, &end);
    narrow(call, (const float *)wide.output.planes[0] + begin, call->outputs[0]->type, call->outputs[0]->planes[0],
           begin, end - begin);
}
