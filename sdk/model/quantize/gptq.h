/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders in the layout of GPTQ, version 1 (sdk/model/format/packed.h says what it is). Linear layers become planar
 * digits; all else is copied. A group with zero point 0, which version 1 cannot say without wrapping, is stored
 * mirrored (digits and zero point from the other end, scale with the other sign): the values are the same bits.
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_GPTQ_H
#define ACCEL_SDK_MODEL_QUANTIZE_GPTQ_H

#include "sdk/model/format/staged.h"
#include "sdk/model/quantize/internal.h"

/* Chunks of rows begin at multiples of this: whole words of zero points of any width. */
#define GPTQ_ROWS 32u

/* Decides for every tensor and makes the header. ACCEL_E_UNSUPPORTED for a folder that is quantized already. */
int32_t quantize_gptq_plan(struct accel_quantize_job *job, const struct accel_quantize_options *options,
                           struct accel_error *error);

/* Makes the folder with config.json, which says how the weights are packed, and copies of the files for text. */
int32_t quantize_gptq_folder(const struct accel_quantize_job *job, const char *folder, struct accel_error *error);

/* Writes rows first .. first + rows of a converted tensor: `data` [rows][row_bytes] holds digits, scales and zero
 * points of each row, one after the other. Any thread. */
int32_t quantize_gptq_write(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index,
                            uint64_t first, uint64_t rows, const unsigned char *data, size_t row_bytes,
                            struct accel_error *error);

#endif
