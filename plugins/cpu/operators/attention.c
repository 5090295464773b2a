/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary positions, cache writes, attention. */
#include "plugins/cpu/operators/operators.h"

/* Tokens that a rank takes at a time: later tokens see more keys, so that long runs would leave ranks idle. */
#define TOKENS_AT_A_TIME 4u

static uint32_t is_cache_type(uint32_t type)
{
    return type == ACCEL_F32 || type == ACCEL_F16;
}

const char *cpu_attention_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    if (!is_cache_type(sdk_input(node, 1)->type) || !is_cache_type(sdk_input(node, 2)->type))
        return "keys and values have to be cached in F32 or F16";
    if (sdk_input(node, 0)->type != ACCEL_F32 || sdk_output(node, 0)->type != ACCEL_F32)
        return "q and y have to be F32";
    return NULL;
}

void cpu_attention_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    const struct cpu_device *device = call->device;
    const struct accel_attention *attributes = call->attributes;
    const struct sdk_tensor *q = call->inputs[0];
    const struct sdk_tensor *k = call->inputs[1];
    const struct sdk_tensor *v = call->inputs[2];
    const struct sdk_tensor *table = call->inputs[3];
    struct cpu_attention attention = {
        .q = q->planes[0],
        .y = call->outputs[0]->planes[0],
        .k = k->planes[0],
        .v = v->planes[0],
        .k_type = k->type,
        .v_type = v->type,
        .k_stride = k->width,
        .v_stride = v->width,
        .tokens = q->dims[0],
        .heads = q->dims[1],
        .kv_heads = attributes->kv_heads,
        .size = q->dims[2],
        .value_size = v->width / attributes->kv_heads,
        .sequences = table->dims[0],
        .first = call->inputs[4]->planes[0],
        .length = call->inputs[5]->planes[0],
        .table = table->planes[0],
        .pages = table->dims[1],
        .page = attributes->page,
        .window = attributes->window,
        .causal = attributes->causal,
        .scale = attributes->scale,
        .softcap = attributes->softcap,
    };
    uint64_t items = attention.tokens * attention.heads;
    uint64_t stride = TOKENS_AT_A_TIME * attention.heads;
    uint64_t begin, end;

    if (attention.tokens <= ranks) {
        sdk_split(items, attention.heads / attention.kv_heads, rank, ranks, &begin, &end);
        device->kernels.attention(&attention, begin, end);
        return;
    }
    for (begin = rank * stride; begin < items; begin += ranks * stride) {
        end = begin + stride < items ? begin + stride : items;
        device->kernels.attention(&attention, begin, end);
    }
}

/* Keys that a query sees at most: how many there are stands in an input. */
uint64_t cpu_attention_work(const struct sdk_call *call)
{
    const struct accel_attention *attributes = call->attributes;
    const struct sdk_tensor *q = call->inputs[0];
    uint64_t keys = call->inputs[3]->dims[1] * attributes->page;

    if (attributes->window != 0 && attributes->window < keys)
        keys = attributes->window;
    return cpu_time(call, q->rows * q->width * keys * 2, 4);
}

const char *cpu_cache_write_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    if (!is_cache_type(sdk_input(node, 2)->type))
        return "the cache has to be F32 or F16";
    return sdk_input(node, 0)->type == ACCEL_F32 && sdk_input(node, 1)->type == ACCEL_I32
               ? NULL
               : "x has to be F32 and slot I32";
}

void cpu_cache_write_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    const struct cpu_device *device = call->device;
    const struct sdk_tensor *state = call->inputs[2];
    uint64_t begin, end;

    sdk_split(call->inputs[1]->width, 1, rank, ranks, &begin, &end);
    device->kernels.cache_write(call->inputs[0]->planes[0], state->width, call->inputs[1]->planes[0], state->type,
                                state->planes[0], begin, end);
}

uint64_t cpu_cache_write_work(const struct sdk_call *call)
{
    const struct sdk_tensor *slot = call->inputs[1];

    return slot->width < 2 ? 0 : cpu_time(call, slot->width * call->inputs[2]->width, 4);
}

const char *cpu_rotary_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return sdk_all_f32(node, 1u << 1) && sdk_input(node, 1)->type == ACCEL_I32
               ? NULL
               : "x and frequency have to be F32 and position I32";
}

uint64_t cpu_rotary_work(const struct sdk_call *call)
{
    const struct sdk_tensor *x = call->inputs[0];

    return x->dims[0] < 2 ? 0 : cpu_time(call, x->rows * x->width * 2, 2);
}

void cpu_rotary_run(const struct sdk_call *call, uint32_t rank, uint32_t ranks)
{
    const struct cpu_device *device = call->device;
    const struct accel_rotary *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0];
    struct cpu_rotary rotary = {
        .x = x->planes[0],
        .y = call->outputs[0]->planes[0],
        .heads = x->dims[1],
        .size = x->dims[2],
        .position = call->inputs[1]->planes[0],
        .frequency = call->inputs[2]->planes[0],
        .pairs = call->inputs[2]->width,
        .pairing = attributes->pairing,
        .scale = attributes->scale,
    };
    uint64_t begin, end;

    sdk_split(x->dims[0], 1, rank, ranks, &begin, &end);
    device->kernels.rotary(&rotary, begin, end);
}
