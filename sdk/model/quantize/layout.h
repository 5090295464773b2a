/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How converted tensors lie in what is written. A layout is a constant: any thread, no state but the job's. What is
 * copied lies at job->tensors[i].offset in all of them.
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_LAYOUT_H
#define ACCEL_SDK_MODEL_QUANTIZE_LAYOUT_H

#include "sdk/model/format/staged.h"
#include "sdk/model/quantize/internal.h"

struct quantize_layout {
    const char *name;
    uint64_t rows; /* chunks of rows of a converted tensor begin at multiples of this */

    /* Decides for every tensor and makes the header. ACCEL_E_UNSUPPORTED for what cannot be written so. */
    int32_t (*plan)(struct accel_quantize_job *job, const struct accel_quantize_options *options,
                    struct accel_error *error);

    /* Makes the folder with the files beside the weights. NULL where one file is written. */
    int32_t (*folder)(const struct accel_quantize_job *job, const char *folder, struct accel_error *error);

    /* Writes rows first .. first + rows of a converted tensor: `data` [rows][row_bytes] holds the planes of each row,
     * one after the other. Any thread. */
    int32_t (*write)(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index, uint64_t first,
                     uint64_t rows, const unsigned char *data, size_t row_bytes, struct accel_error *error);
};

/* One GGUF file; interleaved types and scalars. */
extern const struct quantize_layout quantize_layout_gguf;

/* Folders in the layout of GPTQ, version 1 (sdk/model/format/packed.h says what it is). Linear layers become planar
 * digits; all else is copied. A group with zero point 0, which version 1 cannot say without wrapping, is stored
 * mirrored (digits and zero point from the other end, scale with the other sign): the values are the same bits. */
extern const struct quantize_layout quantize_layout_gptq;

/* ---- of plan.c, for layouts ---- */

/* How matrices become those of a type that GGUF numbers; find_target's row. */
int32_t quantize_plan_gguf(struct accel_quantize_job *job, const struct accel_quantize_options *options,
                           struct accel_error *error);

#endif
