/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution over one or two places. Rows of what an output place reads (im2col) are gathered a few at a time, staged,
 * and multiplied by the kernels of matmul; a transposed convolution gathers the places that add to an output. If
 * each group has one channel (depthwise), the outputs of a place are sums of products of neighbouring channels. Threads
 * take pieces of places; of few places all stage the same ones and split the outputs. Pieces and their kernel depend on
 * the places alone, so that results have the same bits with every number of threads.
 */
#include <stdio.h>
#include <string.h>

#include "plugins/cpu/operators/operators.h"

#define GATHER 32u /* rows that are gathered before they are staged, at least those of a grain; a step of pieces */
#define ROWS 96u   /* most rows that are staged together, a multiple of every grain; twice as many short ones */
#define LINE 64u

struct conv {
    const struct cpu_device *device;
    const struct sdk_call *call;
    const struct accel_conv *at;
    uint64_t in[2], out[2];                /* extents of places */
    uint64_t channels, outputs, k, places; /* places: of y, of all images */
    uint64_t rows;                         /* that are staged together, at most */
    uint32_t weight, depthwise;
    struct cpu_product product;
    uint64_t staged_bytes, own_bytes; /* of staged rows; of a thread: gathered rows [GATHER, k] and staged ones */
};

static struct conv conv_of(const struct sdk_call *call)
{
    const struct sdk_tensor *x = call->inputs[0], *w = call->inputs[1], *y = call->outputs[0];
    struct conv c = {
        .device = call->device,
        .call = call,
        .at = call->attributes,
        .in = {x->rank == 4 ? x->dims[1] : 1, x->dims[x->rank - 2]},
        .out = {y->rank == 4 ? y->dims[1] : 1, y->dims[y->rank - 2]},
        .channels = x->width,
        .outputs = y->width,
        .k = w->width,
        .places = y->rows,
        .weight = (uint32_t)cpu_weight_of(w->type),
        .product = cpu_product_for(call->device, call->variant, w, y->rows),
    };

    c.depthwise = c.at->groups == c.channels && c.channels > 1;
    c.rows = c.k > 1024 ? ROWS : 2 * ROWS;
    /* Places that are staged in another way are less than CPU_PRODUCT_ROWS, and do not take more. */
    c.staged_bytes =
        cpu_round_up(cpu_act_bytes(cpu_product_for(c.device, call->variant, w, c.rows).act, c.rows, c.k), LINE);
    c.own_bytes = cpu_round_up(GATHER * c.k * sizeof(float), LINE) + c.staged_bytes;
    if (c.depthwise)
        c.own_bytes = cpu_round_up((c.outputs + 1) * c.k * sizeof(float), LINE);
    return c;
}

const char *cpu_conv_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    const struct accel_conv *attributes = node->node->attributes;

    return cpu_gathered_check(kernel, node, 1u << 1, attributes->rounding);
}

uint32_t cpu_conv_describe(const struct sdk_call *call, char *name, uint32_t size)
{
    const struct conv c = conv_of(call);

    if (!c.depthwise)
        return cpu_product_describe(call, call->variant, c.places, name, size);
    snprintf(name, size, "depthwise %s", cpu_isa_name(c.device->kernels.isa));
    return ACCEL_VARIANT_OWN + CPU_PRODUCTS;
}

uint64_t cpu_conv_scratch(const struct sdk_call *call, uint32_t threads)
{
    return threads * conv_of(call).own_bytes;
}

uint64_t cpu_conv_work(const struct sdk_call *call)
{
    return cpu_time(call, call->outputs[0]->rows * call->outputs[0]->width * call->inputs[1]->width, 8);
}

