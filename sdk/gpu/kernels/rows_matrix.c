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

/* Returns NULL if kernels read input `input` as a matrix and all other values are F32, or the reason. */
static const char *gpu_matrix_check(const struct sdk_node *node, uint32_t input)
{
    if (!sdk_all_f32(node, 1u << input))
        return "all values but the matrix have to be F32";
    return matrix_reason(sdk_input(node, input));
}

const char *gpu_matmul_check(const struct gpu_row *row, const struct sdk_node *node)
{
    (void)row;
    return gpu_matrix_check(node, 1);
}

bool gpu_use_format(struct gpu_launch *launch, uint32_t type)
{
    struct gpu_format format;

    if (!gpu_format_of(type, &format))
        return false;
    launch->constants[1] = format.bits;
    launch->constants[2] = format.scales;
    launch->constants[3] = format.span;
    launch->constants[4] = format.codebook;
    return true;
}

/* Integer codes are multiplied with x before scaling. */
static const char *unscaled_reason(const struct gpu_row *row, const struct sdk_node *node)
{
    struct gpu_format format;

    if (!gpu_format_of(sdk_input(node, 1)->type, &format) || format.bits > 8 ||
        format.codebook == FORMAT_CODEBOOK_NF4 || format.codebook == FORMAT_CODEBOOK_ROW ||
        format.codebook == FORMAT_CODEBOOK_E4M3)
        return "the weights' codes are not integers";
    return gpu_matmul_check(row, node);
}

static uint32_t rounding_of(const struct sdk_node *node)
{
    const struct accel_matmul *attributes = node->node->attributes;
    const struct accel_conv *conv = node->node->attributes;

    if (node->node->op == ACCEL_OP_CONV)
        return conv->groups > 1 ? ACCEL_F32 : conv->rounding; /* groups are convolved in F32 */

    return ACCEL_HAS(attributes, rounding) ? attributes->rounding : ACCEL_F32;
}

/* Used by default if the device has fast dot products, otherwise only with an explicit arrangement. */
const char *gpu_matmul_dot_check(const struct gpu_row *row, const struct sdk_node *node)
{
    const uint32_t quick = (gpu_limits_of(node)->features & GPU_FEATURE_DOT8_FAST) != 0;

    if (!ACCEL_ALLOWS_Q8(rounding_of(node)))
        return "the node does not allow rounding";
    if (gpu_arrange(gpu_limits_of(node)).dot.source == NULL ||
        (!quick && gpu_limits_of(node)->arrangement == GPU_ARRANGE_AUTO))
        return "the device multiplies bytes no quicker than floats";
    return unscaled_reason(row, node);
}

/* As the cpu driver: only where integers are added over more than the blocks that other kernels round. */
const char *gpu_matmul_dot_row_check(const struct gpu_row *row, const struct sdk_node *node)
{
    const char *reason = gpu_matmul_dot_check(row, node);
    struct gpu_format format;

    if (rounding_of(node) != ACCEL_Q8_ROW)
        return "the node does not allow one scale for a row of activations";
    if (reason == NULL && gpu_format_of(sdk_input(node, 1)->type, &format) &&
        (format.bits != 8 || format.scales > FORMAT_ASYMMETRIC ||
         format.span % gpu_arrange(gpu_limits_of(node)).dot.depth != 0))
        return "codes of weights have less than 8 bits, or a scale for less than 64 values";
    return reason;
}

/* Shape of a workgroup of matmul_matrix.k. */
#define MATRIX_SUBGROUPS 4u
#define MATRIX_SIDE 64u
#define MATRIX_BYTES 24576u /* of local memory, rounded up: two times 64 rows, and 4 products of 16 x 16 */

