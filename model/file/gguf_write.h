/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the header of a GGUF file, version 3: values, and descriptions of tensors with the offset of each tensor's
 * data. Any thread.
 */
#ifndef ACCEL_MODEL_FILE_GGUF_WRITE_H
#define ACCEL_MODEL_FILE_GGUF_WRITE_H

#include <stddef.h>

#include <accel/model/file.h>

/* A tensor to describe. */
struct model_gguf_tensor {
    const char *name;
    const uint64_t *dims; /* outermost first */
    uint32_t rank;
    uint32_t type;   /* ACCEL_F32, ... one that GGUF numbers */
    uint64_t bytes;  /* written by model_gguf_header: of its data */
    uint64_t offset; /* written by model_gguf_header: of its data, from the beginning of the file */
};

/* A finished header. Zeros up to the alignment separate it from the data of the first tensor. */
struct model_gguf_header {
    char *data; /* the caller's: free() */
    size_t bytes;
    uint64_t file_bytes; /* of the whole file */
};

/* Builds a header; `name` is the file's, for messages. Data is aligned to 32 bytes, or to the value general.alignment.
 * ACCEL_E_UNSUPPORTED for a type that GGUF lacks, ACCEL_E_INVALID for rows that are not whole blocks and for values
 * that GGUF cannot hold, ACCEL_E_MEMORY. */
int32_t model_gguf_header(const char *name, const struct accel_model_value *const *values, uint64_t value_count,
                          struct model_gguf_tensor *tensors, uint64_t tensor_count,
                          struct model_gguf_header *out_header, struct accel_error *error);

#endif
