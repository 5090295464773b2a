/* SPDX-License-Identifier: Apache-2.0 */
/* Norms, element-wise operators and rows. */
#include "plugins/cpu/operators/operators.h"

#include <string.h>

/* Elements below which a cut costs more than it saves, and a multiple of a cache line. */
#define GRAIN 256u

uint64_t cpu_rows_work(const struct sdk_call *call)
{
    const struct sdk_tensor *x = call->inputs[0];

    return x->rows < 2 ? 0 : cpu_time(call, x->rows * x->width * 2, 2);
}

uint64_t cpu_elements_work(const struct sdk_call *call)
{
    const struct sdk_tensor *y = call->outputs[0];

    return y->rows * y->width <= GRAIN ? 0 : cpu_time(call, y->rows * y->width * 2, 4);
}

uint64_t cpu_rows_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    (void)out_grain;
    return call->inputs[0]->rows;
}

uint64_t cpu_elements_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    *out_grain = GRAIN;
    return call->outputs[0]->rows * call->outputs[0]->width;
}

static void norm(const struct sdk_call *call, cpu_norm_fn *kernel, uint64_t begin, uint64_t end)
{
    const struct accel_norm *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0];
    const struct sdk_tensor *bias = call->inputs[2];

    kernel(x->planes[0], call->inputs[1]->planes[0], bias == NULL ? NULL : bias->planes[0], attributes->epsilon,
           x->width, call->outputs[0]->planes[0], begin, end);
}

void cpu_rms_norm_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    norm(call, ((const struct cpu_device *)call->device)->kernels.rms_norm, begin, end);
}

void cpu_layer_norm_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    norm(call, ((const struct cpu_device *)call->device)->kernels.layer_norm, begin, end);
}

void cpu_softmax_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct cpu_device *device = call->device;

    device->kernels.softmax(call->inputs[0]->planes[0], call->inputs[0]->width, call->outputs[0]->planes[0], begin,
                            end);
}

const char *cpu_argmax_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return sdk_input(node, 0)->type == ACCEL_F32 && sdk_output(node, 0)->type == ACCEL_I32
               ? NULL
               : "x has to be F32 and y I32";
}

void cpu_argmax_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct cpu_device *device = call->device;

    device->kernels.argmax(call->inputs[0]->planes[0], call->inputs[0]->width, call->outputs[0]->planes[0], begin, end);
}

static void binary(const struct sdk_call *call, cpu_binary_fn *kernel, uint64_t begin, uint64_t end)
{
    const struct sdk_tensor *b = call->inputs[1];

    kernel(call->inputs[0]->planes[0], b->planes[0], b->rows * b->width, call->outputs[0]->planes[0], begin, end);
}

void cpu_add_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    binary(call, ((const struct cpu_device *)call->device)->kernels.add, begin, end);
}

void cpu_mul_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    binary(call, ((const struct cpu_device *)call->device)->kernels.mul, begin, end);
}

void cpu_activation_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct cpu_device *device = call->device;
    const struct accel_activation *attributes = call->attributes;

    device->kernels.activation(attributes->function, call->inputs[0]->planes[0], call->outputs[0]->planes[0], begin,
                               end);
}

void cpu_gate_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct cpu_device *device = call->device;
    const struct accel_activation *attributes = call->attributes;

    device->kernels.gate(attributes->function, call->inputs[0]->planes[0], call->inputs[1]->planes[0],
                         call->outputs[0]->planes[0], begin, end);
}

const char *cpu_gather_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    /* Rows are moved as they are: any type of 32 bits will do. */
    if (sdk_input(node, 0)->type != ACCEL_F32 && sdk_input(node, 0)->type != ACCEL_I32)
        return "x has to be F32 or I32";
    return sdk_input(node, 1)->type == ACCEL_I32 ? NULL : "index has to be I32";
}

uint64_t cpu_gather_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    (void)out_grain;
    return call->inputs[1]->width;
}

void cpu_gather_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct sdk_tensor *x = call->inputs[0];
    const int32_t *index = call->inputs[1]->planes[0];
    uint64_t rows = x->dims[0];
    uint64_t row = x->rows * x->width / rows;
    const float *from = x->planes[0];
    float *to = call->outputs[0]->planes[0];

    for (uint64_t i = begin; i < end; i++) {
        uint64_t source = index[i] >= 0 && (uint64_t)index[i] < rows ? (uint64_t)index[i] : 0;

        memcpy(to + i * row, from + source * row, row * sizeof *to);
    }
}
