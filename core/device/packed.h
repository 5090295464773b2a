/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Packed weights on disk. What a driver has packed once is kept in the cache of the context, in the folder of kept
 * kernels: a file whose name is made of all that its bytes depend on (driver and build, fingerprint of the device, list
 * of weights, hash of each by its source). The next start maps it, read-only and so shared by sessions and processes,
 * and reads nothing of the model's file.
 *
 * A file is a header of one page and the bytes of the driver. It is used only if it is the user's own, nobody else may
 * write it, and header, length and hash agree; else it is as if it were not there, and the log says why. It is written
 * under another name first, by one process at a time, and when the caller says so: a start does not wait for it.
 *
 * Environment: ACCEL_PACKED_BYTES is what all such files may take; those that were used longest ago go first. 0: none
 * is written.
 */
#ifndef ACCEL_CORE_DEVICE_PACKED_H
#define ACCEL_CORE_DEVICE_PACKED_H

#include <accel/driver.h>
#include <accel/error.h>
#include <stdint.h>

#include "core/base/hash.h"
#include "core/device/object.h"

/** What all files may take where nobody says another. */
#define ACCEL_PACKED_BYTES (UINT64_C(16) << 30)
/** Bytes of a header: what is behind it is mapped at a multiple of a page. */
#define ACCEL_PACKED_HEADER 4096u

/** Finds the place of a list: an empty one where the context keeps nothing, or where device, driver or source do not
 *  say what they are. ACCEL_E_MEMORY alone is a failure. */
int32_t accel_packed_find(const struct accel_device *device, const struct accel_weight *const *list, uint32_t count,
                          const struct accel_source *source, struct accel_packed_place *out_place,
                          struct accel_error *error);
void accel_packed_place_free(struct accel_packed_place *place);

/** Maps what is kept there, checked to the last byte on the threads of the task. ACCEL_E_NOT_FOUND: there is nothing;
 *  ACCEL_E_CORRUPT, ACCEL_E_DENIED ...: what is there cannot be used. */
int32_t accel_packed_map(const struct accel_packed_place *place, const struct accel_task *task,
                         struct accel_packed *out_packed, struct accel_error *error);
/** Bytes of the weights in what is mapped, as the context counts them. */
static inline uint64_t accel_packed_weights(const struct accel_packed *packed)
{
    return packed->bytes - ACCEL_PACKED_HEADER;
}

/** Unmaps it; nothing for one that is empty. */
void accel_packed_unmap(struct accel_packed *packed);

/** Finds the place of the list and gives the container what is kept there. `out_done`: it is filled; else the place,
 *  where there is one, is for what the driver packs now. ACCEL_E_MEMORY and ACCEL_E_CANCELLED alone are failures. */
int32_t accel_packed_use(struct accel_weights *weights, const struct accel_weight *const *list, uint32_t count,
                         const struct accel_source *source, const struct accel_task *task, bool *out_done,
                         struct accel_error *error);

/** Keeps what the container holds at its place, unless another process has by now; others see the whole file or none.
 *  ACCEL_E_BUSY: another one is writing it; ACCEL_E_CANCELLED: the task wants no more. */
int32_t accel_packed_keep(struct accel_weights *weights, const struct accel_task *task, struct accel_error *error);

/** Makes room for a file of so many bytes in the open folder: takes files away that were used longest ago, and what
 *  killed writers left. ACCEL_E_LIMIT: it may not be kept at all. */
int32_t accel_packed_make_room(int folder, uint64_t bytes, struct accel_error *error);

/** True for DRIVER-weights-DIGITS; `out_unfinished`: with what a writer appends. */
bool accel_packed_is_name(const char *name, bool *out_unfinished);

#endif
