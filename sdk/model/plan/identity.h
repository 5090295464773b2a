/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a model's files are still those that were planned. */
#ifndef ACCEL_SDK_MODEL_PLAN_IDENTITY_H
#define ACCEL_SDK_MODEL_PLAN_IDENTITY_H

#include <jansson.h>

#include "sdk/model/plan/internal.h"

/* One object for each file that tensors or configuration come from: path, bytes, when it was changed, and the hash of
 * all bytes before the first tensor. NULL without memory. */
json_t *plan_identity(const struct accel_model *model);

/* Compares with such an array, which `place` holds; ACCEL_E_REFUSED names the first file that differs and how. */
int32_t plan_identity_check(const struct accel_model *model, const json_t *files, const char *place,
                            struct accel_error *error);

/* Compares sizes and times of such an array before anything is opened: ACCEL_E_NOT_FOUND for a file that is gone,
 * ACCEL_E_REFUSED for one that was changed. */
int32_t plan_identity_glance(const json_t *files, const char *place, struct accel_error *error);

#endif
