/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that a model reads in another arrangement than its file stores: transposed, or several stacked into one. Like
 * packed checkpoints (packed.h) they replace their sources in the table of the file, and are assembled when they are
 * read. They are never mapped as a whole; the sources of a stack are (model_derived_part).
 */
#ifndef ACCEL_MODEL_FILE_DERIVED_H
#define ACCEL_MODEL_FILE_DERIVED_H

#include <stdbool.h>

#include <accel/model/file.h>

/* How a tensor is derived. Its sources are `count` tensors of one type and shape, stacked along the rows. */
struct model_derivation {
    const char *name;           /* of the new tensor; may be that of a source */
    const char *const *sources; /* [count] */
    uint64_t count;
    uint32_t rank;    /* of the sources; 0: any */
    uint64_t dims[3]; /* of the sources, if dims[0] is not 0 */
    bool transposed;  /* each source, or each matrix of one of rank 3, has its inputs first */
    uint32_t first;   /* rows first, first + step ... of each (transposed) matrix are taken */
    uint32_t step;    /* 1: all rows */
    bool flat;        /* the result is a vector */
};

struct model_derived;

/* Replaces the sources of all derivations by the tensors that are derived from them. Call once, before the file is
 * shared. ACCEL_E_CORRUPT: a source is missing, or shapes differ; ACCEL_E_UNSUPPORTED: a type that cannot be
 * transposed. */
int32_t model_derive(struct accel_model_file *file, const struct model_derivation *derivations, uint64_t count,
                     struct accel_error *error);

/* Returns the name of a source of a tensor, NULL past the last, and if the tensor is stored as it is read. */
const char *model_derived_source(const struct accel_model_tensor *tensor, uint64_t index);

/* Finds what multiplies products with each of the `count` matrices that a matrix is stacked from, or with one that is
 * not stacked. Returns false if nothing does. */
bool model_product_factors(const struct accel_model_tensor *tensor, uint64_t count, float *out_factors);

/* Returns the one of these factors that belongs to a row of a matrix of a file; 1 if there is none. */
float model_row_factor(const struct accel_model_tensor *tensor, uint64_t row);

/* Returns where bytes offset .. offset + bytes of a plane are mapped; NULL: they do not lie in one source as they are
 * read. With 0 bytes: where the source at `offset` is mapped, if all planes of every source are. */
const void *model_derived_part(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                               uint32_t plane, uint64_t offset, uint64_t bytes);

/* Shows a tensor of rank 2 as a vector (`rank` 1), or a vector as a matrix of one row (`rank` 2). One that is missing
 * or has another rank stays as it is. Call before the file is shared. */
void model_reshape(struct accel_model_file *file, const char *name, uint32_t rank);

/* Reads bytes offset .. offset + bytes of the tensor; the caller has checked the range. Any thread. */
int32_t model_derived_read(const struct accel_model_file *file, const struct model_derived *derived, uint64_t offset,
                           uint64_t bytes, void *out, struct accel_error *error);

#endif
