/* SPDX-License-Identifier: Apache-2.0 */
/* Reads shape and groups of one packed matrix, and checks its tensors against each other and the configuration. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/checked.h"
#include "model/file/container.h"
#include "model/file/fault.h"
#include "model/file/packed_matrix.h"

int32_t model_packed_corrupt(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                             const char *what, struct accel_error *error)
{
    char shown[MODEL_QUOTE_BYTES];
    return model_fault(error, ACCEL_E_CORRUPT, accel_model_file_part_path(file, tensor->part), tensor->offset,
                       "tensor %s: %s", model_quote(shown, tensor->name, strlen(tensor->name)), what);
}

int32_t model_packed_unsupported(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                                 const char *what, struct accel_error *error)
{
    model_packed_corrupt(file, tensor, what, error);
    if (error)
        error->code = ACCEL_E_UNSUPPORTED;
    return model_packed_remedy(error);
}

static bool has_shape(const struct accel_model_tensor *tensor, uint32_t type, uint64_t outer, uint64_t inner)
{
    return tensor->type == type && tensor->rank == 2 && tensor->dims[0] == outer && tensor->dims[1] == inner;
}

static bool is_scale(uint32_t type)
{
    return type == ACCEL_F16 || type == ACCEL_BF16 || type == ACCEL_F32;
}

/* Sets the groups of a row; `width` is known. */
static void set_groups(struct model_packed *packed, uint64_t group)
{
    packed->file_group = group == 0 ? packed->width : group;
    packed->groups = (packed->width + packed->file_group - 1) / packed->file_group;
}

/* Derives rows and width of a GPTQ or AWQ matrix from its codes, and checks scales and zero points against them. */
static int32_t measure_columns(const struct accel_model_file *file, uint64_t group, struct model_packed *packed,
                               struct accel_error *error)
{
    const struct accel_model_tensor *codes = &packed->codes;
    const bool awq = packed->layout == MODEL_PACKED_AWQ;
    if (codes->type != ACCEL_I32 || codes->rank != 2 || codes->bytes == 0 ||
        (!awq && codes->dims[0] % packed->bits != 0))
        return model_packed_corrupt(file, codes, "is not a matrix of packed codes", error);
    if (!multiply_u64(awq ? 1 : codes->dims[0] / packed->bits, awq ? codes->dims[0] : 32, &packed->width) ||
        !multiply_u64(codes->dims[1], awq ? 8 : 1, &packed->rows) || packed->width > UINT32_MAX ||
        packed->rows > UINT32_MAX)
        return model_packed_corrupt(file, codes, "is too large", error);
    set_groups(packed, group);
    if (packed->rows * packed->bits % 32 != 0 || packed->width % 32 != 0)
        return model_packed_unsupported(file, codes, "its rows are not a whole number of words", error);
    if (!has_shape(&packed->zeros, ACCEL_I32, packed->groups, packed->rows * packed->bits / 32))
        return model_packed_corrupt(file, &packed->zeros, "is not an I32 matrix that matches the codes", error);
    if (!is_scale(packed->scales.type))
        return model_packed_unsupported(file, &packed->scales, "only scales in F16, BF16 and F32 are supported", error);
    if (!has_shape(&packed->scales, packed->scales.type, packed->groups, packed->rows))
        return model_packed_corrupt(file, &packed->scales, "does not match the codes", error);
    return ACCEL_OK;
}

int32_t model_packed_read_shape(const struct accel_model_file *file, const struct accel_model_tensor *shape,
                                struct model_packed *packed, struct accel_error *error)
{
    int64_t wide[2] = {0};
    int32_t narrow[2] = {0}, code;
    if (shape == NULL)
        return model_packed_corrupt(file, &packed->codes, "its .weight_shape is missing", error);
    if ((shape->type != ACCEL_I64 && shape->type != ACCEL_I32) || shape->rank != 1 || shape->dims[0] != 2)
        return model_packed_corrupt(file, shape, "is not a pair of integers", error);
    if (shape->type == ACCEL_I64) {
        code = accel_model_file_read(file, shape, 0, sizeof(wide), wide, error);
    } else {
        code = accel_model_file_read(file, shape, 0, sizeof(narrow), narrow, error);
        wide[0] = narrow[0];
        wide[1] = narrow[1];
    }
    if (code != ACCEL_OK)
        return code;
    if (wide[0] <= 0 || wide[1] <= 0 || wide[0] > UINT32_MAX || wide[1] > UINT32_MAX)
        return model_packed_corrupt(file, shape, "is not the shape of a matrix", error);
    packed->rows = (uint64_t)wide[0];
    packed->width = (uint64_t)wide[1];
    return ACCEL_OK;
}

