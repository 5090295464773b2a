/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of models that are open. */
#ifndef ACCEL_MODEL_DESCRIBE_OPEN_H
#define ACCEL_MODEL_DESCRIBE_OPEN_H

#include <accel/model/describe.h>
#include <accel/model/file.h>

/* Describes the model of an open file, which was trained for `trained` tokens. */
int32_t describe_open_file(struct accel_context *context, const struct accel_model_file *file, uint64_t trained,
                           struct accel_model_description **out_description, struct accel_error *error);

/* Adds the context that a model was trained for, which its family may know without a key of the file. */
int32_t describe_trained(struct accel_model_description *description, uint64_t trained, struct accel_error *error);

#endif
