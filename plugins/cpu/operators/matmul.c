/* SPDX-License-Identifier: Apache-2.0 */
/* Matmul and embed: the operators that read weights. */
#include <stdio.h>
#include <string.h>

#include "plugins/cpu/operators/operators.h"

struct cpu_product cpu_product_for(const struct cpu_device *device, uint32_t variant, const struct sdk_tensor *w,
                                   uint64_t rows)
{
    const uint32_t rounding = (variant & CPU_BY_ROW) != 0    ? CPU_ROUND_ROWS
                              : (variant & CPU_ROUNDED) != 0 ? CPU_ROUND_BLOCKS
                                                             : CPU_ROUND_NONE;

    return cpu_product_of(&device->kernels, w->type, rounding, w->packed != NULL, rows, w->width);
}

uint64_t cpu_act_bytes(uint32_t kind, uint64_t rows, uint64_t width)
{
    switch (kind) {
    case CPU_ACT_F32:
        return cpu_act_f32_bytes(rows, width);
    case CPU_ACT_BF16:
        return cpu_act_bf16_bytes(rows, width);
    case CPU_ACT_Q8:
    case CPU_ACT_Q8_ROW:
        return cpu_act_q8_bytes(rows, width);
    default:
        return rows * width * sizeof(float);
    }
}

uint32_t cpu_act_grain(uint32_t kind)
{
    return kind == CPU_ACT_F32 ? CPU_ACT_F32_ROWS : kind == CPU_ACT_BF16 ? CPU_ACT_BF16_ROWS : CPU_TILE_ROWS;
}

void cpu_act_stage(const struct cpu_device *device, uint32_t kind, const float *x, uint64_t width, uint64_t rows,
                   void *staged, uint64_t begin, uint64_t end)
{
    /* Kernels count rows from the first of all, which a caller that gathers a few does not have. */
    const float *origin = (const float *)((uintptr_t)x - begin * width * sizeof(*x));
    struct cpu_act_q8 rows8;

    switch (kind) {
    case CPU_ACT_F32:
        device->kernels.arrange(origin, width, rows, width, staged, begin, end);
        return;
    case CPU_ACT_BF16:
        device->kernels.round16(origin, width, rows, width, staged, begin, end);
        return;
    case CPU_ACT_Q8:
    case CPU_ACT_Q8_ROW:
        cpu_act_q8_map(staged, rows, width, &rows8);
        (kind == CPU_ACT_Q8 ? device->kernels.quantize : device->kernels.quantize_rows)(origin, width, width, &rows8,
                                                                                        begin, end);
        return;
    default:
        memcpy((float *)staged + begin * width, x, (end - begin) * width * sizeof(*x));
    }
}

void cpu_act_bind(uint32_t kind, struct cpu_matmul *matmul, void *staged)
{
    if (kind == CPU_ACT_BF16)
        matmul->act_bf16 = staged;
    else if (kind == CPU_ACT_Q8 || kind == CPU_ACT_Q8_ROW)
        cpu_act_q8_map(staged, matmul->m, matmul->k, &matmul->act_q8);
    else if (kind == CPU_ACT_F32)
        matmul->act_f32 = staged;
}

/* Returns the kernel of a call, or of one with other rows. */
static struct cpu_product product_of(const struct sdk_call *call, uint64_t rows)
{
    return cpu_product_for(call->device, call->variant, call->inputs[1], rows);
}

/* Returns the bytes that are staged for a number of rows: none where x is read in place. */
static uint64_t act_bytes(const struct sdk_call *call, uint64_t rows)
{
    const uint32_t kind = product_of(call, rows).act;

    return kind == CPU_ACT_NONE ? 0 : cpu_act_bytes(kind, rows, call->inputs[0]->width);
}

void cpu_matrix_of(const struct cpu_device *device, const struct sdk_tensor *tensor, uint32_t weight,
                   struct cpu_matrix *out_matrix)
{
    const struct accel_format *format = weight >= CPU_PLANAR ? NULL : &device->formats[weight];
    size_t row = 0;