int32_t model_packed_read_global(const struct accel_model_file *file, const struct accel_model_tensor *global,
                                 struct model_packed *packed, struct accel_error *error)
{
    float value;
    int32_t code;

    if (global->type != ACCEL_F32 || global->bytes != sizeof(value))
        return model_packed_corrupt(file, global, "is not one number in F32", error);
    code = accel_model_file_read(file, global, 0, sizeof(value), &value, error);
    if (code == ACCEL_OK && !(isfinite(value) && value > 0))
        code = model_packed_corrupt(file, global, "is not a scale above zero", error);
    packed->global = value;
    return code;
}

/* Checks the shapes of a compressed-tensors matrix, whose codes are stored by rows. */
static int32_t measure_rows(const struct accel_model_file *file, uint64_t group, struct model_packed *packed,
                            struct accel_error *error)
{
    const struct accel_model_tensor *codes = &packed->codes, *scales = &packed->scales, *zeros = &packed->zeros;
    const bool words = packed->layout == MODEL_PACKED_WORDS;
    uint32_t type = ACCEL_I8;
    uint64_t outer;
    if (!words && (codes->rank != 2 || codes->bytes == 0 || codes->dims[0] > UINT32_MAX))
        return model_packed_corrupt(file, codes, "is not a matrix", error);
    if (!words) {
        packed->rows = codes->dims[0];
        packed->width = codes->dims[1];
    } else if (!has_shape(codes, ACCEL_I32, packed->rows, (packed->width * packed->bits + 31) / 32)) {
        return model_packed_corrupt(file, codes, "is not a matrix of packed codes that matches its shape", error);
    }
    set_groups(packed, group);
    if (!is_scale(scales->type))
        return model_packed_unsupported(file, scales, "only scales in F16, BF16 and F32 are supported", error);
    packed->one_scale = group == 0 && scales->bytes == (scales->type == ACCEL_F32 ? 4 : 2);
    if (!packed->one_scale && !has_shape(scales, scales->type, packed->rows, packed->groups))
        return model_packed_corrupt(file, scales, "does not match the codes", error);
    if (zeros->name == NULL)
        return ACCEL_OK;
    outer = packed->rows;
    if (words) {
        type = ACCEL_I32;
        outer = (packed->rows * packed->bits + 31) / 32;
    }
    if (packed->one_scale && !words ? zeros->type != ACCEL_I8 || zeros->bytes != 1
                                    : packed->one_scale || !has_shape(zeros, type, outer, packed->groups))
        return model_packed_corrupt(file, zeros, "does not match the scales", error);
    return ACCEL_OK;
}

/* Returns whether scales of floats have the type: powers of two for each 32 values (MX), floats of 8 bits for each 16
 * of 4 bits (NVFP4), wider floats for all of 8 bits. */
static bool is_scale_of(const struct model_packing_choice *choice, uint32_t type)
{
    if (type == ACCEL_U8)
        return choice->group == 32 && choice->row_block == 1;
    if (type == ACCEL_F8_E4M3)
        return choice->bits == 4 && choice->group == 16;
    return choice->bits == 8 && is_scale(type);
}

/* Checks the shapes of matrices of experts in MXFP4, and takes them as one. */
static int32_t measure_experts(const struct accel_model_file *file, struct model_packed *packed,
                               struct accel_error *error)
{
    const struct accel_model_tensor *codes = &packed->codes, *scales = &packed->scales;

    if (codes->dims[3] != 16 || codes->bytes == 0 || codes->dims[2] > UINT32_MAX / 32 ||
        !multiply_u64(codes->dims[0], codes->dims[1], &packed->rows) || packed->rows > UINT32_MAX)
        return model_packed_corrupt(file, codes, "is not a list of matrices in blocks of 16 bytes", error);
    if (scales->type != ACCEL_U8 || scales->rank != 3 ||
        memcmp(scales->dims, codes->dims, 3 * sizeof(*codes->dims)) != 0)
        return model_packed_corrupt(file, scales, "does not match the codes", error);
    packed->parts = codes->dims[0];
    packed->width = 32 * codes->dims[2];
    set_groups(packed, 32);
    return ACCEL_OK;
}

/* Checks the shapes of a matrix of floats, whose bits are known, and that the configuration has the same bits. */
static int32_t measure_floats(const struct accel_model_file *file, const struct model_packing_choice *choice,
                              struct model_packed *packed, struct accel_error *error)
{
    const struct accel_model_tensor *codes = &packed->codes, *scales = &packed->scales;
    const uint32_t each = model_packed_scale_bytes(scales->type);
    uint64_t lines;

