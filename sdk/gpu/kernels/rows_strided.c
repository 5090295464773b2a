/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of concat, slice, permute and pad: one kernel that copies between two arrangements. */
#include <accel/ops.h>

#include "sdk/gpu/kernels/rows.h"

#define DIMS 6u
_Static_assert(ACCEL_RANK == DIMS, "strided.k has as many dimensions as a value");

/* A copy under construction: its dimensions are the innermost `count` of the arrays. */
struct copy {
    uint64_t extent[DIMS];
    uint64_t stride[DIMS];
    uint64_t from;
    uint64_t to;
    uint64_t pitch; /* words of y for each place of the outermost dimension, 0: those of the copy */
    uint32_t count;
    uint32_t pad; /* dimension that is padded, DIMS: none */
};

const char *gpu_strided_check(const struct gpu_row *row, const struct sdk_node *node)
{
    const uint32_t type = sdk_output(node, 0)->type;

    (void)row;
    if (type != ACCEL_F32 && type != ACCEL_I32)
        return "values have to be F32 or I32";
    for (uint32_t i = 0; i < GPU_INPUTS; i++)
        if (sdk_input(node, i) != NULL && sdk_input(node, i)->type != type)
            return "inputs and outputs have to have one type";
    return NULL;
}

static uint64_t elements_of(const struct gpu_tensor *tensor)
{
    return tensor->rows * tensor->width;
}

/* Returns the elements between neighbours along an axis. */
static uint64_t stride_of(const struct gpu_tensor *tensor, uint32_t axis)
{
    uint64_t stride = 1;

    for (uint32_t d = axis + 1; d < tensor->rank; d++)
        stride *= tensor->dims[d];
    return stride;
}

/* Describes x as [outer, axis, inner]. */
static struct copy copy_along(const struct gpu_tensor *x, uint32_t axis)
{
    const uint64_t inner = stride_of(x, axis), extent = x->dims[axis], row = inner * extent;
    struct copy copy = {.count = 3, .pad = DIMS};

    copy.extent[3] = row == 0 ? 0 : elements_of(x) / row;
    copy.extent[4] = extent;
    copy.extent[5] = inner;
    copy.stride[3] = row;
    copy.stride[4] = inner;
    copy.stride[5] = 1;
    return copy;
}

static void emit_copy(const struct gpu_call *call, struct gpu_emitter *emitter, const struct gpu_tensor *x,
                      const struct copy *copy, const struct accel_pad *pad, uint64_t within)
{
    const uint32_t group = gpu_arrange(call->limits).element_group, outermost = DIMS - copy->count;
    uint64_t inner = 1;
    struct gpu_launch launch = {.source = "strided",
                                .constants = {group, copy->count, x->tile > 1, copy->pad, pad == NULL ? 0 : pad->mode},
                                .bind_count = 2,
                                .binds = {gpu_read(x), gpu_write(call->outputs[0])},
                                .word_count = 9 + 2 * DIMS};

    for (uint32_t d = 0; d < DIMS; d++) {
        launch.words[9 + d] = d < outermost ? 1 : (uint32_t)copy->extent[d];
        launch.words[9 + DIMS + d] = (uint32_t)copy->stride[d];
        if (d > outermost)
            inner *= copy->extent[d];
    }
    launch.words[0] = (uint32_t)(copy->extent[outermost] * inner);
    launch.words[1] = (uint32_t)inner;
    launch.words[2] = (uint32_t)(copy->pitch == 0 ? inner : copy->pitch);
    launch.words[3] = (uint32_t)copy->from;
    launch.words[4] = (uint32_t)copy->to;
    launch.words[5] = (uint32_t)x->width;
    if (pad != NULL) {
        launch.words[6] = (uint32_t)pad->before;
        launch.words[7] = (uint32_t)within;
        launch.words[8] = gpu_float_word(pad->value);
    }
    gpu_fold(call->limits, gpu_pieces(copy->extent[outermost] * inner, group), launch.groups);
    gpu_emit(emitter, &launch);
}

void gpu_concat_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct accel_axis *attributes = call->attributes;
    const struct gpu_tensor *y = call->outputs[0];
    const uint64_t inner = stride_of(y, attributes->axis);
    uint64_t place = 0;

    for (uint32_t i = 0; i < GPU_INPUTS; i++) {
        const struct gpu_tensor *x = call->inputs[i];
        struct copy copy;

        if (x == NULL)
            continue;
        copy = copy_along(x, attributes->axis);
        copy.to = place * inner;
        copy.pitch = y->dims[attributes->axis] * inner;
        emit_copy(call, emitter, x, &copy, NULL, 0);
        place += x->dims[attributes->axis];
    }
}

void gpu_slice_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct accel_slice *attributes = call->attributes;
    struct copy copy = copy_along(call->inputs[0], attributes->axis);

    copy.from = attributes->begin * copy.stride[4];
    copy.extent[4] = attributes->extent;
    copy.stride[4] *= attributes->step;
    emit_copy(call, emitter, call->inputs[0], &copy, NULL, 0);
}

/* Dimensions that stay neighbours are copied as one, which saves divisions. Extents do not decide: constants must not
 * depend on those of a step. */
void gpu_permute_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct accel_permute *attributes = call->attributes;
    const struct gpu_tensor *x = call->inputs[0];
    struct copy copy = {.pad = DIMS};
    uint64_t extent[DIMS] = {1}, stride[DIMS] = {1};
    uint32_t count = 0;

    for (uint32_t i = 0; i < x->rank; i++) {
        const uint32_t axis = attributes->order[i];
        const uint64_t next = stride_of(x, axis);

        if (count > 0 && i > 0 && axis == attributes->order[i - 1] + 1) {
            extent[count - 1] *= x->dims[axis];
            stride[count - 1] = next;
            continue;
        }
        extent[count] = x->dims[axis];
        stride[count++] = next;
    }
    for (uint32_t i = 0; i < count; i++) {
        copy.extent[DIMS - count + i] = extent[i];
        copy.stride[DIMS - count + i] = stride[i];
    }
    copy.count = count;
    emit_copy(call, emitter, x, &copy, NULL, 0);
}

void gpu_pad_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct accel_pad *attributes = call->attributes;
    const struct gpu_tensor *x = call->inputs[0], *y = call->outputs[0];
    struct copy copy = copy_along(x, attributes->axis);
    const uint64_t row = stride_of(y, attributes->axis) * y->dims[attributes->axis];

    /* x may be empty where y is not. */
    copy.extent[3] = row == 0 ? 0 : elements_of(y) / row;
    copy.extent[4] = y->dims[attributes->axis];
    copy.pad = 4;
    emit_copy(call, emitter, x, &copy, attributes, x->dims[attributes->axis]);
}
