/* SPDX-License-Identifier: Apache-2.0 */
/* Matmul and embed: the operators that read weights. */
#include "plugins/cpu/operators/operators.h"

/* How activations are staged for a matmul: Q8 blocks, F32 tiles, Q8 for GEMV with F32 tiles for GEMM, or BF16 tiles.
 * GEMM stages BF16 for every quantized weight type on CPUs with BF16 matrix products. */
#define ACT_Q8 1u
#define ACT_F32 2u
#define ACT_Q8_OR_F32 3u
#define ACT_BF16 4u

/* Returns the staging of a node. Codebook weights are no 8-bit integers, so that GEMM multiplies them as floats. */
static uint32_t allowed_act(const struct sdk_call *call)
{
    const uint32_t weight = cpu_variant_weight(call->variant), type = call->inputs[1]->type;

    if ((call->variant & CPU_ROUNDED) == 0)
        return ACT_F32;
    if (weight <= CPU_BF16)
        return ACT_BF16;
    return weight == CPU_PLANAR && ACCEL_PLANAR_SCHEME(type) >= ACCEL_SCHEME_NF4 ? ACT_Q8_OR_F32 : ACT_Q8;
}

/* Returns the staging for a number of rows; 0: none. */
static uint32_t act_at(const struct sdk_call *call, uint64_t rows)
{
    const struct cpu_device *device = call->device;
    const uint32_t act = allowed_act(call);
    const uint32_t weight = cpu_variant_weight(call->variant);
    const uint32_t many = rows >= (weight == CPU_F16 || weight == CPU_BF16 ? CPU_ACT_F32_FROM_HALF : CPU_ACT_F32_FROM);

    if (act == ACT_F32)
        return many ? ACT_F32 : 0;
    if (act == ACT_BF16)
        return many ? ACT_BF16 : 0;
    if (rows >= CPU_ACT_BF16_FROM && device->kernels.matmul16[weight] != NULL)
        return ACT_BF16;
    return act == ACT_Q8_OR_F32 && many ? ACT_F32 : ACT_Q8;
}

static uint32_t act_now(const struct sdk_call *call)
{
    return act_at(call, call->inputs[0]->rows);
}

static uint64_t act_bytes(const struct sdk_call *call, uint64_t rows)
{
    const uint64_t width = call->inputs[0]->width;

    switch (act_at(call, rows)) {
    case ACT_F32:
        return cpu_act_f32_bytes(rows, width);
    case ACT_BF16:
        return cpu_act_bf16_bytes(rows, width);
    case ACT_Q8:
        return cpu_act_q8_bytes(rows, width);
    default:
        return 0;
    }
}

void cpu_matrix_of(const struct cpu_device *device, const struct sdk_tensor *tensor, uint32_t weight,
                   struct cpu_matrix *out_matrix)
{
    const struct accel_format *format = weight == CPU_PLANAR ? NULL : &device->formats[weight];
    size_t row = 0;

    out_matrix->type = tensor->type;
    out_matrix->packed = tensor->packed;
    for (uint32_t p = 0; p < 3; p++) {
        /* Types with a table slot were described when the device was opened; none of them has row bytes. */
        if (format != NULL)
            row = tensor->width / format->block_values * format->plane_bytes[p];
        else if (accel_format_row_bytes(tensor->type, p, tensor->width, &row) != ACCEL_OK)
            row = 0;
        out_matrix->plane[p] = tensor->planes[p];
        out_matrix->stride[p] = row;
    }
}

/* Returns why the kernel may not round activations, or NULL. */
static const char *why_not_rounded(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    const struct accel_matmul *attributes = node->node->attributes;
    const struct cpu_device *device = node->device;
    const uint32_t weight = cpu_variant_weight(kernel->variant);

    if (weight > CPU_BF16)
        return attributes->rounding == ACCEL_Q8_0 ? NULL : "the node does not allow activations of 8 bits";
    if (attributes->rounding != ACCEL_Q8_0 && attributes->rounding != ACCEL_BF16)
        return "the node does not allow activations in BF16";
    return device->kernels.matmul16[weight] != NULL ? NULL : "the instructions in use have no products of BF16";
}

const char *cpu_matmul_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    const struct accel_value *w = sdk_input(node, 1);

    if (cpu_weight_of(w->type) != (int)cpu_variant_weight(kernel->variant))
        return "no kernel for this type of weights";
    if (!sdk_all_f32(node, 1u << 1))
        return "x, bias, residual and y have to be F32";
    return (kernel->variant & CPU_ROUNDED) != 0 ? why_not_rounded(kernel, node) : NULL;
}

/* Returns the bytes of staged activations. Memory for the maximum number of rows also serves smaller steps, whose
 * staging can be larger: BF16 rows are smaller than fewer Q8 rows with their tiles. */
uint64_t cpu_matmul_act(const struct sdk_call *call, uint32_t *out_format)
{
    const uint64_t rows = call->inputs[0]->rows, bytes = act_bytes(call, rows);
    const uint64_t below = rows >= CPU_ACT_BF16_FROM ? act_bytes(call, CPU_ACT_BF16_FROM - 1) : 0;

    *out_format = allowed_act(call);
    return bytes > below ? bytes : below;
}

