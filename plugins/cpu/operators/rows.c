/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on rows (norms, softmax, rotary positions, gather) and on elements, and how vector operators are divided.
 */
#include <string.h>

#include "plugins/cpu/operators/operators.h"

const char *cpu_words_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        const struct accel_value *value = sdk_input(node, i);

        if (value != NULL && value->type != ACCEL_F32 && value->type != ACCEL_I32)
            return "values have to be F32 or I32";
    }
    return NULL;
}

uint64_t cpu_rows_work(const struct sdk_call *call)
{
    const struct sdk_tensor *x = call->inputs[0];

    return x->rows < 2 ? 0 : cpu_time(call, x->rows * x->width * 2, 2);
}

uint64_t cpu_rows_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    (void)out_grain;
    return call->inputs[0]->rows;
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

uint64_t cpu_reduce_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    const struct accel_reduce *attributes = call->attributes;

    *out_grain = attributes->axis + 1 == call->inputs[0]->rank ? 1 : CPU_MATMUL_ROWS;
    return call->outputs[0]->rows * call->outputs[0]->width;
}

uint64_t cpu_reduce_work(const struct sdk_call *call)
{
    return cpu_time(call, call->inputs[0]->rows * call->inputs[0]->width, 4);
}

uint64_t cpu_group_norm_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    (void)out_grain;
    return call->inputs[0]->dims[0] * ((const struct accel_group_norm *)call->attributes)->groups;
}

uint64_t cpu_places_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    (void)out_grain;
    return call->outputs[0]->rows;
}

uint64_t cpu_places_work(const struct sdk_call *call)
{
    const struct sdk_tensor *x = call->inputs[0], *y = call->outputs[0];

    return cpu_time(call, (x->rows > y->rows ? x->rows : y->rows) * x->width * 4, 4);
}

uint64_t cpu_rotary_work(const struct sdk_call *call)
{
    const struct sdk_tensor *x = call->inputs[0];

    return x->dims[0] < 2 ? 0 : cpu_time(call, x->rows * x->width * 2, 2);
}

/* Splits a single token by heads (in elements), more tokens by token. */
uint64_t cpu_rotary_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    const struct sdk_tensor *x = call->inputs[0];

    if (x->dims[0] != 1)
        return x->dims[0];
    *out_grain = x->dims[2];
    return x->dims[1] * x->dims[2];
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
    const uint64_t bytes = row * cpu_value_bytes(x->type);
    const char *from = x->planes[0];
    char *to = call->outputs[0]->planes[0];

    for (uint64_t i = begin; i < end; i++) {
        uint64_t source = index[i] >= 0 && (uint64_t)index[i] < rows ? (uint64_t)index[i] : 0;

        memcpy(to + i * bytes, from + source * bytes, bytes);
    }
}

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
