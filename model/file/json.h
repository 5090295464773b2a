/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses JSON of model files with jansson, safely for untrusted files: refuses duplicate keys and nesting deeper than
 * the format needs; messages name the file and the byte.
 */
#ifndef ACCEL_MODEL_FILE_JSON_H
#define ACCEL_MODEL_FILE_JSON_H

#include <jansson.h>
#include <stdint.h>

#include <accel/error.h>

/*
 * Parses `length` bytes at `offset` of `path` into *out_root, which the caller releases with json_decref. Objects and
 * lists may nest `depth` deep. Jansson reports some failed allocations as syntax errors; so does this function.
 */
int32_t model_json_parse(const char *path, uint64_t offset, const char *text, uint64_t length, uint32_t depth,
                         json_t **out_root, struct accel_error *error);

/* Returns the kind of a value for messages: "an object", "a string" ... */
const char *model_json_kind(const json_t *value);

/* Returns the offset of the key `name` in `text`, or 0 if it is written with escapes. */
uint64_t model_json_find_key(const char *text, uint64_t length, const char *name);

#endif