/* Values of W are rounded too: scales of bfloats and floats leave the range of halves. */
const char *gpu_matmul_matrix_check(const struct gpu_row *row, const struct sdk_node *node)
{
    const struct gpu_limits *limits = gpu_limits_of(node);
    const uint32_t rounding = rounding_of(node);
    struct gpu_format format;

    if (rounding != ACCEL_F16 && rounding != ACCEL_BF16 && !ACCEL_ALLOWS_Q8(rounding))
        return "the node does not allow rounding";
    if (gpu_arrange(limits).matrix_from == 0)
        return "the device multiplies matrices no quicker than floats";
    if (limits->subgroups[1] == 0 || limits->subgroup == 0 ||
        MATRIX_SUBGROUPS * limits->subgroup > limits->group_items || limits->local_bytes < MATRIX_BYTES)
        return "the device has no subgroups of a known size for it, or too little local memory";
    if (!gpu_format_of(sdk_input(node, 1)->type, &format) || format.bits > 16 || format.scales == FORMAT_BFLOAT ||
        format.scales == FORMAT_POWERS || format.scales == FORMAT_SUPER16L)
        return "the weights may leave the range of halves";
    return gpu_matmul_check(row, node);
}

/* GPUs that have halves multiply twice as many of them as floats; processors convert them. */
const char *gpu_matmul_halves_check(const struct gpu_row *row, const struct sdk_node *node)
{
    const uint32_t rounding = rounding_of(node);

    if (rounding != ACCEL_F16 && rounding != ACCEL_BF16 && !ACCEL_ALLOWS_Q8(rounding))
        return "the node does not allow rounding";
    if (gpu_arrange(gpu_limits_of(node)).halves.source == NULL)
        return "the device multiplies halves no quicker than floats";
    return unscaled_reason(row, node);
}

/* ---- products ---- */

/* A part of a product, with the format of W. */
struct piece {
    const struct gpu_call *call;
    const struct gpu_product *product;
    struct gpu_format format;
    uint32_t part;
};

/* Returns the common part of the launches of matmul. */
static struct gpu_launch launch_of(const struct piece *piece)
{
    const struct gpu_product *product = piece->product;
    const struct gpu_tensor *w = product->w;
    const struct gpu_format *format = &piece->format;
    struct gpu_launch launch = {
        .constants = {0, format->bits, format->scales, format->span, format->codebook},
        .bind_count = 7,
        .words = {(uint32_t)w->width, (uint32_t)gpu_part_rows(w, piece->part), (uint32_t)(piece->part * w->part_rows),
                  (uint32_t)w->rows, (uint32_t)product->rows, product->function,
                  (product->bias != NULL ? 1u : 0u) | (product->residual != NULL ? 2u : 0u), (uint32_t)product->base},
        .word_count = 8};

    gpu_bind_matrix(&launch, w, piece->part);
    launch.binds[3] = gpu_read(product->x);
    launch.binds[4] = gpu_write(product->y);
    launch.binds[5] = gpu_read(product->bias);
    launch.binds[6] = gpu_read(product->residual);
    return launch;
}

static void emit_groups(const struct piece *piece, struct gpu_emitter *emitter, struct gpu_launch *launch,
                        uint32_t wide, uint32_t high, bool is_used)
{
    if (is_used)
        gpu_grid(launch, gpu_pieces(launch->words[1], wide), gpu_pieces(piece->product->rows, high));
    gpu_emit(emitter, launch);
}

/* A launch for `m` rows of x at a time; no groups when this step has another number. */
static void emit_vec(const struct piece *piece, struct gpu_emitter *emitter, uint32_t m, bool is_used)
{
    const struct gpu_limits *limits = piece->call->limits;
    const struct gpu_arrangement arrangement = gpu_arrange(limits);
    struct gpu_launch launch = launch_of(piece);

    launch.source = arrangement.matmul;
    launch.constants[0] = arrangement.lanes * arrangement.slices;
    launch.constants[5] = m;
    launch.constants[6] = arrangement.lanes;
    /* Few lanes are a subgroup, which hands x round. */
    if ((limits->features & GPU_FEATURE_SUBGROUP) != 0 && arrangement.lanes == limits->subgroup)
        launch.subgroup = arrangement.lanes;
    emit_groups(piece, emitter, &launch, FORMAT_TILE, m, is_used);
}

/* Returns the rounded rows of x in scratch, as round_rows.k writes them. */
static struct gpu_tensor rounded_of(const struct gpu_tensor *x)
{
    return gpu_work_space(x->most_rows * (1 + gpu_pieces(x->width, FORMAT_BLOCK) * FORMAT_BLOCK / 4) * 4);
}

