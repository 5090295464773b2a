/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the weights of a model's files to a driver. */
#ifndef ACCEL_MODEL_SESSION_SOURCE_H
#define ACCEL_MODEL_SESSION_SOURCE_H

#include "model/session/state.h"

void file_source_init(struct file_source *source, const struct accel_model_file *file);

#endif