    if (codes->rank == 4 && packed->bits == 4 && choice->group == 32)
        return measure_experts(file, packed, error);
    if (codes->rank != 2 || codes->bytes == 0 || codes->dims[0] > UINT32_MAX || codes->dims[1] > UINT32_MAX / 2)
        return model_packed_corrupt(file, codes, "is not a matrix", error);
    if (!choice->floats || choice->bits != packed->bits)
        return model_packed_unsupported(file, codes, "the configuration does not describe floats of its type", error);
    if (!is_scale_of(choice, scales->type))
        return model_packed_unsupported(file, scales, "is of a type that scales of such groups do not have", error);
    packed->rows = codes->dims[0];
    packed->width = codes->dims[1] * (8 / packed->bits);
    packed->one_scale = scales->bytes == each && choice->group == 0 && choice->row_block == 1;
    packed->row_block = choice->row_block;
    set_groups(packed, choice->group);
    lines = (packed->rows + packed->row_block - 1) / packed->row_block;
    if (packed->one_scale || has_shape(scales, scales->type, lines, packed->groups) ||
        (packed->groups == 1 && scales->rank == 1 && scales->dims[0] == lines))
        return ACCEL_OK;
    return model_packed_corrupt(file, scales, "does not match the codes", error);
}

static int32_t measure_with(const struct accel_model_file *file, const struct model_packing_choice *choice,
                            struct model_packed *packed, struct accel_error *error)
{
    if (packed->layout == MODEL_PACKED_FLOATS)
        return measure_floats(file, choice, packed, error);
    if (choice->floats)
        return model_packed_unsupported(file, &packed->codes, "the configuration describes floats", error);
    packed->bits = packed->layout == MODEL_PACKED_BYTES ? 8 : choice->bits;
    if (packed->layout == MODEL_PACKED_GPTQ || packed->layout == MODEL_PACKED_AWQ)
        return measure_columns(file, choice->group, packed, error);
    return measure_rows(file, choice->group, packed, error);
}

/* Returns whether both have the same bits and groups. */
static bool is_same_packing(const struct model_packed *a, const struct model_packed *b)
{
    return a->bits == b->bits && a->row_block == b->row_block &&
           (a->groups == 1 ? b->groups == 1 : a->file_group == b->file_group);
}

int32_t model_packed_measure(const struct accel_model_file *file, const struct model_packing *packing,
                             struct model_packed *packed, struct accel_error *error)
{
    struct model_packed found = {0};
    if (packing->choice_count == 0)
        return model_packed_unsupported(file, &packed->codes, "the configuration does not describe packed matrices",
                                        error);
    for (uint32_t i = 0; i < packing->choice_count; i++) {
        struct model_packed tried = *packed;
        if (measure_with(file, &packing->choices[i], &tried, NULL) != ACCEL_OK)
            continue;
        if (found.rows != 0 && !is_same_packing(&found, &tried))
            return model_packed_unsupported(file, &packed->codes, "matches several packings of the configuration",
                                            error);
        found = tried;
    }
    if (found.rows == 0)
        return measure_with(file, &packing->choices[0], packed, error);
    *packed = found;
    return ACCEL_OK;
}

int32_t model_packed_read_order(struct accel_model_file *file, const struct accel_model_tensor *order,
                                struct model_packed *packed, struct accel_error *error)
{
    uint32_t *groups;
    bool is_rising = true, is_unset = true;
    int32_t code;
    if (order->type != ACCEL_I32 || order->rank != 1 || order->dims[0] != packed->width)
        return model_packed_corrupt(file, order, "is not a list of I32 with an element for each column", error);
    groups = malloc((size_t)order->bytes);
    if (groups == NULL)
        return model_no_memory(error, file->path, order->bytes);
    code = accel_model_file_read(file, order, 0, order->bytes, groups, error);
    for (uint64_t i = 0; i < packed->width && code == ACCEL_OK; i++) {
        is_rising = is_rising && groups[i] == i / packed->file_group;
        is_unset = is_unset && groups[i] == UINT32_MAX;
    }
    for (uint64_t i = 0; i < packed->width && code == ACCEL_OK && !is_unset; i++)
        if (groups[i] >= packed->groups)
            code = model_packed_corrupt(file, order, "has the number of a missing group", error);
    if (code == ACCEL_OK && !is_rising && !is_unset) {
        uint32_t *order_copy = model_pool_alloc(&file->pool, packed->width, sizeof(*order_copy));
        if (order_copy == NULL)
            code = model_no_memory(error, file->path, order->bytes);
        else
            memcpy(order_copy, groups, (size_t)order->bytes);
        packed->order = order_copy;
    }
    free(groups);
    return code;
}
