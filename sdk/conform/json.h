/* SPDX-License-Identifier: Apache-2.0 */
/** @file Writes JSON to a stream, indented by two spaces per level. Keys are NULL in arrays. */
#ifndef ACCEL_SDK_CONFORM_JSON_H
#define ACCEL_SDK_CONFORM_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** A writer over a stream of the caller. `depth` and `has_member` start at zero. */
struct json {
    FILE *file;
    uint32_t depth;
    bool has_member; /**< the open object or array is not empty */
};

/** Opens an object ('{') or an array ('['). */
void json_open(struct json *json, const char *key, char bracket);
/** Closes the innermost object or array with '}' or ']'. */
void json_close(struct json *json, char bracket);
void json_text(struct json *json, const char *key, const char *text);
void json_number(struct json *json, const char *key, uint64_t number);
/** Writes a finite number in the lowest precision, from 15 significant places on, that round-trips. */
void json_double(struct json *json, const char *key, double number);

#endif
