/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages about files: "PATH: offset 0x1c: what is wrong", one line whatever the path or the name holds. Long paths
 * lose their beginning, not the message its end. Any thread that owns the error.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_FAULT_H
#define ACCEL_SDK_MODEL_FORMAT_FAULT_H

#include <accel/error.h>
#include <stddef.h>
#include <stdint.h>

/* No place in the file is to blame. */
#define MODEL_NO_OFFSET UINT64_MAX

/* Where the keys of a GGUF file begin: the place to name when one is missing. */
#define MODEL_GGUF_KEYS ((uint64_t)24)

/* Bytes that model_quote needs. */
#define MODEL_QUOTE_BYTES 72

/* Fills `error` (may be NULL) and returns `code`. */
int32_t model_fault(struct accel_error *error, int32_t code, const char *path, uint64_t offset, const char *format, ...)
    ACCEL_PRINTF(5, 6);

/* The same for a failed system call: `doing` is what was tried, `native` is errno, which also chooses the code. */
int32_t model_fault_errno(struct accel_error *error, const char *path, const char *doing, int native);

/* Writes `length` bytes of `name` to `out` in quotes, fit for a message: what is not printable UTF-8 becomes "?",
 * what is too long is cut. Returns `out`. */
const char *model_quote(char out[MODEL_QUOTE_BYTES], const char *name, uint64_t length);

/* The remedy of a model whose files open and are refused, where what refused them has not said more. */
void model_remedy_damaged(struct accel_error *error);

#endif
