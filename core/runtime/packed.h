/* SPDX-License-Identifier: Apache-2.0 */
/** @file Cache of packed weights on disk. The context's cache stores weights that a driver has packed, in the folder of
 * cached kernels: a file whose name is a hash of everything that its bytes depend on (driver and build, fingerprint of
 * the device, list of weights, hash of each weight by its source). The next start maps the file, read-only and so
 * shared by sessions and processes, and does not read the model file.
 * A file is a page-sized header followed by the driver's bytes. It is a cache hit only if the user owns it, no other
 * user may write it, and header, length and hash match; else it is a cache miss, and the log reports why. A file is
 * written under a temporary name first, by one process at a time, and only when the caller requests it: a start does
 * not wait for it.
 * Environment: ACCEL_PACKED_BYTES limits the size of all such files together; the least recently used are evicted
 * first. 0: no file is written. */
#ifndef ACCEL_CORE_RUNTIME_PACKED_H
#define ACCEL_CORE_RUNTIME_PACKED_H

#include <stdint.h>

#include <accel/driver.h>
#include <accel/error.h>

#include "core/runtime/object.h"

/** Default limit for the size of all files. */
#define ACCEL_PACKED_BYTES (UINT64_C(16) << 30)
/** Header size: the bytes after it must begin at a multiple of a page. */
#define ACCEL_PACKED_HEADER 4096u

/** Finds the cache location of a list; empty if the context caches nothing, or if device, driver or source lack an
 * identity. Fails with ACCEL_E_MEMORY only. */
int32_t accel_packed_find(const struct accel_device *device, const struct accel_weight *const *list, uint32_t count,
                          const struct accel_source *source, struct accel_packed_place *out_place,
                          struct accel_error *error);
void accel_packed_place_free(struct accel_packed_place *place);

/** Maps a cached file and verifies its hash on the threads of the task. ACCEL_E_NOT_FOUND: cache miss;
 * ACCEL_E_CORRUPT, ACCEL_E_DENIED ...: the file cannot be used. */
int32_t accel_packed_map(const struct accel_packed_place *place, const struct accel_task *task,
                         struct accel_packed *out_packed, struct accel_error *error);
/** Size of the mapped weights, as the context counts them. */
static inline uint64_t accel_packed_weights(const struct accel_packed *packed)
{
    return packed->bytes - ACCEL_PACKED_HEADER;
}

/** Unmaps the file; does nothing for an empty one. */
void accel_packed_unmap(struct accel_packed *packed);

/** Finds the cache location of the list and passes a cached file to the container. `out_done`: the container is
 * filled; else the location, if any, is for the weights that the driver packs now. Fails with ACCEL_E_MEMORY and
 * ACCEL_E_CANCELLED only. */
int32_t accel_packed_use(struct accel_weights *weights, const struct accel_weight *const *list, uint32_t count,
                         const struct accel_source *source, const struct accel_task *task, bool *out_done,
                         struct accel_error *error);

/** Stores the container's weights in the cache with a label (may be NULL), unless another process has done so; others
 * see the whole file or none. ACCEL_E_BUSY: another process writes it; ACCEL_E_CANCELLED: the task was cancelled. */
int32_t accel_packed_store(struct accel_weights *weights, const struct accel_task *task, const char *label,
                           struct accel_error *error);

/** Evicts files until one of `bytes` bytes fits into the open folder: the least recently used files, and temporary
 * files of killed writers. Errors name the folder by `path`. ACCEL_E_LIMIT: the file must not be stored. */
int32_t accel_packed_evict(int folder, const char *path, uint64_t bytes, struct accel_error *error);

/** Returns whether the name is DRIVER-weights-HASH; `out_unfinished`: it has the suffix of a temporary file. */
bool accel_packed_is_name(const char *name, bool *out_unfinished);

#endif
