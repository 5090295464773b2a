/* SPDX-License-Identifier: Apache-2.0 */
/* Norms, element-wise operators and rows: rows or elements are shared out over the ranks. */
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

static void run_norm(const struct sdk_call *call, cpu_norm_fn *kernel, uint32_t rank, uint32_t ranks)
{
    const struct accel_norm *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0];
    const struct sdk_tensor *bias = call->inputs[2];
    uint64_t begin, end;

    sdk_split(x->rows, 1, rank, ranks, &begin, &end);
    kernel(x->planes[0], call->inputs[1]->planes[0], bias == NULL ? NULL : bias->planes[0], attributes->epsilon,
           x->width, call->outputs[0]->planes[0], begin, end);
}

void cpu_rms_norm_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    run_norm(call, ((const struct cpu_device *)call->device)->kernels.rms_norm, rank, ranks);
}

void cpu_layer_norm_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    run_norm(call, ((const struct cpu_device *)call->device)->kernels.layer_norm, rank, ranks);
}

void cpu_softmax_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    const struct cpu_device *device = call->device;
    const struct sdk_tensor *x = call->inputs[0];
    uint64_t begin, end;

    sdk_split(x->rows, 1, rank, ranks, &begin, &end);
    device->kernels.softmax(x->planes[0], x->width, call->outputs[0]->planes[0], begin, end);
}

const char *cpu_argmax_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return sdk_input(node, 0)->type == ACCEL_F32 && sdk_output(node, 0)->type == ACCEL_I32
               ? NULL
               : "x has to be F32 and y I32";
}

void cpu_argmax_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    const struct cpu_device *device = call->device;
    const struct sdk_tensor *x = call->inputs[0];
    uint64_t begin, end;

    sdk_split(x->rows, 1, rank, ranks, &begin, &end);
    device->kernels.argmax(x->planes[0], x->width, call->outputs[0]->planes[0], begin, end);
}

static void run_binary(const struct sdk_call *call, cpu_binary_fn *kernel, uint32_t rank, uint32_t ranks)
{
    const struct sdk_tensor *a = call->inputs[0];
    const struct sdk_tensor *b = call->inputs[1];
    uint64_t begin, end;

    sdk_split(a->rows * a->width, GRAIN, rank, ranks, &begin, &end);
    kernel(a->planes[0], b->planes[0], b->rows * b->width, call->outputs[0]->planes[0], begin, end);
}

void cpu_add_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    run_binary(call, ((const struct cpu_device *)call->device)->kernels.add, rank, ranks);
}

void cpu_mul_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    run_binary(call, ((const struct cpu_device *)call->device)->kernels.mul, rank, ranks);
}

void cpu_activation_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    const struct cpu_device *device = call->device;
    const struct accel_activation *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0];
    uint64_t begin, end;

    sdk_split(x->rows * x->width, GRAIN, rank, ranks, &begin, &end);
    device->kernels.activation(attributes->function, x->planes[0], call->outputs[0]->planes[0], begin, end);
}

void cpu_gate_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    const struct cpu_device *device = call->device;
    const struct accel_activation *attributes = call->attributes;
    const struct sdk_tensor *gate = call->inputs[0];
    uint64_t begin, end;

    sdk_split(gate->rows * gate->width, GRAIN, rank, ranks, &begin, &end);
    device->kernels.gate(attributes->function, gate->planes[0], call->inputs[1]->planes[0], call->outputs[0]->planes[0],
                         begin, end);
}

const char *cpu_gather_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return sdk_all_f32(node, 1u << 1) && sdk_input(node, 1)->type == ACCEL_I32 ? NULL : "x has to be F32 and index I32";
}

void cpu_gather_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    const struct sdk_tensor *x = call->inputs[0];
    const int32_t *index = call->inputs[1]->planes[0];
    uint64_t rows = x->dims[0];
    uint64_t row = x->rows * x->width / rows;
    const float *from = x->planes[0];
    float *to = call->outputs[0]->planes[0];
    uint64_t begin, end;

    sdk_split(call->inputs[1]->width, 1, rank, ranks, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t source = index[i] >= 0 && (uint64_t)index[i] < rows ? (uint64_t)index[i] : 0;

        memcpy(to + i * row, from + source * row, row * sizeof *to);
    }
}
