/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of norms, softmax, arg-max, element-wise operators and gather. */
#include <accel/ops.h>

#include "sdk/gpu/kernels/rows.h"

/* Values of the constant KIND of pointwise.k. */
enum { KIND_ADD, KIND_MUL, KIND_FUNCTION, KIND_GATE, KIND_SCALE, KIND_CLAMP };

void gpu_norm_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *bias = call->row->op == ACCEL_OP_LAYER_NORM ? call->inputs[2] : NULL;
    const struct accel_norm *attributes = call->attributes;
    struct gpu_launch launch = {
        .source = "norm",
        .constants = {gpu_arrange(call->limits).row_group, call->row->op == ACCEL_OP_RMS_NORM ? 0
                                                           : bias == NULL                     ? 1
                                                                                              : 2},
        .bind_count = 4,
        .binds = {gpu_read(x), gpu_read(call->inputs[1]), gpu_write(call->outputs[0]), gpu_read(bias)},
        .words = {(uint32_t)x->width, (uint32_t)x->rows, gpu_float_word(attributes->epsilon)},
        .word_count = 3};

    gpu_use_subgroups(call->limits, &launch, 2);
    gpu_fold(call->limits, x->rows, launch.groups);
    gpu_emit(emitter, &launch);
}

static void emit_rows(const struct gpu_call *call, struct gpu_emitter *emitter, const char *source, bool has_subgroups)
{
    const struct gpu_tensor *x = call->inputs[0];
    struct gpu_launch launch = {.source = source,
                                .constants = {gpu_arrange(call->limits).row_group},
                                .bind_count = 2,
                                .binds = {gpu_read(x), gpu_write(call->outputs[0])},
                                .words = {(uint32_t)x->width, (uint32_t)x->rows},
                                .word_count = 2};

    if (has_subgroups)
        gpu_use_subgroups(call->limits, &launch, 1);
    gpu_fold(call->limits, x->rows, launch.groups);
    gpu_emit(emitter, &launch);
}

void gpu_softmax_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    emit_rows(call, emitter, "softmax", 1);
}

const char *gpu_argmax_check(const struct gpu_row *row, const struct sdk_node *node)
{
    (void)row;
    return sdk_input(node, 0)->type == ACCEL_F32 && sdk_output(node, 0)->type == ACCEL_I32
               ? NULL
               : "x has to be F32 and y I32";
}

#define CHUNKS 512u /* chunks of a row whose best elements are in local memory */
/* Rows so short, or with so many places to find and not too long, that elements are ranked one by one. */
#define SHORT_ROW 512u
#define RANKED_ROW 8192u
#define RANKED_PLACES 64u
#define LAUNCH_PLACES 1024u /* found by one launch */

const char *gpu_top_k_check(const struct gpu_row *row, const struct sdk_node *node)
{
    const struct accel_value *values = sdk_output(node, 1);

    (void)row;
    return sdk_input(node, 0)->type == ACCEL_F32 && sdk_output(node, 0)->type == ACCEL_I32 &&
                   (values == NULL || values->type == ACCEL_F32)
               ? NULL
               : "x and values have to be F32 and y I32";
}

void gpu_top_k_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *y = call->outputs[0], *values = call->outputs[1];
    const struct accel_top_k *attributes = call->attributes;
    const struct gpu_arrangement arrangement = gpu_arrange(call->limits);
    const uint64_t count = x->rows * x->width;
    struct gpu_launch launch = {.bind_count = 3,
                                .binds = {gpu_read(x), gpu_write(y), gpu_write(values)},
                                .words = {(uint32_t)x->width, (uint32_t)count, attributes->k},
                                .word_count = 3};

    if (x->width <= SHORT_ROW || (x->width <= RANKED_ROW && attributes->k >= RANKED_PLACES)) {
        launch.source = "top_k_ranks";
        launch.constants[0] = arrangement.element_group;
        launch.constants[1] = values != NULL;
        gpu_fold(call->limits, gpu_pieces(count, arrangement.element_group), launch.groups);
        gpu_emit(emitter, &launch);
        return;
    }
    launch.source = "top_k";
    launch.constants[0] = arrangement.row_group;
    launch.constants[1] = CHUNKS;
    launch.constants[2] = values != NULL;
    launch.words[1] = (uint32_t)x->rows;
    launch.word_count = 5;
    gpu_fold(call->limits, x->rows, launch.groups);
    for (uint32_t first = 0; first < attributes->k; first = launch.words[4]) {
        launch.words[3] = first;
        launch.words[4] = attributes->k - first < LAUNCH_PLACES ? attributes->k : first + LAUNCH_PLACES;
        launch.binds[1].access = GPU_BIND_WRITE | (first > 0 ? GPU_BIND_READ : 0);
        gpu_emit(emitter, &launch);
    }
}

void gpu_argmax_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    emit_rows(call, emitter, "argmax", 0);
}