static void emit_rounding(const struct gpu_call *call, struct gpu_emitter *emitter, const struct gpu_tensor *x,
                          bool is_used)
{
    const struct gpu_tensor rounded = rounded_of(x);
    struct gpu_launch launch = {.source = "round_rows",
                                .constants = {gpu_arrange(call->limits).row_group},
                                .bind_count = 2,
                                .binds = {gpu_read(x), gpu_write(&rounded)},
                                .words = {(uint32_t)x->width, (uint32_t)x->rows},
                                .word_count = 2};

    gpu_use_subgroups(call->limits, &launch, 1);
    gpu_fold(call->limits, is_used ? x->rows : 0, launch.groups);
    gpu_emit(emitter, &launch);
}

static void emit_tile(const struct piece *piece, struct gpu_emitter *emitter, const struct gpu_tile *tile, bool is_used)
{
    struct gpu_launch launch = launch_of(piece);
    const struct gpu_tensor rounded = rounded_of(piece->product->x);
    const uint32_t more[] = {tile->lanes, tile->side, tile->m, tile->steps, tile->depth, tile->quads};

    launch.source = tile->source;
    if (piece->product->variant == GPU_MATMUL_DOT_ROW) {
        launch.source = "matmul_dot_row";
        launch.binds[3] = gpu_read(&rounded);
    }
    launch.constants[0] = tile->group;
    memcpy(launch.constants + 5, more, sizeof(more));
    emit_groups(piece, emitter, &launch, FORMAT_TILE * tile->side, tile->group / tile->lanes * tile->m * tile->steps,
                is_used);
}

static void emit_matrix(const struct piece *piece, struct gpu_emitter *emitter, bool is_used)
{
    const struct gpu_limits *limits = piece->call->limits;
    struct gpu_launch launch = launch_of(piece);

    launch.source = "matmul_matrix";
    launch.subgroup = limits->subgroup;
    launch.constants[0] = MATRIX_SUBGROUPS * limits->subgroup;
    launch.constants[5] = limits->subgroup;
    memcpy(launch.constants + 6, limits->matrix, sizeof(limits->matrix));
    emit_groups(piece, emitter, &launch, MATRIX_SIDE, MATRIX_SIDE, is_used);
}

void gpu_emit_product(const struct gpu_call *call, struct gpu_emitter *emitter, const struct gpu_product *product)
{
    const struct gpu_arrangement arrangement = gpu_arrange(call->limits);
    const bool by_row = product->variant == GPU_MATMUL_DOT_ROW;
    const struct gpu_tile *tile = product->variant == GPU_MATMUL_DOT || by_row ? &arrangement.dot
                                  : product->variant == GPU_MATMUL_HALVES      ? &arrangement.halves
                                                                               : &arrangement.tile;
    const uint32_t by_matrix = product->variant == GPU_MATMUL_MATRIX;
    const uint64_t from = by_matrix ? arrangement.matrix_from : tile->source != NULL ? tile->from : UINT64_MAX;
    struct piece piece = {.call = call, .product = product};

    if (!gpu_format_of(product->w->type, &piece.format))
        return;
    if (by_row && product->most_rows >= from)
        emit_rounding(call, emitter, product->x, product->rows >= from);
    for (; piece.part < product->w->parts; piece.part++) {
        emit_vec(&piece, emitter, 1, product->rows == 1);
        if (product->most_rows > 1)
            emit_vec(&piece, emitter, arrangement.rows, product->rows > 1 && product->rows < from);
        if (product->most_rows >= from && by_matrix)
            emit_matrix(&piece, emitter, product->rows >= from);
        else if (product->most_rows >= from)
            emit_tile(&piece, emitter, tile, product->rows >= from);
    }
}

uint64_t gpu_matmul_scratch(const struct gpu_call *call)
{
    const struct gpu_tensor *x = call->inputs[0];

    return x->most_rows >= gpu_arrange(call->limits).dot.from ? rounded_of(x).pitch[0] : 0;
}

