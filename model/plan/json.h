/* SPDX-License-Identifier: Apache-2.0 */
/* Converts plans to JSON documents. */
#ifndef ACCEL_MODEL_PLAN_JSON_H
#define ACCEL_MODEL_PLAN_JSON_H

#include <jansson.h>

#include "model/plan/internal.h"

#define PLAN_SCHEMA "accelctl/plan/2"

/* Converts a text of foreign origin: bytes that are not UTF-8 become question marks, for output and comparison.
 * NULL becomes the empty text. */
json_t *plan_text_json(const char *text);

/* Returns the whole plan as a document that the caller owns; NULL if memory runs out. */
json_t *plan_document(const struct accel_model_plan *plan);

/* Returns facts, weight types, layers, notes, speed and past errors of a plan as members of an object. */
json_t *plan_estimates(const struct accel_plan *plan);

#endif
