/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether a model's files are still those that were planned. */
#ifndef ACCEL_MODEL_PLAN_IDENTITY_H
#define ACCEL_MODEL_PLAN_IDENTITY_H

#include <jansson.h>

#include "model/plan/internal.h"
#include "model/plan/record.h"

/* Returns one object for each file that provides tensors or configuration: path, bytes, modification time, and the
 * hash of the bytes before the first tensor, at most 64 MiB. NULL if memory runs out. */
json_t *plan_identity(const struct accel_model *model);

/* Formats a hash of the files with tensors by their contents: sizes, headers and the last bytes, so that copies are one
 * model and fine-tuned weights of one shape are several. */
void plan_identity_hash(const struct accel_model *model, char text[IDENTITY_TEXT]);

/* Compares only sizes and times with those of the record, before any file is opened: ACCEL_E_NOT_FOUND if a file is
 * missing, ACCEL_E_REFUSED if one was changed. */
int32_t plan_identity_glance(const struct plan_record *record, struct accel_error *error);

#endif
