/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that move elements of 4 or 2 bytes: concat, slice, pad, permute. Parts are elements of y (of permute,
 * tiles), which are copied in runs that lie together in x and in y.
 */
#include <string.h>

#include "plugins/cpu/operators/operators.h"

#define TILE 16u /* elements of a side of a tile that permute transposes */

/* A value as [outer, extent, inner] about an axis. */
struct around {
    uint64_t outer, extent, inner;
};

static struct around around_of(const struct sdk_tensor *value, uint32_t axis)
{
    struct around around = {1, value->dims[axis], 1};

    for (uint32_t d = 0; d < axis; d++)
        around.outer *= value->dims[d];
    for (uint32_t d = axis + 1; d < value->rank; d++)
        around.inner *= value->dims[d];
    return around;
}

const char *cpu_moved_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        const struct accel_value *value = sdk_input(node, i);

        if (value != NULL && value->type != ACCEL_F32 && value->type != ACCEL_I32 && !cpu_is_half(value->type))
            return "values have to be F32, I32, F16 or BF16";
    }
    return NULL;
}

static void copy(const struct sdk_call *call, uint64_t to, const struct sdk_tensor *x, uint64_t from, uint64_t count)
{
    const uint64_t size = cpu_value_bytes(x->type);

    memcpy((char *)call->outputs[0]->planes[0] + to * size, (const char *)x->planes[0] + from * size, count * size);
}

void cpu_concat_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const uint32_t axis = ((const struct accel_axis *)call->attributes)->axis;
    const struct around y = around_of(call->outputs[0], axis);

    for (uint64_t at = begin, count; at < end; at += count) {
        const uint64_t row = at / (y.extent * y.inner);
        uint64_t within = at % (y.extent * y.inner);

        count = 0;
        for (uint32_t i = 0; count == 0 && i < SDK_INPUTS; i++) {
            const struct sdk_tensor *x = call->inputs[i];
            const uint64_t run = x == NULL ? 0 : x->dims[axis] * y.inner;

            if (within >= run) {
                within -= run;
                continue;
            }
            count = cpu_least(run - within, end - at);
            copy(call, at, x, row * run + within, count);
        }
    }
}

void cpu_slice_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct accel_slice *attributes = call->attributes;
    const struct around x = around_of(call->inputs[0], attributes->axis);
    const uint64_t taken = attributes->step == 1 ? attributes->extent : 1, run = taken * x.inner;

    for (uint64_t at = begin, count; at < end; at += count) {
        const uint64_t index = at / run * taken, row = index / attributes->extent;
        const uint64_t place = attributes->begin + index % attributes->extent * attributes->step;

        count = cpu_least(run - at % run, end - at);
        copy(call, at, call->inputs[0], (row * x.extent + place) * x.inner + at % run, count);
    }
}

void cpu_pad_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct accel_pad *attributes = call->attributes;
    const struct around x = around_of(call->inputs[0], attributes->axis);
    const uint64_t before = attributes->before, extent = before + x.extent + attributes->after, last = x.extent - 1;
    float *y = call->outputs[0]->planes[0];

    for (uint64_t at = begin, count; at < end; at += count) {
        const uint64_t row = at / x.inner / extent, place = at / x.inner % extent, within = at % x.inner;
        const uint64_t outside = place < before ? before - place : place > before + last ? place - before - last : 0;
        uint64_t from = place - before;

        count = cpu_least(x.inner - within, end - at);
        if (outside == 0)
            count = cpu_least((x.extent - from) * x.inner - within, end - at);
        else if (attributes->mode == ACCEL_PAD_EDGE)
            from = place < before ? 0 : last;
        else
            from = place < before ? outside : last - outside;
        if (outside != 0 && attributes->mode == ACCEL_PAD_VALUE)
            for (uint64_t i = 0; i < count; i++)
                y[at + i] = attributes->value;
        else
            copy(call, at, call->inputs[0], (row * x.extent + from) * x.inner + within, count);
    }
}

/* A permutation as nested loops over the dimensions of y: extents, strides in y and in x. The dimension whose elements
 * are neighbours in x is `near`, that of neighbours in y the last. */
struct permutation {
    uint64_t extent[ACCEL_RANK], to[ACCEL_RANK], from[ACCEL_RANK];
    uint32_t rank, near;
};

static struct permutation permutation_of(const struct sdk_call *call)
{
    const uint32_t *order = ((const struct accel_permute *)call->attributes)->order;
    const struct sdk_tensor *x = call->inputs[0], *y = call->outputs[0];
    struct permutation p = {.rank = x->rank};
    uint64_t to = 1;

    for (uint32_t i = p.rank; i-- > 0; to *= y->dims[i]) {
        p.extent[i] = y->dims[i];
        p.to[i] = to;
        p.from[i] = 1;
        for (uint32_t d = order[i] + 1; d < p.rank; d++)
            p.from[i] *= x->dims[d];
        if (order[i] + 1 == p.rank)
            p.near = i;
    }
    return p;
}

/* Parts are rows of y, or of a permutation that moves the last dimension, tiles: spans of TILE of `near` for each place
 * of the other dimensions but the last. */
uint64_t cpu_permute_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    const struct permutation p = permutation_of(call);
    uint64_t parts = 1;

    (void)out_grain;
    for (uint32_t i = 0; i + 1 < p.rank; i++)
        parts *= i == p.near ? (p.extent[i] + TILE - 1) / TILE : p.extent[i];
    return parts;
}

/* Copies `rows` x `columns` elements whose rows are neighbours in x and whose columns are neighbours in y. */
static void transpose4(const char *x, uint64_t stride_x, char *y, uint64_t stride_y, uint64_t rows, uint64_t columns)
{
    for (uint64_t c = 0; c < columns; c++)
        for (uint64_t r = 0; r < rows; r++)
            memcpy(y + (r * stride_y + c) * 4, x + (c * stride_x + r) * 4, 4);
}

static void transpose2(const char *x, uint64_t stride_x, char *y, uint64_t stride_y, uint64_t rows, uint64_t columns)
{
    for (uint64_t c = 0; c < columns; c++)
        for (uint64_t r = 0; r < rows; r++)
            memcpy(y + (r * stride_y + c) * 2, x + (c * stride_x + r) * 2, 2);
}

void cpu_permute_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct permutation p = permutation_of(call);
    const uint32_t last = p.rank - 1;
    const uint64_t width = p.extent[last], size = cpu_value_bytes(call->inputs[0]->type);

    for (uint64_t part = begin; part < end; part++) {
        uint64_t left = part, from = 0, to = 0, rows = 1;

        for (uint32_t i = last; i-- > 0;) {
            const uint64_t step = i == p.near ? TILE : 1, count = (p.extent[i] + step - 1) / step;
            const uint64_t place = left % count * step;

            from += place * p.from[i];
            to += place * p.to[i];
            rows = i == p.near ? cpu_least(TILE, p.extent[i] - place) : rows;
            left /= count;
        }
        if (p.near == last)
            copy(call, to, call->inputs[0], from, width);
        for (uint64_t c = 0; p.near != last && c < width; c += TILE)
            (size == 4 ? transpose4 : transpose2)(
                (const char *)call->inputs[0]->planes[0] + (from + c * p.from[last]) * size, p.from[last],
                (char *)call->outputs[0]->planes[0] + (to + c) * size, p.to[p.near], rows, cpu_least(TILE, width - c));
    }
}
