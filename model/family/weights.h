/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the tensors of a file to a graph. Matrices stay as stored; vectors (norms, biases) that are not F32 are
 * converted to constants, since operators read them in F32.
 */
#ifndef ACCEL_MODEL_FAMILY_WEIGHTS_H
#define ACCEL_MODEL_FAMILY_WEIGHTS_H

#include <accel/builder.h>
#include <accel/model/file.h>

/* Matrices that are converted when they are loaded, sorted by name. */
struct weight_types {
    const struct weight_type *rows;
    uint32_t count;
};
struct weight_type {
    const char *name;
    uint32_t type;
    uint32_t zero;
};

/* Returns the row of a tensor, or NULL if it stays as stored. `types` may be NULL. */
const struct weight_type *weights_find_type(const struct weight_types *types, const char *name);

/* Finds the matrix `name` and checks its shape: [rows, width], or with `parts` above 1 [parts, rows, width] or all rows
 * of the parts in one. ACCEL_E_CORRUPT if it is missing, ACCEL_E_UNSUPPORTED if its scales are tensors of their own. */
int32_t weights_check_matrix(const struct accel_model_file *file, const char *name, uint64_t parts, uint64_t rows,
                             uint64_t width, const struct accel_model_tensor **out_tensor, struct accel_error *error);

/* Finds a vector and checks its shape: [width], or with `rows` not 0 [rows, width]. */
int32_t weights_check_vector(const struct accel_model_file *file, const char *name, uint64_t rows, uint64_t width,
                             const struct accel_model_tensor **out_tensor, struct accel_error *error);

/* Reads a vector of F32, F16, BF16 or F64 as F32. */
int32_t weights_read_vector(const struct accel_model_file *file, const struct accel_model_tensor *tensor, float *out,
                            struct accel_error *error);

/* Adds a checked matrix, as rows of one matrix, or a vector to the graph, and its stored bytes to *bytes if it is a
 * weight rather than a constant. `add` is added to the elements of a vector. */
int32_t weights_add_matrix(struct accel_builder *builder, const struct weight_types *types,
                           const struct accel_model_tensor *tensor, uint32_t *out_value, uint64_t *bytes,
                           struct accel_error *error);
int32_t weights_add_vector(struct accel_builder *builder, const struct accel_model_file *file,
                           const struct accel_model_tensor *tensor, float add, uint32_t *out_value, uint64_t *bytes,
                           struct accel_error *error);

#endif
