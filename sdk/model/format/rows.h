/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a tensor in F32, whatever its type: the planes of quantized types lie one after the other in the tensor's
 * bytes, and a row has a part in each of them.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_ROWS_H
#define ACCEL_SDK_MODEL_FORMAT_ROWS_H

#include <accel/model/file.h>
#include <accel/quant/format.h>

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

/* Decodes rows first .. first + count of the tensor to out [count, width]. `scratch` has room for count * all_bytes,
 * and is used where the file is not mapped. Any thread. */
int32_t model_rows_decode(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                          const struct model_rows *rows, uint64_t first, uint64_t count, void *scratch, float *out,
                          struct accel_error *error);

#endif
