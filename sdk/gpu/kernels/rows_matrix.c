/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of matmul and embed: all that read matrices in the form of form.h. */
#include <string.h>

#include <accel/ops.h>

#include "sdk/gpu/kernels/format.h"
#include "sdk/gpu/kernels/rows.h"

static const char *matrix_reason(const struct accel_value *matrix)
{
    struct gpu_format format;

    if (matrix->role != ACCEL_ROLE_WEIGHT || matrix->rank != 2)
        return "the matrix has to be a weight of two dimensions";
    return gpu_format_of(matrix->type, &format) ? NULL : "no kernel for this type of weights";
}

const char *gpu_matmul_check(const struct gpu_row *row, const struct gpu_node *node)
{
    (void)row;
    if (!gpu_node_all_f32(node, 1u << 1))
        return "x, bias, residual and y have to be F32";
    return matrix_reason(gpu_node_input(node, 1));
}

/* Integer codes are multiplied with x before scaling. */
static const char *unscaled_reason(const struct gpu_row *row, const struct gpu_node *node)
{
    struct gpu_format format;

    if (!gpu_format_of(gpu_node_input(node, 1)->type, &format) || format.bits > 8 ||
        format.codebook == FORMAT_CODEBOOK_NF4 || format.codebook == FORMAT_CODEBOOK_ROW)
        return "the weights' codes are not integers";
    return gpu_matmul_check(row, node);
}

static uint32_t rounding_of(const struct gpu_node *node)
{
    const struct accel_matmul *attributes = node->node->attributes;

    return ACCEL_HAS(attributes, rounding) ? attributes->rounding : ACCEL_F32;
}

/* Used by default if the device has fast dot products, otherwise only with an explicit arrangement. */
const char *gpu_matmul_dot_check(const struct gpu_row *row, const struct gpu_node *node)
{
    const uint32_t quick = (node->limits->features & GPU_FEATURE_DOT8_FAST) != 0;

    if (rounding_of(node) != ACCEL_Q8_0)
        return "the node does not allow rounding";
    if (gpu_arrange(node->limits).dot.source == NULL || (!quick && node->limits->arrangement == GPU_ARRANGE_AUTO))
        return "the device multiplies bytes no quicker than floats";
    return unscaled_reason(row, node);
}

/* Shape of a workgroup of matmul_matrix.k. */
#define MATRIX_SUBGROUPS 4u
#define MATRIX_SIDE 64u
#define MATRIX_BYTES 24576u /* of local memory, rounded up: two times 64 rows, and 4 products of 16 x 16 */

/* Values of W are rounded too: scales of bfloats and floats leave the range of halves. */
const char *gpu_matmul_matrix_check(const struct gpu_row *row, const struct gpu_node *node)
{
    const struct gpu_limits *limits = node->limits;
    const uint32_t rounding = rounding_of(node);
    struct gpu_format format;

    if (rounding != ACCEL_F16 && rounding != ACCEL_BF16 && rounding != ACCEL_Q8_0)
        return "the node does not allow rounding";
    if (gpu_arrange(limits).matrix_from == 0)
        return "the device multiplies matrices no quicker than floats";
    if (limits->subgroups[1] == 0 || limits->subgroup == 0 ||
        MATRIX_SUBGROUPS * limits->subgroup > limits->group_items || limits->local_bytes < MATRIX_BYTES)
        return "the device has no subgroups of a known size for it, or too little local memory";
    if (!gpu_format_of(gpu_node_input(node, 1)->type, &format) || format.bits > 16 || format.scales == FORMAT_BFLOAT ||
        format.scales == FORMAT_POWERS || format.scales == FORMAT_SUPER16L)
        return "the weights may leave the range of halves";
    return gpu_matmul_check(row, node);
}

/* GPUs that have halves multiply twice as many of them as floats; processors convert them. */
const char *gpu_matmul_halves_check(const struct gpu_row *row, const struct gpu_node *node)
{
    const uint32_t rounding = rounding_of(node);

    if (rounding != ACCEL_F16 && rounding != ACCEL_BF16 && rounding != ACCEL_Q8_0)
        return "the node does not allow rounding";
    if (gpu_arrange(node->limits).halves.source == NULL)
        return "the device multiplies halves no quicker than floats";
    return unscaled_reason(row, node);
}

/* Returns the common part of the launches of matmul. */
static struct gpu_launch launch_of(const struct gpu_call *call, uint32_t part, const struct gpu_format *format)
{
    const struct gpu_tensor *x = call->inputs[0], *w = call->inputs[1], *bias = call->inputs[2],
                            *residual = call->inputs[3];
    const struct accel_matmul *attributes = call->attributes;
    struct gpu_launch launch = {.constants = {0, format->bits, format->scales, format->span, format->codebook},
                                .bind_count = 7,
                                .words = {(uint32_t)x->width, (uint32_t)gpu_part_rows(w, part),
                                          (uint32_t)(part * w->part_rows), (uint32_t)w->rows, (uint32_t)x->rows,
                                          attributes->function,
                                          (bias != NULL ? 1u : 0u) | (residual != NULL ? 2u : 0u)},
                                .word_count = 7};

    gpu_bind_matrix(&launch, w, part);
    launch.binds[3] = gpu_read(x);
    launch.binds[4] = gpu_write(call->outputs[0]);
    launch.binds[5] = gpu_read(bias);
    launch.binds[6] = gpu_read(residual);
    return launch;
}

