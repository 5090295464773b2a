/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one tensor: read, decoded, encoded by a method, and measured. Any thread, each with a chunk of its own. */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_ENCODE_H
#define ACCEL_SDK_MODEL_QUANTIZE_ENCODE_H

#include "sdk/model/quantize/internal.h"

/* Memory that grows with what is wanted of it; what it held is lost then. All zero is empty. */
struct quantize_room {
    void *data;
    size_t bytes;
};

/* ACCEL_E_MEMORY, for `path`. */
int32_t quantize_room_make(struct quantize_room *room, uint64_t wanted, const char *path, struct accel_error *error);

/* How a tensor is encoded. */
struct quantize_way {
    uint32_t method;  /* ACCEL_QUANTIZE_METHOD_..., but not ..._DEFAULT */
    uint32_t sampled; /* of so many rows one is asked what it gives; 0: none */
    float damping;    /* that the factor has on its diagonal */
    uint32_t zero;
    const float *weight;  /* [width] of ..._IMPORTANCE and ..._GPTQ */
    const float *moments; /* [width, width] of ..._GPTQ */
    const float *damped;  /* [width, width] of ..._GPTQ: moments with damping */
    const float *u;       /* [width, width] of ..._GPTQ: dense_inverse_factor */
};

/* Rows of one tensor, and room for them. */
struct quantize_chunk {
    uint64_t tensor;
    uint64_t row; /* the first */
    uint64_t rows;
    struct quantize_room in;      /* bytes as they are in the file, where it is not mapped */
    struct quantize_room values;  /* floats [rows][width] */
    struct quantize_room out;     /* bytes as they will be */
    struct quantize_room again;   /* floats [width] that were stored */
    struct quantize_room work;    /* floats [rows][width] that error compensation changes */
    struct quantize_room scratch; /* of gptq_solve */
};

void quantize_chunk_free(struct quantize_chunk *chunk);

/* What a chunk adds to what is known of its tensor: sums of squares of differences and of values, and both of what the
 * matrix gives for its inputs. */
struct quantize_sums {
    double difference, power;
    double output_difference, output_power;
};

/* Bytes of the file as it is: from where it is mapped, else read into the chunk's room. */
int32_t quantize_read(const struct accel_quantize_job *job, struct quantize_chunk *chunk, uint64_t offset,
                      uint64_t bytes, const unsigned char **out_data, struct accel_error *error);

/* Says that bytes which quantize_read showed are not wanted any more. */
void quantize_release(const struct accel_quantize_job *job, const unsigned char *data, uint64_t bytes);

/* Fills chunk->out [rows][*out_row_bytes], the planes of a row one after the other. ACCEL_E_CORRUPT: a value is not
 * finite; ACCEL_E_UNSUPPORTED: one is too large for its type, or the type cannot be encoded so. */
int32_t quantize_encode(const struct accel_quantize_job *job, const struct quantize_way *way,
                        struct quantize_chunk *chunk, size_t *out_row_bytes, struct quantize_sums *out_sums,
                        struct accel_error *error);

/* Values of a row of a tensor. */
uint64_t quantize_width(const struct accel_quantize_job *job, uint64_t index);

#endif
