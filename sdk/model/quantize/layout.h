/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How converted tensors lie in what is written. A layout is a constant: any thread, no state but the job's. What is
 * copied, or converted to a type that the container numbers, lies at job->tensors[i].offset in all of them; what
 * becomes several tensors lies at job->places[i].
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_LAYOUT_H
#define ACCEL_SDK_MODEL_QUANTIZE_LAYOUT_H

#include "sdk/model/format/staged.h"
#include "sdk/model/quantize/internal.h"

/* Bytes of the name of a part, with its end. */
#define QUANTIZE_NAME_BYTES 1024u

/* One of the tensors that a converted tensor becomes. */
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

    /* Makes header and config.json of a job whose types are chosen. ACCEL_E_UNSUPPORTED for a folder that is
     * quantized already. */
    int32_t (*header)(struct accel_quantize_job *job, struct accel_error *error);

    /* Writes the files beside the weights into the folder, which is there. NULL where one file is written. */
    int32_t (*folder)(const struct accel_quantize_job *job, const char *folder, struct accel_error *error);

    /* Writes rows first .. first + rows of a converted tensor: `data` [rows][row_bytes] holds the planes of each row,
     * one after the other. Any thread. */
    int32_t (*write)(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index, uint64_t first,
                     uint64_t rows, const unsigned char *data, size_t row_bytes, struct accel_error *error);

    /* The tensors that a converted tensor becomes: their number, 0 where it stays one. False for a name that is too
     * long. NULL where all stay one. */
    bool (*parts)(const struct accel_quantize_job *job, uint64_t index, struct quantize_part parts[QUANTIZE_PARTS],
                  uint32_t *out_count);
};

/* One GGUF file; interleaved types and scalars. */
extern const struct quantize_layout quantize_layout_gguf;

/* Folders in the layout of GPTQ (sdk/model/format/packed.h says what it is). Linear layers become planar digits; all
 * else is copied. Version 1 where there are no zero points, which every reader has; version 2 where there are: readers
 * disagree about zero points of version 1, and some refuse them. */
extern const struct quantize_layout quantize_layout_gptq;

/* Layout "accel 1" (sdk/quant/LAYOUT.md), of a GGUF file and of a folder; and a folder without packed tensors. */
extern const struct quantize_layout quantize_layout_planes_gguf;
extern const struct quantize_layout quantize_layout_planes_folder;
extern const struct quantize_layout quantize_layout_plain_folder;

/* Chooses one by the types of the job's rows. */
const struct quantize_layout *quantize_layout_for(const struct accel_quantize_job *job);

/* Writes rows that lie as one tensor at job->tensors[index].offset. */
int32_t quantize_write_plain(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index,
                             uint64_t first, uint64_t rows, const unsigned char *data, size_t row_bytes,
                             struct accel_error *error);

/* Header of a GGUF file with the values of the job's file, `own` replaced or added, and the tensors of the layout. */
int32_t quantize_gguf_header(struct accel_quantize_job *job, const struct accel_model_value *own, uint64_t own_count,
                             struct accel_error *error);

#endif
