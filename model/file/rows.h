/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes and encodes rows of a tensor of any type as F32. The planes of quantized types are stored one after the other
 * in the tensor's bytes, and a row has a part in each. A separate encoded row has its planes one after the other. Any
 * thread.
 */
#ifndef ACCEL_MODEL_FILE_ROWS_H
#define ACCEL_MODEL_FILE_ROWS_H

#include <accel/model/file.h>
#include <accel/quant/format.h>

/* Returns the values of a row; 1 for a scalar. */
uint64_t model_tensor_width(const struct accel_model_tensor *tensor);

/* Returns the values of a tensor; the file has checked that the number fits. */
uint64_t model_tensor_elements(const struct accel_model_tensor *tensor);

/* Returns `type`, or the fallback for rows of `width` values that are not whole blocks of it: blocks of 32 with at
 * least as many bits, as in llama-quantize, or a planar type with smaller groups; else F16. */
uint32_t model_narrow_type(uint32_t type, uint64_t width);

/* Layout of the rows of a tensor, or of its shape in another type. A scalar is one row of one value. */
struct model_rows {
    uint32_t type;
    uint32_t planes;
    uint64_t rows;
    uint64_t width;
    size_t row_bytes[ACCEL_FORMAT_PLANES];
    size_t all_bytes; /* of a row in all planes */
};

/* Computes the layout of a tensor's rows in `type`. ACCEL_E_UNSUPPORTED: there is no decoder; ACCEL_E_INVALID: rows are
 * not whole blocks; ACCEL_E_LIMIT. Sets no error text. */
int32_t model_rows_of(const struct accel_model_tensor *tensor, uint32_t type, struct model_rows *out_rows);

/* Returns the offset of plane `plane`. */
uint64_t model_rows_plane(const struct model_rows *rows, uint32_t plane);

/* Decodes rows first .. first + count of the tensor to out [count, width]. `scratch` has count * all_bytes bytes; it is
 * required if accel_model_file_data returns NULL for the tensor. */
int32_t model_rows_decode(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                          const struct model_rows *rows, uint64_t first, uint64_t count, void *scratch, float *out,
                          struct accel_error *error);

/* Returns pointers to the planes of a separate row. */
void model_row_planes(const struct model_rows *rows, void *row, void *out_planes[ACCEL_FORMAT_PLANES]);

/* Encodes values [width] with accel_format_fit to `row` [all_bytes], and decodes them to again [width] unless that is
 * NULL. Returns the code of accel_format_fit, without text. */
int32_t model_row_fit(const struct model_rows *rows, const float *values, const float *weight, void *row, float *again);

/* Sums of squares: of conversion errors and of the original values. */
struct model_loss {
    double difference;
    double power;
};

/* Adds the squares of `count` values and of their errors, multiplied by `weight` (NULL: 1). */
void model_loss_add(struct model_loss *loss, const float *values, const float *again, const float *weight,
                    uint64_t count);

/* Returns the relative error: the root of difference / power, or 0 if power is 0. */
double model_loss_error(const struct model_loss *loss);

#endif