/* Finds the place of x that place `out` of y reads at place `tap` of the kernel. Returns 0 where there is none. */
static uint32_t find_place(const struct conv *c, uint32_t axis, uint64_t out, uint64_t tap, uint64_t *out_place)
{
    const uint64_t step = tap * c->at->dilation[axis], before = c->at->before[axis], stride = c->at->stride[axis];

    if (!c->at->transposed) {
        *out_place = out * stride + step - before;
        return out * stride + step >= before && *out_place < c->in[axis];
    }
    *out_place = (out + before - step) / stride;
    return out + before >= step && (out + before - step) % stride == 0 && *out_place < c->in[axis];
}

/* Gathers the row of the kernel whose places lie in row `top` of an image, `left` and on, where neighbours in the
 * kernel are neighbours in x. */
static void gather_run(const struct conv *c, const float *image, uint64_t top, uint64_t out, float *to)
{
    const uint64_t begin = out * c->at->stride[1], before = c->at->before[1], across = c->at->kernel[1];
    const uint64_t from = before > begin ? cpu_least(before - begin, across) : 0;
    const uint64_t last = c->in[1] + before > begin ? cpu_least(c->in[1] + before - begin, across) : 0;
    const uint64_t seen = last > from ? last - from : 0, size = c->channels * sizeof(*to);

    memset(to, 0, from * size);
    if (seen != 0)
        memcpy(to + from * c->channels, image + (top * c->in[1] + begin + from - before) * c->channels, seen * size);
    memset(to + (from + seen) * c->channels, 0, (across - from - seen) * size);
}

/* Gathers what place `place` of y reads of the channels of a group. */
static void gather_row(const struct conv *c, uint64_t place, uint64_t group, float *to)
{
    const uint64_t count = c->channels / c->at->groups, across = c->at->kernel[1];
    const uint64_t image = place / (c->out[0] * c->out[1]);
    const float *x = (const float *)c->call->inputs[0]->planes[0] + image * c->in[0] * c->in[1] * c->channels;

    for (uint64_t h = 0; h < c->at->kernel[0]; h++) {
        uint64_t top, left;
        const uint32_t seen = find_place(c, 0, place / c->out[1] % c->out[0], h, &top);

        if (seen && c->at->dilation[1] == 1 && c->at->groups == 1 && !c->at->transposed) {
            gather_run(c, x, top, place % c->out[1], to);
            to += across * count;
            continue;
        }
        for (uint64_t w = 0; w < across; w++, to += count) {
            if (seen && find_place(c, 1, place % c->out[1], w, &left))
                memcpy(to, x + (top * c->in[1] + left) * c->channels + group * count, count * sizeof(*to));
            else
                memset(to, 0, count * sizeof(*to));
        }
    }
}

/* Stages rows begin .. end of the `rows` places from `place` on. */
static void stage_rows(const struct conv *c, uint64_t place, uint64_t rows, uint64_t group, uint64_t begin,
                       uint64_t end, float *gathered, void *staged)
{
    const uint64_t grain = cpu_act_grain(c->product.act);

    for (uint64_t r = begin, count; r < end; r += count) {
        count = cpu_least(GATHER / grain * grain, end - r);
        for (uint64_t i = 0; i < count; i++)
            gather_row(c, place + r + i, group, gathered + i * c->k);
        cpu_act_stage(c->device, c->product.act, gathered, c->k, rows, staged, r, r + count);
    }
}

/* Computes outputs begin .. end of a group for staged places. */
static void multiply_rows(const struct conv *c, uint64_t place, uint64_t rows, uint64_t group, uint64_t begin,
                          uint64_t end, void *staged)
{
    const struct sdk_tensor *bias = c->call->inputs[2];
    const uint64_t from = group * (c->outputs / c->at->groups) + begin;
    struct cpu_matmul matmul = {
        .m = rows,
        .n = end - begin,
        .k = c->k,
        .x = staged,
        .x_stride = c->k,
        .bias = bias == NULL ? NULL : (const float *)bias->planes[0] + from,
        .function = c->at->function,
        .y = (float *)c->call->outputs[0]->planes[0] + place * c->outputs + from,
        .y_stride = c->outputs,
    };

    cpu_matrix_of(c->device, c->call->inputs[1], c->weight, &matmul.w);
    cpu_matrix_from(c->device, from, c->k, &matmul.w);
    cpu_act_bind(c->product.act, &matmul, staged);
    c->product.run(&matmul, 0, end - begin);
}

