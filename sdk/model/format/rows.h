/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a tensor in F32, whatever its type: the planes of quantized types lie one after the other in the tensor's
 * bytes, and a row has a part in each of them. A row by itself, as it is encoded, has its planes one after the other.
 * Everything here may be called from any thread.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_ROWS_H
#define ACCEL_SDK_MODEL_FORMAT_ROWS_H

#include <accel/model/file.h>
#include <accel/quant/format.h>

/* Values of a row; 1 of a scalar. */
uint64_t model_tensor_width(const struct accel_model_tensor *tensor);

/* Values of a tensor: their number fits, as the file has checked. */
uint64_t model_tensor_elements(const struct accel_model_tensor *tensor);

/* How the rows of a tensor, or of one of its shape and another type, lie. A scalar is one row of one value. */
struct model_rows {
    uint32_t type;
    uint32_t planes;
    uint64_t rows;
    uint64_t width;
    size_t row_bytes[ACCEL_FORMAT_PLANES];
    size_t all_bytes; /* of a row in all planes */
};

/* The layout of rows of that shape in `type`. ACCEL_E_UNSUPPORTED: the type is not decoded here; ACCEL_E_INVALID: rows
 * are no whole number of blocks; ACCEL_E_LIMIT. Sets no error text. */
int32_t model_rows_of(const struct accel_model_tensor *tensor, uint32_t type, struct model_rows *out_rows);

/* Bytes before plane `plane` begins. */
uint64_t model_rows_plane(const struct model_rows *rows, uint32_t plane);

/* Decodes rows first .. first + count of the tensor to out [count, width]. `scratch` has room for count * all_bytes; it
 * is used, and may not be NULL, where accel_model_file_data shows no bytes of the tensor. */
int32_t model_rows_decode(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                          const struct model_rows *rows, uint64_t first, uint64_t count, void *scratch, float *out,
                          struct accel_error *error);

/* Pointers to the planes of a row by itself. */
void model_row_planes(const struct model_rows *rows, void *row, void *out_planes[ACCEL_FORMAT_PLANES]);

/* Encodes values [width] with accel_format_fit to `row` [all_bytes], and decodes them to again [width] unless that is
 * NULL. The code of accel_format_fit, without a text. */
int32_t model_row_fit(const struct model_rows *rows, const float *values, const float *weight, void *row, float *again);

/* Squares of what a conversion loses, and of what there was. */
struct model_loss {
    double difference;
    double power;
};

/* Adds the squares of `count` values, and of what is stored of them; each counts by its `weight`, NULL: 1. */
void model_loss_add(struct model_loss *loss, const float *values, const float *again, const float *weight,
                    uint64_t count);

/* The relative error: the root of difference / power, or 0 where there was nothing. */
double model_loss_error(const struct model_loss *loss);

#endif
