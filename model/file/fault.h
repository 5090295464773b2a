/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats errors about files: "PATH: offset 0x1c: what is wrong", on one line whatever the path or the name contains.
 * Long paths lose their beginning, so that the message stays complete. Any thread that owns the error.
 */
#ifndef ACCEL_MODEL_FILE_FAULT_H
#define ACCEL_MODEL_FILE_FAULT_H

#include <stdint.h>

#include <accel/error.h>

/* The error has no offset. */
#define MODEL_NO_OFFSET UINT64_MAX

/* Offset of the keys of a GGUF file, for errors about a missing one. */
#define MODEL_GGUF_KEYS ((uint64_t)24)

/* Buffer size for model_quote. */
#define MODEL_QUOTE_BYTES 72

/* Fills `error` (may be NULL), whose origin is the model unless the code implies the system, and returns `code`. */
int32_t model_fault(struct accel_error *error, int32_t code, const char *path, uint64_t offset, const char *format, ...)
    ACCEL_PRINTF(5, 6);

/* Refuses a call of a public function, `function`, since an argument is NULL. Returns ACCEL_E_INVALID. */
int32_t model_refuse_null(const char *function, struct accel_error *error);

/* Copies an error with its origin, remedy and numbers, unless `error` (may be NULL) holds one. Returns the code of
 * `from`. */
int32_t model_error_copy(struct accel_error *error, const struct accel_error *from);

/* Sets the error of a failed system call: `doing` is what was tried, `native` is errno, which also selects the code. */
int32_t model_fault_errno(struct accel_error *error, const char *path, const char *doing, int native);

/* Writes `length` bytes of `name` to `out` in quotes, for a message: "?" replaces what is not printable UTF-8, long
 * names are cut. Returns `out`. */
const char *model_quote(char out[MODEL_QUOTE_BYTES], const char *name, uint64_t length);

/* Buffer size for model_shape_text: ranks up to ACCEL_MODEL_RANK_MAX. */
#define MODEL_SHAPE_BYTES 192

/* Writes a shape to `out` as "[4, 64]", for a message. Returns `out`. */
const char *model_shape_text(char out[MODEL_SHAPE_BYTES], uint32_t rank, const uint64_t *dims);

/* Adds a remedy for a refused model whose files open, unless the error has one. */
void model_remedy_damaged(struct accel_error *error);

#endif
