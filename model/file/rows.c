/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/rows.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/file/fault.h"

uint64_t model_tensor_width(const struct accel_model_tensor *tensor)
{
    return tensor->rank == 0 ? 1 : tensor->dims[tensor->rank - 1];
}

uint64_t model_tensor_elements(const struct accel_model_tensor *tensor)
{
    uint64_t elements = 1;

    for (uint32_t d = 0; d < tensor->rank; d++)
        elements *= tensor->dims[d];
    return elements;
}

/* Returns whether rows of `width` values are whole blocks of the type. */
static bool divides(uint32_t type, uint64_t width)
{
    struct accel_format format;

    return accel_format_describe(type, &format) == ACCEL_OK && width % format.block_values == 0;
}

uint32_t model_narrow_type(uint32_t type, uint64_t width)
{
    static const struct {
        uint32_t type, narrow;
    } formats[] = {
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, number, file_type, narrow, use, cache)            \
    {ACCEL_##ID, narrow},
#include <accel/quant/formats.def>
    };

    if (divides(type, width))
        return type;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].type == type && divides(formats[i].narrow, width))
            return formats[i].narrow;
    return accel_format_narrow(type, (size_t)width);
}

/* Returns whether a type decodes to real values, which integers do not; one zero is enough to test this. */
static bool is_decoded(const struct accel_format *format)
{
    const void *zeros[ACCEL_FORMAT_PLANES];
    const uint64_t zero = 0;
    float value;

    for (uint32_t p = 0; p < ACCEL_FORMAT_PLANES; p++)
        zeros[p] = &zero;
    return accel_format_decode(format->type, zeros, format->kind == ACCEL_FORMAT_SCALAR, &value) == ACCEL_OK;
}

int32_t model_rows_of(const struct accel_model_tensor *tensor, uint32_t type, struct model_rows *out_rows)
{
    struct accel_format format;

    memset(out_rows, 0, sizeof(*out_rows));
    if (accel_format_describe(type, &format) != ACCEL_OK || !is_decoded(&format))
        return ACCEL_E_UNSUPPORTED;
    out_rows->type = type;
    out_rows->planes = format.planes;
    out_rows->width = model_tensor_width(tensor);
    out_rows->rows = 1;
    for (uint32_t d = 0; d + 1 < tensor->rank; d++)
        out_rows->rows *= tensor->dims[d];
    for (uint32_t p = 0; p < format.planes; p++) {
        int32_t code = accel_format_row_bytes(type, p, (size_t)out_rows->width, &out_rows->row_bytes[p]);

        if (code != ACCEL_OK)
            return code;
        out_rows->all_bytes += out_rows->row_bytes[p];
    }
    return ACCEL_OK;
}

uint64_t model_rows_plane(const struct model_rows *rows, uint32_t plane)
{
    uint64_t begin = 0;

    for (uint32_t p = 0; p < plane; p++)
        begin += rows->rows * rows->row_bytes[p];
    return begin;
}

/* Finds the rows of each plane in the mapping, or reads them to `scratch`. */
static int32_t find_planes(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                           const struct model_rows *rows, uint64_t first, uint64_t count, void *scratch,
                           const unsigned char *planes[ACCEL_FORMAT_PLANES], struct accel_error *error)
{
    const unsigned char *data = accel_model_file_data(file, tensor);
    unsigned char *to = scratch;
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; p < rows->planes && code == ACCEL_OK; p++) {
        uint64_t offset = model_rows_plane(rows, p) + first * rows->row_bytes[p], bytes = count * rows->row_bytes[p];

        planes[p] = data != NULL ? data + offset : to;
        if (data == NULL)
            code = accel_model_file_read(file, tensor, offset, bytes, to, error);
        to += data == NULL ? bytes : 0;
    }
    return code;
}

int32_t model_rows_decode(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                          const struct model_rows *rows, uint64_t first, uint64_t count, void *scratch, float *out,
                          struct accel_error *error)
{
    const unsigned char *planes[ACCEL_FORMAT_PLANES] = {NULL};
    int32_t code = find_planes(file, tensor, rows, first, count, scratch, planes, error);

    for (uint64_t r = 0; r < count && code == ACCEL_OK; r++) {
        const void *row[ACCEL_FORMAT_PLANES] = {NULL};

        for (uint32_t p = 0; p < rows->planes; p++)
            row[p] = planes[p] + r * rows->row_bytes[p];
        code = accel_format_decode(rows->type, row, (size_t)rows->width, out + r * rows->width);
        if (code != ACCEL_OK)
            code = model_fault(error, code, accel_model_file_path(file), MODEL_NO_OFFSET,
                               "tensor '%s' cannot be decoded", tensor->name);
    }
    return code;
}

void model_row_planes(const struct model_rows *rows, void *row, void *out_planes[ACCEL_FORMAT_PLANES])
{
    unsigned char *at = row;

    for (uint32_t p = 0; p < rows->planes; p++) {
        out_planes[p] = at;
        at += rows->row_bytes[p];
    }
}

int32_t model_row_fit(const struct model_rows *rows, const float *values, const float *weight, void *row, float *again)
{
    void *planes[ACCEL_FORMAT_PLANES] = {NULL};
    int32_t code;

    model_row_planes(rows, row, planes);
    code = accel_format_fit(rows->type, values, weight, (size_t)rows->width, planes);
    if (code != ACCEL_OK || again == NULL)
        return code;
    return accel_format_decode(rows->type, (const void *const *)planes, (size_t)rows->width, again);
}

void model_loss_add(struct model_loss *loss, const float *values, const float *again, const float *weight,
                    uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        double w = weight == NULL ? 1 : (double)weight[i], value = (double)values[i];
        double difference = (double)again[i] - value;

        loss->difference += w * difference * difference;
        loss->power += w * value * value;
    }
}

double model_loss_error(const struct model_loss *loss)
{
    return loss->power > 0 ? sqrt(loss->difference / loss->power) : 0;
}
