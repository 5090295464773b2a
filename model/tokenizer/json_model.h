/* SPDX-License-Identifier: Apache-2.0 */
/* The "model" of a tokenizer.json: BPE, Unigram or WordPiece. */
#ifndef ACCEL_MODEL_TOKENIZER_JSON_MODEL_H
#define ACCEL_MODEL_TOKENIZER_JSON_MODEL_H

#include "model/tokenizer/json_reader.h"
#include "model/tokenizer/tokenizer.h"

/* Fills the vocabulary and the model. */
int32_t token_json_model(struct accel_tokenizer *made, const json_t *root, struct accel_error *error);

/* Reads tokenizer_config.json: ids of special tokens and the chat template. */
int32_t token_json_config(struct accel_tokenizer *made, const json_t *config, struct accel_error *error);

/* Parses a file; trailing data after the value is refused. */
int32_t token_json_parse(const char *text, size_t size, const char *name, json_t **out_root, struct accel_error *error);

/* Returns whether a file with `entries` tokens may use an id. Ids may have gaps, but a small file must not allocate a
 * large table. */
bool token_json_id_allowed(json_int_t id, size_t entries);

#endif
