/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of safetensors: header, config.json, and the files beside them. */
#ifndef ACCEL_CONVERT_QUANTIZE_LAYOUT_FOLDER_H
#define ACCEL_CONVERT_QUANTIZE_LAYOUT_FOLDER_H

#include <jansson.h>

#include "convert/quantize/layout.h"

/* Creates the header of model.safetensors: data is sorted by element size so that every tensor is aligned.
 * `metadata` are strings beside "format"; the function takes ownership, and NULL is allowed. Fills offsets, places
 * and bytes. */
int32_t quantize_folder_header(struct accel_quantize_job *job, json_t *metadata, struct accel_error *error);

/* Creates the text of config.json with `packing` as quantization_config; takes ownership, NULL for none. */
int32_t quantize_folder_config(struct accel_quantize_job *job, json_t *packing, struct accel_error *error);

/* Writes config.json and copies of the text files into an existing folder. */
int32_t quantize_folder_write(const struct accel_quantize_job *job, const char *folder, struct accel_error *error);

#endif
