/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a model and keeps its file open, so that the model itself does not read it again. */
#ifndef ACCEL_MODEL_DESCRIBE_OPEN_H
#define ACCEL_MODEL_DESCRIBE_OPEN_H

#include <accel/model/describe.h>
#include <accel/model/file.h>

/* Creates a description as accel_model_describe does. *out_file is the model's open file, not mapped and with its
 * packed weights replaced, which the caller closes; NULL on failure, for a name, and for unsupported packed weights. */
int32_t describe_open(struct accel_context *context, const char *path_or_name,
                      struct accel_model_description **out_description, struct accel_model_file **out_file,
                      struct accel_error *error);

#endif