    out_matrix->type = tensor->type;
    out_matrix->packed = tensor->packed;
    out_matrix->streams = format == NULL ? (struct cpu_streams){0} : device->layout.streams[weight];
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

void cpu_matrix_from(const struct cpu_device *device, uint64_t row, uint64_t width, struct cpu_matrix *matrix)
{
    for (uint32_t p = 0; p < 3; p++)
        if (matrix->plane[p] != NULL)
            matrix->plane[p] = (const char *)matrix->plane[p] + row * matrix->stride[p];
    if (matrix->packed != NULL)
        matrix->packed = (const char *)matrix->packed + cpu_packed_bytes(device->kernels.isa, matrix->type, row, width);
}

/* Returns why no kernel may round activations of a node with weights of type `weight`, or NULL. */
static const char *cpu_why_not_rounded(const struct cpu_device *device, uint32_t weight, uint32_t rounding)
{
    if (weight == CPU_PLANAR_F8)
        return "floats of 8 bits are multiplied as floats";
    if (weight > CPU_BF16)
        return ACCEL_ALLOWS_Q8(rounding) ? NULL : "the node does not allow activations of 8 bits";
    if (!ACCEL_ALLOWS_Q8(rounding) && rounding != ACCEL_BF16)
        return "the node does not allow activations in BF16";
    return device->kernels.product[CPU_GEMM16][weight] != NULL ? NULL
                                                               : "the instructions in use have no products of BF16";
}

/* Returns why no kernel rounds rows of x with one scale each, or NULL. */
static const char *why_not_by_row(const struct cpu_device *device, uint32_t type, uint32_t rounding)
{
    if (rounding != ACCEL_Q8_ROW || cpu_code_bits(type) != 8)
        return "the node does not allow one scale for a row of activations, or codes of weights have less than 8 bits";
    return device->kernels.product[CPU_GEMM8_ROW][cpu_weight_of(type)] != NULL
               ? NULL
               : "the instructions in use have no products for one scale for a row of activations";
}

const char *cpu_matmul_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    const struct accel_matmul *attributes = node->node->attributes;
    const struct accel_value *w = sdk_input(node, 1);

    if (cpu_weight_of(w->type) != (int)cpu_variant_weight(kernel->variant))
        return "no kernel for this type of weights";
    if (!sdk_all_f32(node, 1u << 1))
        return "x, bias, residual and y have to be F32";
    if ((kernel->variant & CPU_BY_ROW) != 0 && why_not_by_row(node->device, w->type, attributes->rounding) != NULL)
        return why_not_by_row(node->device, w->type, attributes->rounding);
    return (kernel->variant & CPU_ROUNDED) == 0
               ? NULL
               : cpu_why_not_rounded(node->device, cpu_variant_weight(kernel->variant), attributes->rounding);
}

const char *cpu_gathered_check(const struct sdk_kernel *kernel, const struct sdk_node *node, uint32_t others,
                               uint32_t rounding)
{
    const uint32_t type = sdk_input(node, 1)->type;
    const int weight = cpu_weight_of(type);

    if (weight < 0)
        return "no kernel for this type of weights";
    if ((kernel->variant & CPU_BY_ROW) != 0 && why_not_by_row(node->device, type, rounding) != NULL)
        return why_not_by_row(node->device, type, rounding);
    if (!sdk_all_f32(node, others))
        return "all but weights and ids has to be F32";
    if ((kernel->variant & CPU_ROUNDED) == 0)
        return NULL;
    if (kernel->precision == ACCEL_BF16 ? weight > CPU_BF16 : weight < CPU_Q8_0 || weight == CPU_PLANAR_F8)
        return "the kernel is for weights of another type";
    return cpu_why_not_rounded(node->device, (uint32_t)weight, rounding);
}

/* Returns the bytes of staged activations. Memory for the maximum number of rows also serves smaller steps, whose
 * staging can be larger: BF16 rows are smaller than fewer Q8 rows with their tiles. */
uint64_t cpu_matmul_act(const struct sdk_call *call, uint32_t *out_format)
{
    const uint32_t weight = cpu_variant_weight(call->variant);
    const uint64_t rows = call->inputs[0]->rows, bytes = act_bytes(call, rows);
    const uint64_t below = rows >= CPU_ACT_BF16_FROM ? act_bytes(call, CPU_ACT_BF16_FROM - 1) : 0;

    /* Nodes of one format stage alike, whatever the rows. */
    if ((call->variant & CPU_ROUNDED) == 0)
        *out_format = weight == CPU_F16 || weight == CPU_BF16 ? 1 : 2;
    else
        *out_format = weight <= CPU_BF16 ? 3 : weight == CPU_CODEBOOK ? 4 : (call->variant & CPU_BY_ROW) != 0 ? 6 : 5;
    return bytes > below ? bytes : below;
}

