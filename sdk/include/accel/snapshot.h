/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Snapshots: one JSON file with all that a context knows of its machine, so that devices, doctor and plan answer for
 * that machine anywhere else: hwloc's description, limits, facts, hardware, devices with their facts, verdicts,
 * plugins, the doctor's evidence, and which profiles were in force. accel_context_options.host_path replays one.
 *
 * A snapshot names no user, host, serial number or network address: those are left out of what hwloc tells.
 *
 * A context that replays opens no device and loads no plugin: accel_device_open refuses by name, and a plan is made
 * from facts alone. Profiles are those of the machine that replays, so that a rule can be tried on a recorded machine.
 *
 * Any thread, and several at once. A context that has not discovered is ACCEL_E_INVALID, as is a missing pointer.
 */
#ifndef ACCEL_SNAPSHOT_H
#define ACCEL_SNAPSHOT_H

#include <accel/abi.h>
#include <accel/context.h>
#include <accel/error.h>

ACCEL_BEGIN_C

/** Writes the snapshot of a context that has discovered, replacing a file of that name at once; `path` "-" writes
 *  nothing and is ACCEL_E_INVALID: see accel_snapshot_text. A context that replays writes what it replays.
 *  ACCEL_E_NOT_FOUND, ACCEL_E_DENIED, ACCEL_E_IO: the file cannot be written, and is as it was; ACCEL_E_MEMORY: there
 *  is no memory for it, or it would be longer than a snapshot may be. */
ACCEL_API int32_t accel_snapshot_write(struct accel_context *context, const char *path,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/** The same as text: UTF-8 JSON with a zero byte that `out_bytes` (may be NULL) does not count. The caller frees it
 * with accel_snapshot_free; it is NULL where this fails. */
ACCEL_API int32_t accel_snapshot_text(struct accel_context *context, char **out_text, uint64_t *out_bytes,
                                      struct accel_error *error) ACCEL_NOEXCEPT;
/** Frees a text. NULL is allowed. */
ACCEL_API void accel_snapshot_free(char *text) ACCEL_NOEXCEPT;

/** Where a replayed machine comes from. Open. Strings belong to the context and are never NULL. */
struct accel_recording {
    uint32_t size;
    uint32_t added_count;     /**< facts that were added by hand */
    const char *path;         /**< of the snapshot */
    const char *about;        /**< words of the recording; may be empty */
    const char *version;      /**< of the library that wrote it; may be empty */
    const char *time;         /**< when, "2026-01-31T12:00:00Z"; may be empty */
    const char *const *added; /**< one line each: what was not recorded but added, and where in the file */
};

/** The recording that a context replays; NULL where it looks at the machine it runs on, and before discover. */
ACCEL_API const struct accel_recording *accel_context_recording(const struct accel_context *context) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
