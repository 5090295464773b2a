/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the header of a GGUF file, version 3: values and descriptions of tensors, with the place of each tensor's
 * data. Any thread.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_GGUF_WRITE_H
#define ACCEL_SDK_MODEL_FORMAT_GGUF_WRITE_H

#include <accel/model/file.h>
#include <stddef.h>

/* A tensor of the file to be. */
struct model_gguf_tensor {
    const char *name;
    const uint64_t *dims; /* outermost first */
    uint32_t rank;
    uint32_t type;   /* ACCEL_F32, ... one that GGUF numbers */
    uint64_t bytes;  /* written by model_gguf_header: of its data */
    uint64_t offset; /* written by model_gguf_header: of its data, from the beginning of the file */
};

/* What a header comes to. Between it and the data of the first tensor are zeros up to the alignment. */
struct model_gguf_header {
    char *data; /* the caller's: free() */
    size_t bytes;
    uint64_t file_bytes; /* of the whole file */
};

/* `name` is the file's, for messages. Data lies at multiples of 32 bytes, or of the value general.alignment.
 * ACCEL_E_UNSUPPORTED for a type that GGUF has not, ACCEL_E_INVALID for rows that are no whole blocks and for values
 * that GGUF cannot hold, ACCEL_E_MEMORY. */
int32_t model_gguf_header(const char *name, const struct accel_model_value *const *values, uint64_t value_count,
                          struct model_gguf_tensor *tensors, uint64_t tensor_count,
                          struct model_gguf_header *out_header, struct accel_error *error);

#endif
