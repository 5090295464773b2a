/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of safetensors: header, config.json, and the files beside them. */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_LAYOUT_FOLDER_H
#define ACCEL_SDK_MODEL_QUANTIZE_LAYOUT_FOLDER_H

#include <jansson.h>

#include "sdk/model/quantize/layout.h"

/* Makes the header of model.safetensors: data sorted by the bytes of their elements, so that all of them are aligned.
 * `metadata` are strings beside "format"; taken over, may be NULL. Fills offsets, places and bytes. */
int32_t quantize_folder_header(struct accel_quantize_job *job, json_t *metadata, struct accel_error *error);

/* Makes the text of config.json with `packing` as quantization_config; taken over, NULL for none. */
int32_t quantize_folder_config(struct accel_quantize_job *job, json_t *packing, struct accel_error *error);

/* Writes config.json and copies of the files for text into a folder that is there. */
int32_t quantize_folder_write(const struct accel_quantize_job *job, const char *folder, struct accel_error *error);

#endif
