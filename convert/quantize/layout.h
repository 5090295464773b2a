/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of converted tensors in the output. A layout is a constant without state of its own: any thread. Tensors
 * that are copied, or converted to a type that the container numbers, lie at job->tensors[i].offset in all
 * layouts; tensors that are split into several lie at job->places[i].
 */
#ifndef ACCEL_CONVERT_QUANTIZE_LAYOUT_H
#define ACCEL_CONVERT_QUANTIZE_LAYOUT_H

#include "convert/quantize/internal.h"
#include "model/file/staged.h"

/* Bytes of the name of a part, with the terminating zero. */
#define QUANTIZE_NAME_BYTES 1024u

/* One of the tensors that a converted tensor is split into. */
struct quantize_part {
    char name[QUANTIZE_NAME_BYTES];
    uint32_t type; /* ACCEL_F16, ... one that the container numbers */
    uint32_t rank;
    uint64_t dims[ACCEL_MODEL_RANK_MAX];
    uint64_t bytes;
};

struct quantize_layout {
    const char *name;
    uint64_t rows; /* chunks of rows of a converted tensor begin at multiples of this */

    /* Creates header and config.json of a job whose types are chosen. ACCEL_E_UNSUPPORTED for a folder that is
     * already quantized. */
    int32_t (*header)(struct accel_quantize_job *job, struct accel_error *error);

    /* Writes the files beside the weights into the existing folder. NULL if the output is one file. */
    int32_t (*folder)(const struct accel_quantize_job *job, const char *folder, struct accel_error *error);

    /* Writes rows first .. first + rows of a converted tensor: `data` [rows][row_bytes] holds the planes of each row,
     * one after the other. Any thread. */
    int32_t (*write)(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index, uint64_t first,
                     uint64_t rows, const unsigned char *data, size_t row_bytes, struct accel_error *error);

    /* Returns the number of tensors that a converted tensor is split into, 0 if it stays one. Returns false for a
     * name that is too long. NULL if the layout splits no tensor. */
    bool (*parts)(const struct accel_quantize_job *job, uint64_t index, struct quantize_part parts[QUANTIZE_PARTS],
                  uint32_t *out_count);
};

/* One GGUF file; interleaved types and scalars. */
extern const struct quantize_layout quantize_layout_gguf;

/* Folders in the layout of GPTQ (described in model/file/packed.h). Linear layers become planar codes; all other
 * tensors are copied. Version 1 without zero points, which every reader supports; version 2 with zero points,
 * since readers disagree about zero points of version 1, and some refuse them. */
extern const struct quantize_layout quantize_layout_gptq;

/* Returns the layout for the types of the job's rows. */
const struct quantize_layout *quantize_layout_for(const struct accel_quantize_job *job);

/* Writes rows of an unsplit tensor at job->tensors[index].offset. */
int32_t quantize_write_plain(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index,
                             uint64_t first, uint64_t rows, const unsigned char *data, size_t row_bytes,
                             struct accel_error *error);

/* Header of a GGUF file with the values of the job's file, `own` replaced or added, and the tensors of the layout. */
int32_t quantize_gguf_header(struct accel_quantize_job *job, const struct accel_model_value *own, uint64_t own_count,
                             struct accel_error *error);

#endif
