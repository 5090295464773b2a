/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of operators over places of images and sound, and of reductions. */
#include <stdbool.h>

#include <accel/ops.h>

#include "sdk/gpu/kernels/rows.h"

/* ---- reduce ---- */

const char *gpu_reduce_check(const struct gpu_row *row, const struct sdk_node *node)
{
    (void)row;
    return sdk_all_f32(node, 1u << 1) && (sdk_input(node, 1) == NULL || sdk_input(node, 1)->type == ACCEL_I32)
               ? NULL
               : "x and y have to be F32 and first I32";
}

/* Items that share an element, where the elements of a row of x are not neighbours. */
#define SLICES 8u

void gpu_reduce_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *first = call->inputs[1], *y = call->outputs[0];
    const struct accel_reduce *attributes = call->attributes;
    const struct gpu_arrangement arrangement = gpu_arrange(call->limits);
    const bool is_row = first == NULL && attributes->axis == x->rank - 1;
    const uint32_t group = is_row ? arrangement.row_group : arrangement.element_group;
    const uint32_t slices = is_row || group < SLICES ? group : SLICES;
    const uint64_t count = y->rows * y->width;
    uint64_t inner = 1;
    struct gpu_launch launch = {.source = "reduce",
                                .constants = {group, attributes->kind, slices, first != NULL},
                                .bind_count = 3,
                                .binds = {gpu_read(x), gpu_read(first), gpu_write(y)},
                                .word_count = 3};

    for (uint32_t d = attributes->axis + 1; d < x->rank; d++)
        inner *= x->dims[d];
    launch.words[0] = (uint32_t)count;
    launch.words[1] = (uint32_t)x->dims[attributes->axis];
    launch.words[2] = (uint32_t)inner;
    gpu_fold(call->limits, gpu_pieces(count, group / slices), launch.groups);
    gpu_emit(emitter, &launch);
}

/* ---- group norm ---- */

void gpu_group_norm_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *bias = call->inputs[2];
    const struct accel_group_norm *attributes = call->attributes;
    const uint64_t images = x->dims[0], count = images * attributes->groups;
    struct gpu_launch launch = {
        .source = "group_norm",
        .constants = {gpu_arrange(call->limits).row_group, bias != NULL},
        .bind_count = 4,
        .binds = {gpu_read(x), gpu_read(call->inputs[1]), gpu_write(call->outputs[0]), gpu_read(bias)},
        .words = {(uint32_t)count, attributes->groups, (uint32_t)(images == 0 ? 0 : x->rows / images),
                  (uint32_t)(x->width / attributes->groups), gpu_float_word(attributes->epsilon)},
        .word_count = 5};

    gpu_use_subgroups(call->limits, &launch, 2);
    gpu_fold(call->limits, x->rows == 0 ? 0 : count, launch.groups);
    gpu_emit(emitter, &launch);
}

/* ---- places ---- */

/* Returns height (axis 0) or width of a value [n, (height,) width, channels]. */
static uint64_t places_of(const struct gpu_tensor *tensor, uint32_t axis)
{
    return axis == 0 ? tensor->rank == 3 ? 1 : tensor->dims[1] : tensor->dims[tensor->rank - 2];
}

/* Sets the extents of places of x and y, four words. */
static void set_places(const struct gpu_tensor *x, const struct gpu_tensor *y, uint32_t *words)
{
    for (uint32_t axis = 0; axis < 2; axis++) {
        words[axis] = (uint32_t)places_of(x, axis);
        words[2 + axis] = (uint32_t)places_of(y, axis);
    }
}

static void set_pair(const uint32_t pair[2], uint32_t *words)
{
    words[0] = pair[0];
    words[1] = pair[1];
}

