/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the type of a packed matrix from its scales and zero points. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <accel/quant/half.h>

#include "model/file/checked.h"
#include "model/file/container.h"
#include "model/file/packed_matrix.h"
#include "model/file/rows.h"

#define SCAN_BYTES 65536u
#define F8_E4M3_NAN 0x7fu /* larger codes have the sign */

#define NVFP4_BLOCK 64u

/* Properties of all scales of a matrix. */
struct scales {
    bool halves;    /* every scale is exactly a half */
    bool positive;  /* every scale of 8 bits is a number without a sign */
    float least;    /* smallest magnitude above zero */
    float greatest; /* NaN counts as infinite */
};

static int32_t scan_scales(const struct accel_model_file *file, const struct model_packed *packed, struct scales *out,
                           struct accel_error *error)
{
    const struct accel_model_tensor *tensor = &packed->scales;
    const uint64_t each = model_packed_scale_bytes(tensor->type);
    unsigned char *bytes = malloc(SCAN_BYTES);
    int32_t code = bytes == NULL ? model_no_memory(error, file->path, SCAN_BYTES) : ACCEL_OK;
    *out = (struct scales){true, true, FLT_MAX, 0};
    for (uint64_t at = 0; at < tensor->bytes && code == ACCEL_OK; at += SCAN_BYTES) {
        const uint64_t count = tensor->bytes - at < SCAN_BYTES ? tensor->bytes - at : SCAN_BYTES;
        code = accel_model_file_read(file, tensor, at, count, bytes, error);
        for (uint64_t i = 0; i < count && code == ACCEL_OK; i += each) {
            const float scale = model_packed_scale(packed, bytes + i), size = fabsf(scale);
            out->halves = out->halves && accel_f16_to_f32(accel_f16_from_f32(scale)) == scale;
            out->positive = out->positive && bytes[i] < F8_E4M3_NAN;
            out->greatest = size <= out->greatest ? out->greatest : isnan(size) ? INFINITY : size;
            if (size > 0 && size < out->least)
                out->least = size;
        }
    }
    free(bytes);
    return code;
}

/* Chooses symmetric if every zero point is in the middle: such matrices have faster kernels. */
static int32_t choose_scheme(const struct accel_model_file *file, const struct model_packed *packed,
                             uint32_t *out_scheme, struct accel_error *error)
{
    const uint64_t stride = packed->zeros.name == NULL ? 0 : model_packed_zero_stride(packed);
    unsigned char *zeros;
    int32_t code;
    *out_scheme = ACCEL_SCHEME_SYMMETRIC;
    if (packed->zeros.name == NULL)
        return ACCEL_OK;
    zeros = malloc((size_t)packed->zeros.bytes + 4);
    code = zeros == NULL ? model_no_memory(error, file->path, packed->zeros.bytes)
                         : accel_model_file_read(file, &packed->zeros, 0, packed->zeros.bytes, zeros, error);
    for (uint64_t g = 0; g < packed->groups && code == ACCEL_OK; g++)
        for (uint64_t row = 0; row < packed->rows && *out_scheme == ACCEL_SCHEME_SYMMETRIC; row++)
            if (model_packed_zero(packed, zeros, stride, g, row) != 1u << (packed->bits - 1))
                *out_scheme = ACCEL_SCHEME_ASYMMETRIC;
    free(zeros);
    return code;
}

static int32_t choose_planar(const struct accel_model_file *file, struct model_packed *packed,
                             struct accel_error *error)
{
    const struct accel_model_tensor shape = {.rank = 2, .dims = {packed->rows, packed->width}};
    struct model_rows rows;
    uint32_t scheme, log2_group = 5;
    int32_t code = choose_scheme(file, packed, &scheme, error);
    if (code != ACCEL_OK)
        return code;
    for (packed->group = 512; packed->file_group % packed->group != 0 || packed->width % packed->group != 0;)
        packed->group /= 2;
    while (1u << log2_group < packed->group)
        log2_group++;
    packed->type = ACCEL_PLANAR(packed->bits, log2_group, packed->levels != NULL ? ACCEL_SCHEME_FLOAT8 : scheme);
    if (model_rows_of(&shape, packed->type, &rows) != ACCEL_OK)
        return accel_error_set(error, ACCEL_E_INTERNAL, "%s: type 0x%x", packed->codes.name, packed->type);
    packed->planes = rows.planes;
    for (uint32_t p = 0; p < rows.planes; p++)
        packed->plane_bytes[p] = rows.rows * rows.row_bytes[p];
    return ACCEL_OK;
}

static int32_t choose_blocks(const struct accel_model_file *file, struct model_packed *packed, uint32_t type,
                             struct accel_error *error)
{
    size_t row_bytes;

    if (accel_format_row_bytes(type, 0, (size_t)packed->width, &row_bytes) != ACCEL_OK ||
        !multiply_u64(packed->rows, row_bytes, &packed->plane_bytes[0]))
        return model_packed_corrupt(file, &packed->codes, "is too large", error);
    packed->type = type;
    packed->blocks = true;
    packed->dense = false;
    packed->planes = 1;
    return ACCEL_OK;
}

