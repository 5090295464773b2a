/* SPDX-License-Identifier: Apache-2.0 */
#include "model/family/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "model/file/derived.h"
#include "model/file/fault.h"

static int32_t refuse_shape(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                            const char *wanted, struct accel_error *error)
{
    const char *source = model_derived_source(tensor, 0);
    char shape[MODEL_SHAPE_BYTES];

    return accel_error_set(
        error, ACCEL_E_CORRUPT, "%s: offset 0x%llx: tensor '%s'%s%s%s has rank %u and shape %s, not %s",
        accel_model_file_part_path(file, tensor->part), (unsigned long long)tensor->offset, tensor->name,
        source == NULL ? "" : ", read from '", source == NULL ? "" : source, source == NULL ? "" : "',", tensor->rank,
        model_shape_text(shape, tensor->rank, tensor->dims), wanted);
}

static int32_t find(const struct accel_model_file *file, const char *name, const struct accel_model_tensor **out_tensor,
                    struct accel_error *error)
{
    *out_tensor = accel_model_file_find(file, name);
    if (*out_tensor == NULL)
        return model_fault(error, ACCEL_E_CORRUPT, accel_model_file_path(file),
                           accel_model_file_format(file) == ACCEL_MODEL_GGUF ? MODEL_GGUF_KEYS : 0,
                           "tensor '%s' is missing", name);
    if ((*out_tensor)->type == ACCEL_TYPE_NONE)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED,
                               "%s: offset 0x%llx: tensor '%s' has type %s, which is not supported",
                               accel_model_file_part_path(file, (*out_tensor)->part),
                               (unsigned long long)(*out_tensor)->offset, name, (*out_tensor)->type_name);
    return ACCEL_OK;
}

/* Refuses a tensor whose type no operator reads in its place. Integers are codes of a quantizer, which mean nothing
 * without its scales; wider and narrower floats can be converted. */
static int32_t refuse_type(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                           const char *what, const char *wanted, const char *conversion, struct accel_error *error)
{
    const bool is_float = tensor->type == ACCEL_F64 || tensor->type == ACCEL_F8_E4M3 || tensor->type == ACCEL_F8_E5M2;

    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: offset 0x%llx: %s '%s' has type %s; %s",
                    accel_model_file_part_path(file, tensor->part), (unsigned long long)tensor->offset, what,
                    tensor->name, tensor->type_name, wanted);
    if (is_float)
        accel_error_remedy(error, "accelctl quantize IN OUT %s converts it", conversion);
    else
        accel_error_remedy(error, "take the model in F32, F16, BF16 or a quantized format of GGUF, GPTQ, AWQ or "
                                  "compressed-tensors: integers alone have no scales");
    return ACCEL_E_UNSUPPORTED;
}

/* Returns whether the operators that read matrices read this type: all but integers, booleans and F64. */
static bool is_matrix_type(uint32_t type)
{
    struct accel_format format;

    switch (type) {
    case ACCEL_F32:
    case ACCEL_F16:
    case ACCEL_BF16:
    case ACCEL_F8_E4M3:
    case ACCEL_F8_E5M2:
        return true;
    default:
        return accel_format_describe(type, &format) == ACCEL_OK && format.kind != ACCEL_FORMAT_SCALAR;
    }
}

int32_t weights_check_matrix(const struct accel_model_file *file, const char *name, uint64_t parts, uint64_t rows,
                             uint64_t width, const struct accel_model_tensor **out_tensor, struct accel_error *error)
{
    int32_t code = find(file, name, out_tensor, error);
    const struct accel_model_tensor *tensor = *out_tensor;
    char wanted[96];
    bool fits;

    if (code != ACCEL_OK)
        return code;
    fits = tensor->rank == 2 && tensor->dims[0] == parts * rows && tensor->dims[1] == width;
    if (parts > 1)
        fits = fits ||
               (tensor->rank == 3 && tensor->dims[0] == parts && tensor->dims[1] == rows && tensor->dims[2] == width);
    if (parts > 1)
        snprintf(wanted, sizeof(wanted), "[%llu, %llu, %llu]", (unsigned long long)parts, (unsigned long long)rows,
                 (unsigned long long)width);
    else
        snprintf(wanted, sizeof(wanted), "[%llu, %llu]", (unsigned long long)rows, (unsigned long long)width);
    if (!fits)
        return refuse_shape(file, tensor, wanted, error);
    if (is_matrix_type(tensor->type))
        return ACCEL_OK;
    return refuse_type(file, tensor, "matrix", "matrices are F32, F16, BF16, F8_E4M3, F8_E5M2 or quantized", "f32",
                       error);
}

int32_t weights_check_vector(const struct accel_model_file *file, const char *name, uint64_t rows, uint64_t width,
                             const struct accel_model_tensor **out_tensor, struct accel_error *error)
{
    int32_t code = find(file, name, out_tensor, error);
    const struct accel_model_tensor *tensor = *out_tensor;
    char wanted[64];

    if (code != ACCEL_OK)
        return code;
    if (rows == 0)
        snprintf(wanted, sizeof(wanted), "[%llu]", (unsigned long long)width);
    else
        snprintf(wanted, sizeof(wanted), "[%llu, %llu]", (unsigned long long)rows, (unsigned long long)width);
    if (rows == 0 ? tensor->rank != 1 || tensor->dims[0] != width
                  : tensor->rank != 2 || tensor->dims[0] != rows || tensor->dims[1] != width)
        return refuse_shape(file, tensor, wanted, error);
    switch (tensor->type) {
    case ACCEL_F32:
    case ACCEL_F16:
    case ACCEL_BF16:
        return ACCEL_OK;
    default:
        return refuse_type(file, tensor, "vector", "vectors are F32, F16 or BF16", "f32 --role norm=f32", error);
    }
}

static int compare_types(const void *name, const void *row)
{
    return strcmp(name, ((const struct weight_type *)row)->name);
}

const struct weight_type *weights_find_type(const struct weight_types *types, const char *name)
{
    if (types == NULL || types->count == 0)
        return NULL;
    return bsearch(name, types->rows, types->count, sizeof(*types->rows), compare_types);
}

int32_t weights_add(struct accel_builder *builder, const struct accel_model_tensor *tensor, uint32_t type,
                    uint32_t *out_value, struct accel_error *error)
{
    struct accel_dim dims[ACCEL_RANK] = {{0}};

    for (uint32_t d = 0; d < tensor->rank; d++)
        dims[d].add = tensor->dims[d];
    if (tensor->rank == 3) { /* parts, one after the other */
        dims[0].add *= dims[1].add;
        dims[1] = dims[2];
        dims[2].add = 0;
    }
    return accel_builder_value(builder, ACCEL_ROLE_WEIGHT, tensor->name, type, tensor->rank == 3 ? 2 : tensor->rank,
                               dims, out_value, error);
}