void gpu_pool_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *y = call->outputs[0];
    const struct accel_pool *attributes = call->attributes;
    const uint32_t group = gpu_arrange(call->limits).element_group;
    const uint64_t count = y->rows * y->width;
    struct gpu_launch launch = {.source = "pool",
                                .constants = {group, attributes->kind == ACCEL_POOL_MAX ? 0
                                                     : attributes->count_outside == 0   ? 1
                                                                                        : 2},
                                .bind_count = 2,
                                .binds = {gpu_read(x), gpu_write(y)},
                                .words = {(uint32_t)count, (uint32_t)x->width},
                                .word_count = 12};

    set_places(x, y, launch.words + 2);
    set_pair(attributes->kernel, launch.words + 6);
    set_pair(attributes->stride, launch.words + 8);
    set_pair(attributes->before, launch.words + 10);
    gpu_fold(call->limits, gpu_pieces(count, group), launch.groups);
    gpu_emit(emitter, &launch);
}

/* Places are quotients of products that have to fit 31 bits. */
const char *gpu_resize_check(const struct gpu_row *row, const struct sdk_node *node)
{
    const struct accel_resize *attributes = node->node->attributes;
    const struct accel_value *x = sdk_input(node, 0);

    (void)row;
    if (!sdk_all_f32(node, 0))
        return "x and y have to be F32";
    for (uint32_t axis = x->rank == 3; axis < 2; axis++)
        if (x->dims[x->rank - 3 + axis].add > (uint64_t)INT32_MAX / 2 / attributes->extent[axis])
            return "twice the product of the extents of x and y along an axis is not below 2^31";
    return NULL;
}

void gpu_resize_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *y = call->outputs[0];
    const struct accel_resize *attributes = call->attributes;
    const uint32_t group = gpu_arrange(call->limits).element_group;
    const uint64_t count = y->rows * y->width;
    struct gpu_launch launch = {.source = "resize",
                                .constants = {group, attributes->mode, attributes->align_corners},
                                .bind_count = 2,
                                .binds = {gpu_read(x), gpu_write(y)},
                                .words = {(uint32_t)count, (uint32_t)x->width},
                                .word_count = 6};

    set_places(x, y, launch.words + 2);
    gpu_fold(call->limits, gpu_pieces(count, group), launch.groups);
    gpu_emit(emitter, &launch);
}

/* ---- convolution ---- */

#define ROWS_BYTES (UINT64_C(32) << 20) /* of scratch for rows of windows, unless 64 rows need more */
#define ROWS_LEAST 64u

/* Returns whether a window is one place, so that x itself is the matrix of rows. */
static bool is_plain(const struct accel_conv *attributes)
{
    for (uint32_t axis = 0; axis < 2; axis++)
        if (attributes->kernel[axis] != 1 || attributes->stride[axis] != 1 || attributes->before[axis] != 0 ||
            attributes->after[axis] != 0)
            return false;
    return attributes->groups == 1;
}

/* Returns the places of y for the highest symbols. */
static uint64_t most_places(const struct gpu_call *call)
{
    const struct gpu_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint64_t of_x = places_of(x, 0) * places_of(x, 1), of_y = places_of(y, 0) * places_of(y, 1);

    return of_x == 0 ? 0 : x->most_rows / of_x * of_y;
}

/* Returns the number of rows of windows that are made at a time. */
static uint64_t rows_at_a_time(const struct gpu_call *call)
{
    const uint64_t most = most_places(call), row = 4 * call->inputs[1]->width;
    uint64_t rows = ROWS_BYTES / row / ROWS_LEAST * ROWS_LEAST;

    if (rows < ROWS_LEAST)
        rows = ROWS_LEAST;
    return rows < most ? rows : most;
}

uint64_t gpu_conv_scratch(const struct gpu_call *call)
{
    const struct accel_conv *attributes = call->attributes;

    if (attributes->groups > 1 || is_plain(attributes))
        return 0;
    return 4 * call->inputs[1]->width * rows_at_a_time(call);
}

