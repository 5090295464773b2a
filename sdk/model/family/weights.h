/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of a file as values of a graph. Matrices stay what they are in the file; vectors (norms, biases) that are not
 * F32 are converted and become constants, since operators read them in F32.
 */
#ifndef ACCEL_SDK_MODEL_FAMILY_WEIGHTS_H
#define ACCEL_SDK_MODEL_FAMILY_WEIGHTS_H

#include <accel/builder.h>
#include <accel/model/file.h>

/* Matrices that are made of another type when they are loaded, sorted by name. */
struct weight_types {
    const struct weight_type *rows;
    uint32_t count;
};
struct weight_type {
    const char *name;
    uint32_t type;
    uint32_t zero;
};

/* The row of a tensor, or NULL where it stays what it is in the file. `types` may be NULL. */
const struct weight_type *weights_find_type(const struct weight_types *types, const char *name);

/* A matrix [rows, width] called `name`: its tensor, checked against the shape. Missing: ACCEL_E_NOT_FOUND. */
int32_t weights_check_matrix(const struct accel_model_file *file, const char *name, uint64_t rows, uint64_t width,
                             const struct accel_model_tensor **out_tensor, struct accel_error *error);

/* A vector [width], likewise. */
int32_t weights_check_vector(const struct accel_model_file *file, const char *name, uint64_t width,
                             const struct accel_model_tensor **out_tensor, struct accel_error *error);

/* Reads a vector of F32, F16, BF16 or F64 as F32. */
int32_t weights_read_vector(const struct accel_model_file *file, const struct accel_model_tensor *tensor, float *out,
                            struct accel_error *error);

/* Adds a checked matrix or vector to the graph, and its bytes in the file to *bytes when it is a weight and no
 * constant.
 */
int32_t weights_add_matrix(struct accel_builder *builder, const struct weight_types *types,
                           const struct accel_model_tensor *tensor, uint32_t *out_value, uint64_t *bytes,
                           struct accel_error *error);
int32_t weights_add_vector(struct accel_builder *builder, const struct accel_model_file *file,
                           const struct accel_model_tensor *tensor, uint32_t *out_value, uint64_t *bytes,
                           struct accel_error *error);

#endif
