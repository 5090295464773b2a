/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Writes JSON (RFC 8259) into a string, with commas, indents and escapes; malformed UTF-8 becomes U+FFFD. A misuse
 * (value without key in an object, unbalanced end) and a lack of memory make it fail; failure is sticky and
 * accel_json_finish returns it.
 * One owner, one thread at a time. */
#ifndef TOOLS_DOCTOR_JSON_H
#define TOOLS_DOCTOR_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/strbuf.h"

/** Maximum nesting depth of objects and arrays. */
#define ACCEL_JSON_DEPTH 64u

/** Read-only for users. */
struct accel_json {
    struct accel_strbuf *out;      /**< borrowed */
    uint32_t indent;               /**< spaces per level, 0 for one line */
    uint32_t depth;                /**< number of open objects and arrays */
    char open[ACCEL_JSON_DEPTH];   /**< '{' or '[' of each */
    bool filled[ACCEL_JSON_DEPTH]; /**< the object or array has a member already */
    bool has_key;                  /**< a key has been written, its value has not */
    bool done;                     /**< the outermost value is complete */
    bool failed;                   /**< misuse */
};

/** Starts one JSON text at the end of `out`, which must outlive the writer. */
void accel_json_init(struct accel_json *json, struct accel_strbuf *out, uint32_t indent);

void accel_json_object_begin(struct accel_json *json);
void accel_json_object_end(struct accel_json *json);
void accel_json_array_begin(struct accel_json *json);
void accel_json_array_end(struct accel_json *json);

/** Writes the key of the next value of an object. Duplicates are not detected. */
void accel_json_key(struct accel_json *json, const char *key);

/* Write a value. A NULL text is written as null; a literal is a number, true, false or null. */
void accel_json_text(struct accel_json *json, const char *text);
void accel_json_i64(struct accel_json *json, int64_t value);
void accel_json_u64(struct accel_json *json, uint64_t value);
void accel_json_literal(struct accel_json *json, const char *literal);

/* Write a key and its value in one call. */
void accel_json_member_text(struct accel_json *json, const char *key, const char *text);
void accel_json_member_i64(struct accel_json *json, const char *key, int64_t value);
void accel_json_member_u64(struct accel_json *json, const char *key, uint64_t value);
void accel_json_member_object(struct accel_json *json, const char *key);
void accel_json_member_array(struct accel_json *json, const char *key);

/** Returns whether exactly one whole value was written and nothing was lost. */
bool accel_json_finish(const struct accel_json *json);

#endif
