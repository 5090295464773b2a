/* SPDX-License-Identifier: Apache-2.0 */
/* The components of tokenizer.json, one reader each. `component` is what stands under the key, null included. */
#ifndef ACCEL_MODEL_TOKENIZER_JSON_STEPS_H
#define ACCEL_MODEL_TOKENIZER_JSON_STEPS_H

#include "model/tokenizer/json_reader.h"
#include "model/tokenizer/tokenizer.h"

int32_t token_json_normalizer(struct accel_tokenizer *made, const json_t *component,
                              const struct token_json_place *place, struct accel_error *error);
int32_t token_json_splitter(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                            struct accel_error *error);
int32_t token_json_decoder(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                           struct accel_error *error);
int32_t token_json_post(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                        struct accel_error *error);

/* Calls `read` for each entry of the array `key` of a Sequence; depth and length are bounded. */
typedef int32_t token_json_step_fn(struct accel_tokenizer *made, const json_t *component,
                                   const struct token_json_place *place, struct accel_error *error);
int32_t token_json_sequence(struct accel_tokenizer *made, const json_t *component, const char *key,
                            const struct token_json_place *place, token_json_step_fn *read, struct accel_error *error);

/* Reads {"String": ...} or {"Regex": ...}. */
int32_t token_json_pattern(const json_t *component, const struct token_json_place *place,
                           struct token_pattern **out_pattern, struct accel_error *error);

#endif