/* A single row is split into blocks, which are rounded independently. */
uint64_t cpu_matmul_act_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    const struct sdk_tensor *x = call->inputs[0];
    const uint32_t now = act_now(call);

    *out_grain = now == ACT_F32    ? CPU_ACT_F32_ROWS
                 : now == ACT_BF16 ? CPU_ACT_BF16_ROWS
                 : x->rows > 1     ? CPU_TILE_ROWS
                                   : CPU_BLOCK;
    return now == 0 ? 0 : x->rows > 1 ? x->rows : x->width;
}

void cpu_matmul_act_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct cpu_device *device = call->device;
    const struct sdk_tensor *x = call->inputs[0];
    struct cpu_act_q8 rows8;

    if (act_now(call) == ACT_F32) {
        device->kernels.arrange(x->planes[0], x->width, x->rows, x->width, call->staged, begin, end);
        return;
    }
    if (act_now(call) == ACT_BF16) {
        device->kernels.round16(x->planes[0], x->width, x->width, call->staged, begin, end);
        return;
    }
    cpu_act_q8_map(call->staged, x->rows, x->width, &rows8);
    if (x->rows > 1)
        device->kernels.quantize(x->planes[0], x->width, x->width, &rows8, begin, end);
    else
        device->kernels.quantize(x->planes[0], CPU_BLOCK, CPU_BLOCK, &rows8, begin / CPU_BLOCK, end / CPU_BLOCK);
}

uint64_t cpu_matmul_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    *out_grain = act_now(call) == ACT_BF16 ? CPU_MATMUL16_ROWS : CPU_MATMUL_ROWS;
    return call->inputs[1]->rows;
}

void cpu_matmul_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct cpu_device *device = call->device;
    const struct accel_matmul *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0];
    const struct sdk_tensor *bias = call->inputs[2];
    const struct sdk_tensor *residual = call->inputs[3];
    uint32_t weight = cpu_variant_weight(call->variant);
    struct cpu_matmul matmul = {
        .m = x->rows,
        .n = call->inputs[1]->rows,
        .k = x->width,
        .x = x->planes[0],
        .x_stride = x->width,
        .bias = bias == NULL ? NULL : bias->planes[0],
        .residual = residual == NULL ? NULL : residual->planes[0],
        .residual_stride = call->inputs[1]->rows,
        .function = attributes->function,
        .y = call->outputs[0]->planes[0],
        .y_stride = call->inputs[1]->rows,
    };

    cpu_matrix_of(device, call->inputs[1], weight, &matmul.w);
    if (act_now(call) == ACT_BF16) {
        matmul.act_bf16 = call->staged;
        device->kernels.matmul16[weight](&matmul, begin, end);
        return;
    }
    if (act_now(call) != ACT_Q8) {
        matmul.act_f32 = act_now(call) == ACT_F32 ? call->staged : NULL;
        if (matmul.w.packed != NULL)
            cpu_matmul_packed_by_rows(device->kernels.matmul[weight], &matmul, begin, end);
        else
            device->kernels.matmul[weight](&matmul, begin, end);
        return;
    }
    cpu_act_q8_map(call->staged, x->rows, x->width, &matmul.act_q8);
    if (matmul.w.packed != NULL)
        device->kernels.packed8(&matmul, begin, end);
    else
        device->kernels.matmul8[weight](&matmul, begin, end);
}

uint64_t cpu_matmul_work(const struct sdk_call *call)
{
    return cpu_time(call, call->inputs[0]->rows * call->inputs[1]->rows * call->inputs[1]->width, 8);
}

uint32_t cpu_matmul_packs(const void *own, const struct accel_weight *weight)
{
    const struct cpu_device *device = own;

    return device->packed && weight->rank == 2 &&
           cpu_packed_bytes(device->kernels.isa, weight->type, weight->dims[0], weight->dims[1]) != 0;
}

void cpu_matmul_pack(const void *own, const struct accel_weight *weight, const void *const *planes, uint64_t rows,
                     void *out)
{
    struct sdk_tensor tensor = {.type = weight->type, .rows = rows, .width = weight->dims[1], .rank = weight->rank};
    struct cpu_matrix matrix;

    for (uint32_t p = 0; p < SDK_PLANES; p++)
        tensor.planes[p] = (void *)(uintptr_t)planes[p];
    cpu_matrix_of(own, &tensor, (uint32_t)cpu_weight_of(weight->type), &matrix);
    cpu_pack_weights(&matrix, tensor.width, 0, rows, out);
}

const char *cpu_embed_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    if (cpu_weight_of(sdk_input(node, 0)->type) != (int)kernel->variant)
        return "no kernel for this type of table";
    if (sdk_input(node, 1)->type != ACCEL_I32 || sdk_output(node, 0)->type != ACCEL_F32)
        return "ids have to be I32 and y F32";
    return NULL;
}

uint64_t cpu_embed_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    (void)out_grain;
    return call->inputs[1]->rows * call->inputs[1]->width;
}

void cpu_embed_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct cpu_device *device = call->device;
    const struct sdk_tensor *table = call->inputs[0];
    struct cpu_matrix matrix;

    cpu_matrix_of(device, table, call->variant, &matrix);
    device->kernels.embed[call->variant](&matrix, table->rows, table->width, call->inputs[1]->planes[0],
                                         call->outputs[0]->planes[0], begin, end);
}