/* Computes places begin .. end of a depthwise convolution. `weights` holds W as [taps, outputs], and then a row of
 * W. */
static void run_depthwise(const struct conv *c, uint64_t begin, uint64_t end, float *weights)
{
    const float *bias = c->call->inputs[2] == NULL ? NULL : c->call->inputs[2]->planes[0];
    const struct cpu_device *device = c->device;
    const uint64_t each = c->outputs / c->channels;
    float *row = weights + c->outputs * c->k;
    struct cpu_matrix w;

    cpu_matrix_of(device, c->call->inputs[1], c->weight, &w);
    for (uint64_t o = 0; o < c->outputs; o++) {
        const int32_t id = (int32_t)o;

        device->kernels.embed[c->weight](&w, c->outputs, c->k, &id, row, 0, 1);
        for (uint64_t t = 0; t < c->k; t++)
            weights[t * c->outputs + o] = row[t];
    }
    for (uint64_t place = begin; place < end; place++) {
        float *y = (float *)c->call->outputs[0]->planes[0] + place * c->outputs;

        if (bias != NULL)
            memcpy(y, bias, c->outputs * sizeof(*y));
        else
            memset(y, 0, c->outputs * sizeof(*y));
        for (uint64_t t = 0; t < c->k; t++) {
            const uint64_t image = place / (c->out[0] * c->out[1]);
            uint64_t top, left;

            if (find_place(c, 0, place / c->out[1] % c->out[0], t / c->at->kernel[1], &top) &&
                find_place(c, 1, place % c->out[1], t % c->at->kernel[1], &left))
                device->kernels.add_products((const float *)c->call->inputs[0]->planes[0] +
                                                 ((image * c->in[0] + top) * c->in[1] + left) * c->channels,
                                             weights + t * c->outputs, each, c->outputs, y);
        }
        if (c->at->function != ACCEL_FN_NONE)
            device->kernels.activation(c->at->function, y, y, 0, c->outputs);
    }
}

void cpu_conv_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct conv c = conv_of(call);
    const uint64_t outputs = c.outputs / c.at->groups;
    const uint64_t pieces = (c.places + c.rows - 1) / c.rows;
    const uint64_t few = outputs < threads * CPU_MATMUL_ROWS ? threads : 4 * (uint64_t)threads;
    const uint32_t together = c.at->groups == 1 && pieces < few;
    char *own = (char *)call->scratch + thread * c.own_bytes, *staged;
    uint64_t begin = 0, end = c.depthwise ? c.places : pieces * c.at->groups, low = 0, high = outputs;

    if (together)
        sdk_split(outputs, CPU_MATMUL_ROWS, thread, threads, &low, &high);
    else
        sdk_split(end, 1, thread, threads, &begin, &end);
    if (c.depthwise) {
        run_depthwise(&c, begin, end, (float *)(void *)own);
        return;
    }
    staged = (together ? (char *)call->scratch : own) + c.own_bytes - c.staged_bytes;
    for (uint64_t i = begin; i < end; i++) {
        const uint64_t group = i % c.at->groups;
        uint64_t place, rows, from = 0, to;

        sdk_split(c.places, GATHER, (uint32_t)(i / c.at->groups), (uint32_t)pieces, &place, &rows);
        to = rows -= place;
        if (together)
            sdk_split(rows, cpu_act_grain(c.product.act), thread, threads, &from, &to);
        stage_rows(&c, place, rows, group, from, to, (float *)(void *)own, staged);
        if (together)
            sdk_barrier_wait(call->barrier);
        if (low < high)
            multiply_rows(&c, place, rows, group, low, high, staged);
        if (together)
            sdk_barrier_wait(call->barrier);
    }
}