static void emit_groups(const struct gpu_call *call, struct gpu_emitter *emitter, struct gpu_launch *launch,
                        uint32_t wide, uint32_t high, bool is_used)
{
    const uint64_t rows = launch->words[1], x_rows = call->inputs[0]->rows;

    if (is_used)
        gpu_grid(launch, gpu_pieces(rows, wide), gpu_pieces(x_rows, high));
    gpu_emit(emitter, launch);
}

/* A launch for `m` rows of x at a time; no groups when this step has another number. */
static void emit_vec(const struct gpu_call *call, struct gpu_emitter *emitter, uint32_t part,
                     const struct gpu_format *format, uint32_t m, bool is_used)
{
    const struct gpu_arrangement arrangement = gpu_arrange(call->limits);
    struct gpu_launch launch = launch_of(call, part, format);

    launch.source = arrangement.matmul;
    launch.constants[0] = arrangement.lanes * arrangement.slices;
    launch.constants[5] = m;
    launch.constants[6] = arrangement.lanes;
    launch.constant_count = 7;
    /* Few lanes are a subgroup, which hands x round. */
    if ((call->limits->features & GPU_FEATURE_SUBGROUP) != 0 && arrangement.lanes == call->limits->subgroup)
        launch.subgroup = arrangement.lanes;
    emit_groups(call, emitter, &launch, FORMAT_TILE, m, is_used);
}

static void emit_tile(const struct gpu_call *call, struct gpu_emitter *emitter, uint32_t part,
                      const struct gpu_format *format, const struct gpu_tile *tile, bool is_used)
{
    struct gpu_launch launch = launch_of(call, part, format);
    const uint32_t more[] = {tile->lanes, tile->side, tile->m, tile->steps, tile->depth, tile->quads};

    launch.source = tile->source;
    launch.constants[0] = tile->group;
    memcpy(launch.constants + 5, more, sizeof(more));
    launch.constant_count = 11;
    emit_groups(call, emitter, &launch, FORMAT_TILE * tile->side, tile->group / tile->lanes * tile->m * tile->steps,
                is_used);
}

static void emit_matrix(const struct gpu_call *call, struct gpu_emitter *emitter, uint32_t part,
                        const struct gpu_format *format, bool is_used)
{
    const struct gpu_limits *limits = call->limits;
    struct gpu_launch launch = launch_of(call, part, format);

    launch.source = "matmul_matrix";
    launch.subgroup = limits->subgroup;
    launch.constants[0] = MATRIX_SUBGROUPS * limits->subgroup;
    launch.constants[5] = limits->subgroup;
    memcpy(launch.constants + 6, limits->matrix, sizeof(limits->matrix));
    launch.constant_count = 9;
    emit_groups(call, emitter, &launch, MATRIX_SIDE, MATRIX_SIDE, is_used);
}

void gpu_matmul_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *w = call->inputs[1];
    const struct gpu_arrangement arrangement = gpu_arrange(call->limits);
    const struct gpu_tile *tile = call->row->variant == GPU_MATMUL_DOT      ? &arrangement.dot
                                  : call->row->variant == GPU_MATMUL_HALVES ? &arrangement.halves
                                                                            : &arrangement.tile;
    const uint32_t by_matrix = call->row->variant == GPU_MATMUL_MATRIX;
    const uint64_t from = by_matrix ? arrangement.matrix_from : tile->source != NULL ? tile->from : UINT64_MAX;
    struct gpu_format format;

    if (!gpu_format_of(w->type, &format))
        return;
    for (uint32_t part = 0; part < w->parts; part++) {
        emit_vec(call, emitter, part, &format, 1, x->rows == 1);
        if (x->most_rows > 1)
            emit_vec(call, emitter, part, &format, arrangement.rows, x->rows > 1 && x->rows < from);
        if (x->most_rows >= from && by_matrix)
            emit_matrix(call, emitter, part, &format, x->rows >= from);
        else if (x->most_rows >= from)
            emit_tile(call, emitter, part, &format, tile, x->rows >= from);
    }
}

const char *gpu_embed_check(const struct gpu_row *row, const struct gpu_node *node)
{
    (void)row;
    if (gpu_node_input(node, 1)->type != ACCEL_I32 || gpu_node_output(node, 0)->type != ACCEL_F32)
        return "ids have to be I32 and y F32";
    return matrix_reason(gpu_node_input(node, 0));
}

void gpu_embed_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *table = call->inputs[0], *ids = call->inputs[1];
    const uint32_t group = gpu_arrange(call->limits).element_group;
    const uint64_t count = ids->rows * ids->width;
    struct gpu_format format;

    if (!gpu_format_of(table->type, &format))
        return;
    for (uint32_t part = 0; part < table->parts; part++) {
        struct gpu_launch launch = {.source = "embed",
                                    .constants = {group, format.bits, format.scales, format.span, format.codebook},
                                    .constant_count = 5,
                                    .bind_count = 5,
                                    .words = {(uint32_t)table->width, (uint32_t)(part * table->part_rows),
                                              (uint32_t)gpu_part_rows(table, part), (uint32_t)table->rows,
                                              (uint32_t)count},
                                    .word_count = 5};
        gpu_bind_matrix(&launch, table, part);
        launch.binds[3] = gpu_read(ids);
        launch.binds[4] = gpu_write(call->outputs[0]);
        gpu_grid(&launch, gpu_pieces(table->width, 4 * group), count);
        gpu_emit(emitter, &launch);
    }
}
