/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of models whose file is open, so that it is not read twice. */
#ifndef ACCEL_MODEL_DESCRIBE_OPEN_H
#define ACCEL_MODEL_DESCRIBE_OPEN_H

#include <stdbool.h>

#include <accel/model/describe.h>
#include <accel/model/file.h>

/* Creates a description as accel_model_describe does. *out_file is the model's open file, not mapped and with its
 * packed weights replaced, which the caller closes; NULL on failure, for a name, and for unsupported packed weights. */
int32_t describe_open(struct accel_context *context, const char *path_or_name,
                      struct accel_model_description **out_description, struct accel_model_file **out_file,
                      struct accel_error *error);

/* Describes the model of an open file, which was trained for `trained` tokens. */
int32_t describe_open_file(struct accel_context *context, const struct accel_model_file *file, uint64_t trained,
                           struct accel_model_description **out_description, struct accel_error *error);

/* Returns whether the model's file is safetensors. */
bool describe_is_folder(const struct accel_model_description *description);

/* Adds the context that a model was trained for, which its family may know without a key of the file. */
int32_t describe_trained(struct accel_model_description *description, uint64_t trained, struct accel_error *error);

#endif
