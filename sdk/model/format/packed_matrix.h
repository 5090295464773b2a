/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One packed matrix while a folder is opened, in the order of the calls: its shape and groups (packed_shape.c), then
 * the type that it is shown in (packed_type.c). `packed` has its tensors, its layout and zero_add before. Files are
 * read, and nobody else has them yet. All of these set the error's text.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_PACKED_MATRIX_H
#define ACCEL_SDK_MODEL_FORMAT_PACKED_MATRIX_H

#include "sdk/model/format/packed.h"

/* ACCEL_E_CORRUPT: `what` is wrong with a tensor; ACCEL_E_UNSUPPORTED: it is not read here. */
int32_t model_packed_wrong(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                           const char *what, struct accel_error *error);
int32_t model_packed_not_read(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                              const char *what, struct accel_error *error);

/* Rows and width, from the two numbers of a weight_shape; NULL: it is missing. */
int32_t model_packed_read_shape(const struct accel_model_file *file, const struct accel_model_tensor *shape,
                                struct model_packed *packed, struct accel_error *error);

/* Bits, groups and, where no weight_shape has said them, rows and width, by the one choice of the configuration that
 * fits. */
int32_t model_packed_measure(const struct accel_model_file *file, const struct model_packing *packing,
                             struct model_packed *packed, struct accel_error *error);

/* The group of each column: kept where groups do not rise with the columns, and then the file's own. All of them -1:
 * there is no such order. */
int32_t model_packed_read_order(struct accel_model_file *file, const struct accel_model_tensor *order,
                                struct model_packed *packed, struct accel_error *error);

/* A planar type where one says it, else decoded values; both with halves where these are normal ones. */
int32_t model_packed_choose_type(const struct accel_model_file *file, struct model_packed *packed,
                                 struct accel_error *error);

#endif
