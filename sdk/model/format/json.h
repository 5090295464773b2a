/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of model files through jansson, with what a file from elsewhere needs: keys that stand twice are refused, as
 * is nesting deeper than the format has use for, and messages name the file and the byte.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_JSON_H
#define ACCEL_SDK_MODEL_FORMAT_JSON_H

#include <accel/error.h>
#include <jansson.h>
#include <stdint.h>

/*
 * Parses `length` bytes that stand at `offset` of `path` into *out_root, which the caller releases with json_decref.
 * Objects and lists may lie `depth` deep. Jansson says of some allocations that fail inside it that the syntax is
 * wrong; then so does the error here.
 */
int32_t model_json_parse(const char *path, uint64_t offset, const char *text, uint64_t length, uint32_t depth,
                         json_t **out_root, struct accel_error *error);

/* "an object", "a string" ... for messages. */
const char *model_json_kind(const json_t *value);

/* Where in `text` the key `name` stands, 0 when it cannot be found because it is written with escapes. */
uint64_t model_json_find_key(const char *text, uint64_t length, const char *name);

#endif
