/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as documents. */
#ifndef ACCEL_SDK_MODEL_PLAN_JSON_H
#define ACCEL_SDK_MODEL_PLAN_JSON_H

#include <jansson.h>

#include "sdk/model/plan/internal.h"

#define PLAN_SCHEMA "accelctl/plan/2"

/* A text that comes from others: what is not UTF-8 is shown, and compared, with question marks. NULL is empty. */
json_t *plan_text_json(const char *text);

/* Facts, types of weights, layers, notes, speed and past errors of a plan, as members of an object. */
json_t *plan_estimates(const struct accel_plan *plan);

/* The whole plan as a document that the caller owns; NULL without memory. */
json_t *plan_document(const struct accel_model_plan *plan);

#endif