/* Sets the parameters of conv_places.h, 13 words. */
static void set_windows(const struct gpu_call *call, uint32_t *words)
{
    const struct accel_conv *attributes = call->attributes;

    words[0] = (uint32_t)call->inputs[0]->width;
    set_places(call->inputs[0], call->outputs[0], words + 1);
    set_pair(attributes->kernel, words + 5);
    set_pair(attributes->stride, words + 7);
    set_pair(attributes->dilation, words + 9);
    set_pair(attributes->before, words + 11);
}

static void emit_direct(const struct gpu_call *call, struct gpu_emitter *emitter, uint32_t part)
{
    const struct gpu_tensor *w = call->inputs[1], *bias = call->inputs[2], *y = call->outputs[0];
    const struct accel_conv *attributes = call->attributes;
    const uint32_t group = gpu_arrange(call->limits).element_group;
    const uint64_t count = y->rows * gpu_part_rows(w, part);
    struct gpu_launch launch = {
        .source = "conv_direct", .constants = {group}, .bind_count = 6, .words = {(uint32_t)count}, .word_count = 20};

    if (!gpu_use_format(&launch, w->type))
        return;
    launch.constants[5] = attributes->transposed;
    gpu_bind_matrix(&launch, w, part);
    launch.binds[3] = gpu_read(call->inputs[0]);
    launch.binds[4] = gpu_write(y);
    launch.binds[5] = gpu_read(bias);
    set_windows(call, launch.words + 1);
    launch.words[14] = attributes->groups;
    launch.words[15] = (uint32_t)gpu_part_rows(w, part);
    launch.words[16] = (uint32_t)(part * w->part_rows);
    launch.words[17] = (uint32_t)y->width;
    launch.words[18] = attributes->function;
    launch.words[19] = bias != NULL;
    gpu_fold(call->limits, gpu_pieces(count, group), launch.groups);
    gpu_emit(emitter, &launch);
}

/* Writes `rows` rows of windows, from that of place `first` of y on, to scratch. */
static void emit_rows(const struct gpu_call *call, struct gpu_emitter *emitter, uint64_t first, uint64_t rows)
{
    const struct accel_conv *attributes = call->attributes;
    const uint32_t group = gpu_arrange(call->limits).element_group;
    const uint64_t count = rows * call->inputs[1]->width;
    struct gpu_launch launch = {.source = "conv_rows",
                                .constants = {group, attributes->transposed},
                                .bind_count = 2,
                                .binds = {gpu_read(call->inputs[0]), gpu_write(call->scratch)},
                                .words = {(uint32_t)count, (uint32_t)first},
                                .word_count = 15};

    set_windows(call, launch.words + 2);
    gpu_fold(call->limits, gpu_pieces(count, group), launch.groups);
    gpu_emit(emitter, &launch);
}

void gpu_conv_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *y = call->outputs[0];
    const struct accel_conv *attributes = call->attributes;
    const uint64_t most = most_places(call), each = rows_at_a_time(call);
    struct gpu_product product = {.x = call->inputs[0],
                                  .w = call->inputs[1],
                                  .bias = call->inputs[2],
                                  .y = y,
                                  .rows = y->rows,
                                  .most_rows = most,
                                  .function = attributes->function,
                                  .variant = call->row->variant};

    if (attributes->groups > 1) {
        for (uint32_t part = 0; part < call->inputs[1]->parts; part++)
            emit_direct(call, emitter, part);
        return;
    }
    if (is_plain(attributes)) {
        gpu_emit_product(call, emitter, &product);
        return;
    }
    product.x = call->scratch;
    product.most_rows = each;
    for (uint64_t first = 0; first < most; first += each) {
        product.rows = first >= y->rows ? 0 : y->rows - first < each ? y->rows - first : each;
        product.base = first * y->width;
        emit_rows(call, emitter, first, product.rows);
        gpu_emit_product(call, emitter, &product);
    }
}
