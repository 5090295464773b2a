/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers to read parsed JSON with errors that name the place, such as "pre_tokenizer.pretokenizers[1]". */
#ifndef ACCEL_MODEL_TOKENIZER_JSON_READER_H
#define ACCEL_MODEL_TOKENIZER_JSON_READER_H

#include <jansson.h>
#include <stdbool.h>

#include <accel/error.h>

#define TOKEN_JSON_DEPTH 8  /* of Sequence within Sequence */
#define TOKEN_JSON_STEPS 64 /* of one list of steps */

/* The position of the reader in the document; token_json_enter creates a nested one. */
struct token_json_place {
    char path[160];
    int depth;
};

/* The place `key` within `outer`, with [index] behind it unless index is negative. */
struct token_json_place token_json_enter(const struct token_json_place *outer, const char *key, int index);

/* The string, true or number at a key. Null and a missing key give `other`; a wrong type is refused. */
int32_t token_json_string(const json_t *object, const char *key, const char *other,
                          const struct token_json_place *place, const char **out_text, struct accel_error *error);
int32_t token_json_bool(const json_t *object, const char *key, bool other, const struct token_json_place *place,
                        bool *out_value, struct accel_error *error);
int32_t token_json_size(const json_t *object, const char *key, size_t other, const struct token_json_place *place,
                        size_t *out_value, struct accel_error *error);

/* The "type" of a component; an empty string where there is none. */
const char *token_json_type(const json_t *component);

/* Set the errors "PLACE.KEY must be WANTED" and "PLACE: "WHAT" is not supported", and return them. */
int32_t token_json_wrong(const struct token_json_place *place, const char *key, const char *wanted,
                         struct accel_error *error);
int32_t token_json_unsupported(const struct token_json_place *place, const char *what, struct accel_error *error);

#endif