/* A single row is split into blocks, which are rounded independently. */
uint64_t cpu_matmul_act_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    const struct sdk_tensor *x = call->inputs[0];
    const uint32_t now = product_of(call, x->rows).act;

    *out_grain = now == CPU_ACT_Q8 && x->rows == 1 ? CPU_BLOCK : cpu_act_grain(now);
    return now == CPU_ACT_NONE ? 0 : x->rows > 1 ? x->rows : x->width;
}

void cpu_matmul_act_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct cpu_device *device = call->device;
    const struct cpu_prepared *prepared = call->prepared;
    const struct sdk_tensor *x = call->inputs[0];

    if (x->rows > 1)
        cpu_act_stage(device, prepared->product.act, (const float *)x->planes[0] + begin * x->width, x->width, x->rows,
                      call->staged, begin, end);
    else
        device->kernels.quantize(x->planes[0], CPU_BLOCK, CPU_BLOCK, &prepared->matmul.act_q8, begin / CPU_BLOCK,
                                 end / CPU_BLOCK);
}

uint64_t cpu_matmul_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    *out_grain = product_of(call, call->inputs[0]->rows).act == CPU_ACT_BF16 ? CPU_MATMUL16_ROWS : CPU_MATMUL_ROWS;
    return call->inputs[1]->rows;
}

void cpu_matmul_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const struct cpu_prepared *prepared = call->prepared;

    prepared->product.run(&prepared->matmul, begin, end);
}

void cpu_matmul_of(const struct sdk_call *call, uint32_t weight, uint32_t act, void *staged,
                   struct cpu_matmul *out_matmul)
{
    const struct accel_matmul *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0];
    const struct sdk_tensor *bias = call->inputs[2];
    const struct sdk_tensor *residual = call->inputs[3];

    *out_matmul = (struct cpu_matmul){
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

    cpu_matrix_of(call->device, call->inputs[1], weight, &out_matmul->w);
    cpu_act_bind(act, out_matmul, staged);
}

void cpu_matmul_prepare(const struct sdk_call *call, void *memory)
{
    struct cpu_prepared *prepared = memory;

    /* Symbols that are no rows of x change often. */
    if (prepared->matmul.m == call->inputs[0]->rows)
        return;
    prepared->product = product_of(call, call->inputs[0]->rows);
    cpu_matmul_of(call, cpu_variant_weight(call->variant), prepared->product.act, call->staged, &prepared->matmul);
}

static const char *const acts[] = {"f32", "q8", "q8_row", "f32", "bf16"}; /* CPU_ACT_... */

uint32_t cpu_product_describe(const struct sdk_call *call, uint32_t variant, uint64_t rows, char *name, uint32_t size)
{
    const struct cpu_device *device = call->device;
    const struct cpu_product product = cpu_product_for(device, variant, call->inputs[1], rows);
    const char *allowed = (variant & CPU_BY_ROW) != 0                        ? "q8_row"
                          : (variant & CPU_ROUNDED) == 0                     ? "f32"
                          : cpu_weight_of(call->inputs[1]->type) <= CPU_BF16 ? "bf16"
                                                                             : "q8";
    const bool is_as_allowed = strcmp(acts[product.act], allowed) == 0;

    snprintf(name, size, "%s %s%s%s%s", cpu_product_name(product.family), cpu_isa_name(device->kernels.isa),
             call->inputs[1]->packed != NULL ? ", panels" : "", is_as_allowed ? "" : ", x ",
             is_as_allowed ? "" : acts[product.act]);
    return ACCEL_VARIANT_OWN + product.family;
}

uint32_t cpu_matmul_describe(const struct sdk_call *call, char *name, uint32_t size)
{
    return cpu_product_describe(call, call->variant, call->inputs[0]->rows, name, size);
}

uint64_t cpu_matmul_work(const struct sdk_call *call)
{
    return cpu_time(call, call->inputs[0]->rows * call->inputs[1]->rows * call->inputs[1]->width, 8);
}

uint32_t cpu_matmul_packs(const void *own, const struct accel_weight *weight)
{
    const struct cpu_device *device = own;
    const int slot = cpu_weight_of(weight->type);

    return slot >= 0 && (device->layout.packed >> slot & 1u) != 0 && weight->rank == 2 &&
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
