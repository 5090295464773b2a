/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of casts, and of operators on F16 and BF16: inputs are widened to F32 in scratch memory, the launches of the
 * row for F32 follow, and the result is narrowed.
 */

#include "sdk/gpu/kernels/rows.h"

#define ALIGNMENT 256u /* of tensors in scratch */

static bool is_half(uint32_t type)
{
    return type == ACCEL_F16 || type == ACCEL_BF16;
}

/* Returns the number of a type in cast.k, 4 if it has none. */
static uint32_t number_of(uint32_t type)
{
    return type == ACCEL_F32 ? 0 : type == ACCEL_F16 ? 1 : type == ACCEL_BF16 ? 2 : type == ACCEL_I32 ? 3 : 4;
}

/* ---- cast ---- */

const char *gpu_cast_check(const struct gpu_row *row, const struct sdk_node *node)
{
    (void)row;
    return number_of(sdk_input(node, 0)->type) < 4 && number_of(sdk_output(node, 0)->type) < 4
               ? NULL
               : "x and y have to be F32, F16, BF16 or I32";
}

static void emit_cast(const struct gpu_call *call, struct gpu_emitter *emitter, const struct gpu_tensor *x,
                      const struct gpu_tensor *y)
{
    const uint32_t group = gpu_arrange(call->limits).element_group;
    const uint64_t count = x->rows * x->width;
    struct gpu_launch launch = {.source = "cast",
                                .constants = {group, number_of(x->type), number_of(y->type)},
                                .bind_count = 2,
                                .binds = {gpu_read(x), gpu_write(y)},
                                .words = {(uint32_t)count},
                                .word_count = 1};

    /* The half behind an odd end stays as it is. */
    if (is_half(y->type))
        launch.binds[1].access |= GPU_BIND_READ;
    gpu_fold(call->limits, gpu_pieces(gpu_pieces(count, 2), group), launch.groups);
    gpu_emit(emitter, &launch);
}

void gpu_cast_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    emit_cast(call, emitter, call->inputs[0], call->outputs[0]);
}

/* ---- operators on halves ---- */

/* Returns whether input `input` of an operator is a matrix that its kernel reads as it is. */
static bool is_matrix(uint32_t op, uint32_t input)
{
    return op == ACCEL_OP_MATMUL && input == 1;
}

const char *gpu_half_check(const struct gpu_row *row, const struct sdk_node *node)
{
    const uint32_t type = sdk_output(node, 0)->type;

    for (uint32_t i = 0; i < GPU_INPUTS; i++) {
        const struct accel_value *value = sdk_input(node, i);

        if (value == NULL)
            continue;
        if (is_matrix(row->op, i) && gpu_layout_find(value->type) == NULL)
            return "no kernel for this type of weights";
        if (!is_matrix(row->op, i) && value->type != ACCEL_F32 && !is_half(value->type) &&
            !(row->op == ACCEL_OP_GATHER && i == 1))
            return "inputs have to be F32, F16 or BF16";
    }
    return is_half(type) ? NULL : "activations in F32 have weights of vectors in F32";
}

/* Makes the F32 tensor in scratch that stands for one of halves; moves *bytes on. */
static struct gpu_tensor wide_of(const struct gpu_tensor *tensor, uint64_t *bytes)
{
    struct gpu_tensor wide = *tensor;

    wide.type = ACCEL_F32;
    wide.value = GPU_NO_VALUE;
    wide.planes = wide.parts = wide.tile = 1;
    wide.part_rows = wide.rows;
    wide.pitch[0] = wide.width * 4;
    wide.begin = *bytes;
    *bytes += gpu_pieces(wide.most_rows * wide.width * 4, ALIGNMENT) * ALIGNMENT;
    return wide;
}

uint64_t gpu_half_scratch(const struct gpu_call *call)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < GPU_INPUTS; i++)
        if (call->inputs[i] != NULL && is_half(call->inputs[i]->type) && !is_matrix(call->row->op, i))
            (void)wide_of(call->inputs[i], &bytes);
    (void)wide_of(call->outputs[0], &bytes);
    return bytes;
}

/* Finds the row that does the operator in F32 on every device. */
static const struct gpu_row *row_of(uint32_t op)
{
    const struct gpu_row *row = gpu_rows;

    while (row->op != op || row->variant != 0 || row->features != 0)
        row++;
    return row;
}

void gpu_half_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    struct gpu_tensor inputs[GPU_INPUTS], output;
    struct gpu_call wide = *call;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < GPU_INPUTS; i++) {
        if (call->inputs[i] == NULL || !is_half(call->inputs[i]->type) || is_matrix(call->row->op, i))
            continue;
        inputs[i] = wide_of(call->inputs[i], &bytes);
        wide.inputs[i] = &inputs[i];
        emit_cast(call, emitter, call->inputs[i], &inputs[i]);
    }
    output = wide_of(call->outputs[0], &bytes);
    wide.outputs[0] = &output;
    wide.row = row_of(call->row->op);
    wide.scratch = NULL;
    wide.row->lower(&wide, emitter);
    emit_cast(call, emitter, &output, call->outputs[0]);
}
