/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of norms, softmax, arg-max, element-wise operators and gather. */
#include <accel/ops.h>

#include "sdk/gpu/kernels/rows.h"

/* Values of the constant KIND of pointwise.k. */
enum { KIND_ADD, KIND_MUL, KIND_FUNCTION, KIND_GATE };

void gpu_norm_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *bias = call->row->op == ACCEL_OP_LAYER_NORM ? call->inputs[2] : NULL;
    const struct accel_norm *attributes = call->attributes;
    struct gpu_launch launch = {
        .source = "norm",
        .constants = {gpu_arrange(call->limits).row_group, call->row->op == ACCEL_OP_RMS_NORM ? 0
                                                           : bias == NULL                     ? 1
                                                                                              : 2},
        .constant_count = 2,
        .bind_count = 4,
        .binds = {gpu_read(x), gpu_read(call->inputs[1]), gpu_write(call->outputs[0]), gpu_read(bias)},
        .words = {(uint32_t)x->width, (uint32_t)x->rows, gpu_float_word(attributes->epsilon)},
        .word_count = 3};

    gpu_use_subgroups(call->limits, &launch);
    gpu_fold(call->limits, x->rows, launch.groups);
    gpu_emit(emitter, &launch);
}

static void emit_rows(const struct gpu_call *call, struct gpu_emitter *emitter, const char *source, bool has_subgroups)
{
    const struct gpu_tensor *x = call->inputs[0];
    struct gpu_launch launch = {.source = source,
                                .constants = {gpu_arrange(call->limits).row_group},
                                .constant_count = 1,
                                .bind_count = 2,
                                .binds = {gpu_read(x), gpu_write(call->outputs[0])},
                                .words = {(uint32_t)x->width, (uint32_t)x->rows},
                                .word_count = 2};

    if (has_subgroups)
        gpu_use_subgroups(call->limits, &launch);
    gpu_fold(call->limits, x->rows, launch.groups);
    gpu_emit(emitter, &launch);
}

void gpu_softmax_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    emit_rows(call, emitter, "softmax", 1);
}

const char *gpu_argmax_check(const struct gpu_row *row, const struct gpu_node *node)
{
    (void)row;
    return gpu_node_input(node, 0)->type == ACCEL_F32 && gpu_node_output(node, 0)->type == ACCEL_I32
               ? NULL
               : "x has to be F32 and y I32";
}

void gpu_argmax_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    emit_rows(call, emitter, "argmax", 0);
}

void gpu_pointwise_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *a = call->inputs[0], *b = call->inputs[1];
    const uint32_t op = call->row->op, group = gpu_arrange(call->limits).element_group;
    const uint64_t n = a->rows * a->width, period = b == NULL ? n : b->rows * b->width;
    const uint32_t kind = op == ACCEL_OP_ADD          ? KIND_ADD
                          : op == ACCEL_OP_MUL        ? KIND_MUL
                          : op == ACCEL_OP_ACTIVATION ? KIND_FUNCTION
                                                      : KIND_GATE;
    const struct accel_activation *attributes = kind >= KIND_FUNCTION ? call->attributes : NULL;
    struct gpu_launch launch = {.source = "pointwise",
                                .constants = {group, kind, attributes == NULL ? 0 : attributes->function},
                                .constant_count = 3,
                                .bind_count = 3,
                                .binds = {gpu_read(a), gpu_read(b), gpu_write(call->outputs[0])},
                                .words = {(uint32_t)n, period == n ? 0 : (uint32_t)period},
                                .word_count = 2};

    gpu_fold(call->limits, gpu_pieces(n, group), launch.groups);
    gpu_emit(emitter, &launch);
}

const char *gpu_gather_check(const struct gpu_row *row, const struct gpu_node *node)
{
    const uint32_t type = gpu_node_input(node, 0)->type;

    (void)row;
    return (type == ACCEL_F32 || type == ACCEL_I32) && gpu_node_input(node, 1)->type == ACCEL_I32 &&
                   gpu_node_output(node, 0)->type == type
               ? NULL
               : "x has to be F32 or I32 and index I32";
}

void gpu_gather_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *index = call->inputs[1];
    const uint32_t group = gpu_arrange(call->limits).element_group;
    const uint64_t count = index->rows * index->width, width = x->dims[0] == 0 ? 0 : x->rows * x->width / x->dims[0];
    struct gpu_launch launch = {.source = "gather",
                                .constants = {group},
                                .constant_count = 1,
                                .bind_count = 3,
                                .binds = {gpu_read(x), gpu_read(index), gpu_write(call->outputs[0])},
                                .words = {(uint32_t)width, (uint32_t)x->dims[0], (uint32_t)count},
                                .word_count = 3};

    gpu_grid(&launch, gpu_pieces(width, group), count);
    gpu_emit(emitter, &launch);
}