/* Finds the least magnitude above zero and the greatest finite one that a scale of 1 gives. */
static void find_levels(const struct model_packed *packed, float *out_least, float *out_greatest)
{
    *out_least = packed->levels == NULL ? 1 : FLT_MAX;
    *out_greatest = packed->levels == NULL ? (float)((1u << packed->bits) - 1) : 0;
    for (uint32_t i = 0; packed->levels != NULL && i < 1u << packed->bits; i++) {
        const float size = fabsf(packed->levels[i]);

        if (size > 0 && size < *out_least)
            *out_least = size;
        if (isfinite(size) && size > *out_greatest)
            *out_greatest = size;
    }
}

static float global_factor(const struct model_packed *packed)
{
    return (float)(packed->global_divides ? 1 / packed->global : packed->global);
}

float model_packed_factor(const struct model_packed *packed)
{
    return packed->type == ACCEL_NVFP4 ? global_factor(packed) : 1;
}

/* Finds the matrix `name` if it can be blocks of NVFP4, or returns NULL. */
static struct model_tensor *find_nvfp4(const struct accel_model_file *file, const char *name)
{
    const struct accel_model_tensor *found = file->packed_count == 0 ? NULL : accel_model_file_find(file, name);
    struct model_tensor *tensor = found == NULL ? NULL : &file->tensors[model_tensor_index(file, found)];

    return tensor != NULL && tensor->packed != NULL && tensor->packed->is_nvfp4 ? tensor : NULL;
}

int32_t model_packed_keep_blocks(struct accel_model_file *file, const char *const *names, uint64_t count,
                                 struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint64_t i = 0; i < count; i++)
        if (find_nvfp4(file, names[i]) == NULL)
            return ACCEL_OK;
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++) {
        struct model_tensor *tensor = find_nvfp4(file, names[i]);
        struct model_packed *packed = model_pool_alloc(&file->pool, 1, sizeof(*packed));

        if (packed == NULL)
            return model_no_memory(error, file->path, sizeof(*packed));
        *packed = *tensor->packed;
        code = choose_blocks(file, packed, ACCEL_NVFP4, error);
        tensor->packed = packed;
        tensor->face.type = packed->type;
        tensor->face.type_name = tensor->face.stored_type;
        tensor->face.bytes = packed->plane_bytes[0];
    }
    return code;
}

int32_t model_packed_keep_all(struct accel_model_file *file, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint64_t i = 0; file->packed_count != 0 && i < file->tensor_count && code == ACCEL_OK; i++)
        code = model_packed_keep_blocks(file, &file->tensors[i].face.name, 1, error);
    return code;
}

int32_t model_packed_choose_type(const struct accel_model_file *file, struct model_packed *packed,
                                 struct accel_error *error)
{
    const bool whole = packed->width % 32 == 0 && packed->file_group % 32 == 0 && packed->order == NULL;
    const bool planar = whole && (packed->levels == NULL || packed->codes.type == ACCEL_F8_E4M3);
    const float unit = packed->levels != NULL ? MODEL_PACKED_FLOAT8_UNIT : 1;
    struct scales scales = {true, true, 0, 0};
    float least, greatest;
    uint64_t bytes;
    int32_t code = ACCEL_OK;
    if (packed->bits == 4 && packed->levels != NULL && packed->scales.type == ACCEL_U8 && packed->width % 32 == 0)
        return choose_blocks(file, packed, ACCEL_MXFP4, error);
    if (!planar || packed->scales.type != ACCEL_F16 || packed->levels != NULL)
        code = scan_scales(file, packed, &scales, error);
    if (code != ACCEL_OK)
        return code;
    if (planar &&
        ((scales.halves && unit == 1) || (scales.least * unit >= 0x1p-14f && scales.greatest * unit <= 65504.0f)))
        return choose_planar(file, packed, error);
    find_levels(packed, &least, &greatest);
    packed->is_nvfp4 = packed->bits == 4 && packed->levels != NULL && packed->scales.type == ACCEL_F8_E4M3 &&
                       packed->width % NVFP4_BLOCK == 0 && scales.positive && isnormal(global_factor(packed));
    packed->dense = true;
    packed->type = scales.least * least >= 0x1p-14f && scales.greatest * greatest <= 65504.0f ? ACCEL_F16
                   : packed->levels != NULL                                                   ? ACCEL_BF16
                                                                                              : ACCEL_F32;
    packed->planes = 1;
    if (!multiply_u64(packed->rows, packed->width, &bytes) ||
        !multiply_u64(bytes, packed->type == ACCEL_F32 ? 4 : 2, &packed->plane_bytes[0]))
        return model_packed_corrupt(file, &packed->codes, "is too large", error);
    return ACCEL_OK;
}
