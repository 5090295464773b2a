/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, decodes and encodes the rows of one tensor, and measures the error. Any thread, each with its own chunk. */
#ifndef ACCEL_CONVERT_QUANTIZE_ENCODE_H
#define ACCEL_CONVERT_QUANTIZE_ENCODE_H

#include "convert/quantize/internal.h"

/* A buffer that grows on demand without preserving its content. All zero is empty. */
struct quantize_buffer {
    void *data;
    size_t bytes;
};

/* ACCEL_E_MEMORY, for `path`. */
int32_t quantize_buffer_grow(struct quantize_buffer *buffer, uint64_t wanted, const char *path,
                             struct accel_error *error);

/* How a tensor is encoded. */
struct quantize_way {
    uint32_t method;  /* ACCEL_QUANTIZE_METHOD_..., but not ..._DEFAULT */
    uint32_t sampled; /* one in this number of rows is sampled for output errors; 0: none */
    float damping;    /* damping on the diagonal of the factor */
    uint32_t zero;
    const float *weight;  /* [width] of ..._IMPORTANCE and ..._GPTQ */
    const float *moments; /* [width, width] of ..._GPTQ */
    const float *damped;  /* [width, width] of ..._GPTQ: moments with damping */
    const float *u;       /* [width, width] of ..._GPTQ: dense_inverse_factor */
};

/* Rows of one tensor, with their buffers. */
struct quantize_chunk {
    uint64_t tensor;
    uint64_t row; /* the first */
    uint64_t rows;
    struct quantize_buffer in;      /* source bytes, if the file is not mapped */
    struct quantize_buffer values;  /* floats [rows][width] */
    struct quantize_buffer out;     /* encoded bytes */
    struct quantize_buffer again;   /* floats [width] decoded from the stored codes */
    struct quantize_buffer work;    /* floats [rows][width] that error compensation changes */
    struct quantize_buffer scratch; /* of gptq_solve */
};

void quantize_chunk_free(struct quantize_chunk *chunk);

/* Sums over a chunk: squares of errors and of values, for weights and for sampled outputs. */
struct quantize_sums {
    double difference, power;
    double output_difference, output_power;
};

/* Returns source bytes: mapped, or read into the chunk's buffer. */
int32_t quantize_read(const struct accel_quantize_job *job, struct quantize_chunk *chunk, uint64_t offset,
                      uint64_t bytes, const unsigned char **out_data, struct accel_error *error);

/* Releases mapped pages that are no longer needed. */
void quantize_release(const struct accel_quantize_job *job, const unsigned char *data, uint64_t bytes);

/* Decodes a tensor that is copied, if its type can be decoded. ACCEL_E_CORRUPT: a value is not finite. */
int32_t quantize_check(const struct accel_quantize_job *job, struct quantize_chunk *chunk, struct accel_error *error);

/* Fills chunk->out [rows][*out_row_bytes], the planes of a row one after the other. ACCEL_E_CORRUPT: a value is not
 * finite; ACCEL_E_UNSUPPORTED: one is too large for its type, or the type cannot be encoded so. */
int32_t quantize_encode(const struct accel_quantize_job *job, const struct quantize_way *way,
                        struct quantize_chunk *chunk, size_t *out_row_bytes, struct quantize_sums *out_sums,
                        struct accel_error *error);

/* Returns the values of a row of a tensor. */
uint64_t quantize_width(const struct accel_quantize_job *job, uint64_t index);

#endif