#define SAMPLE_MOST (1u << 19) /* tokens: lavapipe ends the loops of more */
#define SAMPLE_GROUP 64u       /* least items that share a row */

const char *gpu_sample_check(const struct gpu_row *row, const struct sdk_node *node)
{
    (void)row;
    return sdk_input(node, 0)->dims[1].add <= SAMPLE_MOST ? NULL : "a row has more than 524288 logits";
}

uint64_t gpu_sample_scratch(const struct gpu_call *call)
{
    return call->inputs[0]->most_rows * call->inputs[0]->width * 4;
}

void gpu_sample_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *logits = call->inputs[0], *recent = call->inputs[3];
    const struct gpu_arrangement arrangement = gpu_arrange(call->limits);
    const uint32_t window = recent == NULL ? 0 : (uint32_t)recent->width;
    struct gpu_launch launch = {
        .source = "sample_keys",
        .constants = {arrangement.element_group},
        .bind_count = 4,
        .binds = {gpu_read(logits), gpu_read(call->inputs[1]), gpu_read(recent), gpu_write(call->scratch)},
        .words = {(uint32_t)logits->width, (uint32_t)(logits->rows * logits->width), window},
        .word_count = 3};

    gpu_fold(call->limits, gpu_pieces(logits->rows * logits->width, arrangement.element_group), launch.groups);
    gpu_emit(emitter, &launch);
    if (recent != NULL) {
        launch.constants[1] = 1;
        launch.binds[3].access |= GPU_BIND_READ;
        launch.words[1] = (uint32_t)(logits->rows * window);
        gpu_fold(call->limits, gpu_pieces(logits->rows * window, arrangement.element_group), launch.groups);
        gpu_emit(emitter, &launch);
    }
    launch.source = "sample";
    launch.constants[0] = arrangement.row_group < SAMPLE_GROUP ? SAMPLE_GROUP : arrangement.row_group;
    launch.binds[0] = gpu_read(call->scratch);
    launch.binds[2] = gpu_read(call->inputs[2]);
    launch.binds[3] = gpu_write(call->outputs[0]);
    launch.words[1] = (uint32_t)logits->rows;
    launch.word_count = 2;
    gpu_fold(call->limits, logits->rows, launch.groups);
    gpu_emit(emitter, &launch);
}

static uint32_t kind_of(uint32_t op)
{
    return op == ACCEL_OP_ADD          ? KIND_ADD
           : op == ACCEL_OP_MUL        ? KIND_MUL
           : op == ACCEL_OP_ACTIVATION ? KIND_FUNCTION
           : op == ACCEL_OP_GATE       ? KIND_GATE
           : op == ACCEL_OP_SCALE      ? KIND_SCALE
                                       : KIND_CLAMP;
}

void gpu_pointwise_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *a = call->inputs[0], *b = call->inputs[1];
    const uint32_t group = gpu_arrange(call->limits).element_group, kind = kind_of(call->row->op);
    const uint64_t n = a->rows * a->width, period = b == NULL ? n : b->rows * b->width;
    const struct accel_activation *activation = call->attributes;
    const bool has_function = kind == KIND_FUNCTION || kind == KIND_GATE;
    struct gpu_launch launch = {
        .source = "pointwise",
        .constants = {group, kind, has_function ? activation->function : 0, b != NULL && b->tile > 1},
        .bind_count = 3,
        .binds = {gpu_read(a), gpu_read(b), gpu_write(call->outputs[0])},
        .words = {(uint32_t)n, period == n ? 0 : (uint32_t)period, b == NULL ? 0 : (uint32_t)b->width},
        .word_count = 5};

    if (kind == KIND_SCALE) {
        const struct accel_scale *scale = call->attributes;

        launch.words[3] = gpu_float_word(scale->scale);
        launch.words[4] = gpu_float_word(scale->add);
    } else if (kind == KIND_CLAMP) {
        const struct accel_clamp *clamp = call->attributes;

        launch.words[3] = gpu_float_word(clamp->low);
        launch.words[4] = gpu_float_word(clamp->high);
    }
    gpu_fold(call->limits, gpu_pieces(n, group), launch.groups);
    gpu_emit(emitter, &launch);
}

const char *gpu_gather_check(const struct gpu_row *row, const struct sdk_node *node)
{
    const uint32_t type = sdk_input(node, 0)->type;

    (void)row;
    return (type == ACCEL_F32 || type == ACCEL_I32) && sdk_input(node, 1)->type == ACCEL_I32 &&
                   sdk_output(node, 0)->type == type
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
                                .bind_count = 3,
                                .binds = {gpu_read(x), gpu_read(index), gpu_write(call->outputs[0])},
                                .words = {(uint32_t)width, (uint32_t)x->dims[0], (uint32_t)count},
                                .word_count = 3};

    gpu_grid(&launch, gpu_pieces(width, group), count);
    gpu_emit(emitter, &launch);
}
