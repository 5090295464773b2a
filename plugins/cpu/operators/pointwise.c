/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators. */
#include "plugins/cpu/operators/operators.h"

/* Smallest span worth a thread; a multiple of a cache line. */
#define GRAIN 256u

uint64_t cpu_elements_work(const struct sdk_call *call)
{
    const struct sdk_tensor *y = call->outputs[0];

    return y->rows * y->width <= GRAIN ? 0 : cpu_time(call, y->rows * y->width * 2, 4);
}

uint64_t cpu_elements_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    *out_grain = GRAIN;
    return call->outputs[0]->rows * call->outputs[0]->width;
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