void gpu_matmul_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct accel_matmul *attributes = call->attributes;
    const struct gpu_product product = {.x = call->inputs[0],
                                        .w = call->inputs[1],
                                        .bias = call->inputs[2],
                                        .residual = call->inputs[3],
                                        .y = call->outputs[0],
                                        .rows = call->inputs[0]->rows,
                                        .most_rows = call->inputs[0]->most_rows,
                                        .function = attributes->function,
                                        .variant = call->row->variant};

    gpu_emit_product(call, emitter, &product);
}

/* ---- experts ---- */

const char *gpu_expert_matmul_check(const struct gpu_row *row, const struct sdk_node *node)
{
    (void)row;
    if (!sdk_all_f32(node, 1u << 1 | 1u << 2) || sdk_input(node, 2)->type != ACCEL_I32)
        return "x, bias, factor and y have to be F32, and ids I32";
    return matrix_reason(sdk_input(node, 1));
}

/* The lanes of a workgroup. Vectors of rows must not cross the end of an expert, or each lane has single rows. */
struct lanes {
    const char *source;
    uint32_t lanes;
    uint32_t slices;
};

static struct lanes expert_lanes(const struct gpu_arrangement *arrangement, uint64_t n)
{
    if (arrangement->vector == 1)
        return (struct lanes){"expert_vec", arrangement->lanes, arrangement->slices};
    if (n % arrangement->vector != 0)
        return (struct lanes){"expert_vec", FORMAT_TILE, 1};
    return (struct lanes){arrangement->vector == 8 ? "expert_vec8" : "expert_vec4", arrangement->lanes,
                          arrangement->slices};
}

void gpu_expert_matmul_lower(const struct gpu_call *call, struct gpu_emitter *emitter)
{
    const struct gpu_tensor *x = call->inputs[0], *w = call->inputs[1], *ids = call->inputs[2], *bias = call->inputs[3],
                            *factor = call->inputs[4];
    const struct accel_expert_matmul *attributes = call->attributes;
    const struct gpu_arrangement arrangement = gpu_arrange(call->limits);
    const uint64_t n = w->rows / attributes->experts;
    const struct lanes lanes = expert_lanes(&arrangement, n);
    struct gpu_format format;

    if (!gpu_format_of(w->type, &format))
        return;
    for (uint32_t part = 0; part < w->parts; part++) {
        struct gpu_launch launch = {.source = lanes.source,
                                    .constants = {lanes.lanes * lanes.slices, format.bits, format.scales, format.span,
                                                  format.codebook, 1, lanes.lanes},
                                    .bind_count = 8,
                                    .words = {(uint32_t)w->width, (uint32_t)n, (uint32_t)(part * w->part_rows),
                                              (uint32_t)gpu_part_rows(w, part), attributes->experts,
                                              attributes->function, (uint32_t)ids->width,
                                              x->rank == 3 ? 1 : (uint32_t)ids->width, bias != NULL, factor != NULL},
                                    .word_count = 10};

        gpu_bind_matrix(&launch, w, part);
        launch.binds[3] = gpu_read(x);
        launch.binds[4] = gpu_write(call->outputs[0]);
        /* Other parts add to it. */
        if (part > 0 && factor != NULL)
            launch.binds[4].access |= GPU_BIND_READ;
        launch.binds[5] = gpu_read(bias);
        launch.binds[6] = gpu_read(ids);
        launch.binds[7] = gpu_read(factor);
        if ((call->limits->features & GPU_FEATURE_SUBGROUP) != 0 && lanes.lanes == call->limits->subgroup)
            launch.subgroup = lanes.lanes;
        gpu_grid(&launch, gpu_pieces(n, FORMAT_TILE), factor != NULL ? ids->rows : ids->rows * ids->width);
        gpu_emit(emitter, &launch);
    }
}

const char *gpu_embed_check(const struct gpu_row *row, const struct sdk_node *node)
{
    (void)row;
    if (sdk_input(node, 1)->type != ACCEL_I32 || sdk_output(node, 0)->type != ACCEL_F32)
        return "ids have to be I32 and y F32";
    return matrix_reason(sdk_input(node, 0));
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
