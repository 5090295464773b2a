/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writes safetensors files: stages of a trace, inputs, repacked weights. Reading them is accel/model/file.h.
 */
#ifndef ACCEL_MODEL_SAFETENSORS_H
#define ACCEL_MODEL_SAFETENSORS_H

#include <accel/abi.h>
#include <accel/error.h>
#include <accel/types.h>

ACCEL_BEGIN_C

/** A tensor to write. Open. Borrowed for the call. */
struct accel_safetensors_entry {
    uint32_t size;
    uint32_t type;        /**< one that safetensors has: ACCEL_F32, F16, BF16, F64, I8, I16, I32, I64, U8, BOOL */
    const char *name;     /**< UTF-8, not empty, unique, not "__metadata__" */
    const uint64_t *dims; /**< `rank` of them, outermost first; may be NULL for a scalar */
    const void *data;     /**< dense, row by row; may be NULL when there are no elements */
    uint32_t rank;        /**< 0 for a scalar, at most 8 */
    uint32_t zero;
};

/**
 * Writes `count` tensors to `path`, replacing a file that is there: others see the old one or the whole new one, also
 * after a power cut (a temporary file in the same folder, fsync, rename, fsync of the folder). Data are placed so that
 * each tensor is aligned to its elements; entries are found by name, so the order does not matter. Permissions follow
 * the umask.
 *
 * Any thread. Errors: ACCEL_E_INVALID for an entry that cannot be written, by name, and nothing is touched;
 * ACCEL_E_IO, ACCEL_E_DENIED, ACCEL_E_NOT_FOUND from the system, and the temporary file is gone; ACCEL_E_MEMORY.
 */
ACCEL_API int32_t accel_safetensors_write(const char *path, const struct accel_safetensors_entry *const *entries,
                                          uint64_t count, struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
