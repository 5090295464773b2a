/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the tensors of a file to a graph. Matrices stay as stored, or have another type; vectors (norms, biases) are
 * F32, which operators read them in. Weights that differ from the file are converted when they are loaded: a graph
 * reads no bytes.
 */
#ifndef ACCEL_MODEL_FAMILY_WEIGHTS_H
#define ACCEL_MODEL_FAMILY_WEIGHTS_H

#include <stdbool.h>

#include <accel/builder.h>
#include <accel/model/file.h>

/* Weights that are converted when they are loaded, sorted by name. */
struct weight_types {
    const struct weight_type *rows;
    uint32_t count;
};
struct weight_type {
    const char *name;
    uint32_t type;
    float add;      /* to each element of a vector */
    bool is_vector; /* the graph has it in F32, whatever types the plan has */
};

/* Returns the row of a tensor, or NULL if it stays as stored. `types` may be NULL. */
const struct weight_type *weights_find_type(const struct weight_types *types, const char *name);

/* Finds the matrix `name` and checks its shape: [rows, width], or with `parts` above 1 [parts, rows, width] or all rows
 * of the parts in one. ACCEL_E_CORRUPT if it is missing. */
int32_t weights_check_matrix(const struct accel_model_file *file, const char *name, uint64_t parts, uint64_t rows,
                             uint64_t width, const struct accel_model_tensor **out_tensor, struct accel_error *error);

/* Finds a vector and checks its shape: [width], or with `rows` not 0 [rows, width]. */
int32_t weights_check_vector(const struct accel_model_file *file, const char *name, uint64_t rows, uint64_t width,
                             const struct accel_model_tensor **out_tensor, struct accel_error *error);

/* Adds a checked vector, or a matrix as rows of one, to the graph in a type. */
int32_t weights_add(struct accel_builder *builder, const struct accel_model_tensor *tensor, uint32_t type,
                    uint32_t *out_value, struct accel_error *error);

#endif
