/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses one packed matrix while a folder is opened. Call in this order: shape and groups (packed_shape.c), then the
 * type (packed_type.c). `packed` has its tensors, layout and zero_add. The file is not shared yet. All functions set
 * the error's text.
 */
#ifndef ACCEL_MODEL_FILE_PACKED_MATRIX_H
#define ACCEL_MODEL_FILE_PACKED_MATRIX_H

#include "model/file/packed.h"

/* Set an error about a tensor: ACCEL_E_CORRUPT, or ACCEL_E_UNSUPPORTED. */
int32_t model_packed_corrupt(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                             const char *what, struct accel_error *error);
int32_t model_packed_unsupported(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                                 const char *what, struct accel_error *error);

/* Reads rows and width from the two numbers of a weight_shape; NULL: it is missing. */
int32_t model_packed_read_shape(const struct accel_model_file *file, const struct accel_model_tensor *shape,
                                struct model_packed *packed, struct accel_error *error);

/* Reads the one number of a tensor that applies to all scales. */
int32_t model_packed_read_global(const struct accel_model_file *file, const struct accel_model_tensor *global,
                                 struct model_packed *packed, struct accel_error *error);

/* Finds bits, groups and, without a weight_shape, rows and width: the one choice of the configuration that matches. */
int32_t model_packed_measure(const struct accel_model_file *file, const struct model_packing *packing,
                             struct model_packed *packed, struct accel_error *error);

/* Reads the group of each column. Stores the order in the file's pool unless groups rise with the columns or all are -1
 * (no order). */
int32_t model_packed_read_order(struct accel_model_file *file, const struct accel_model_tensor *order,
                                struct model_packed *packed, struct accel_error *error);

/* Chooses a planar type if one can represent the matrix, else F16 or F32. */
int32_t model_packed_choose_type(const struct accel_model_file *file, struct model_packed *packed,
                                 struct accel_error *error);

#endif
