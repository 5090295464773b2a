/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Writes snapshots: one JSON file with all that a context knows of its machine, so that devices, doctor and plan answer
 * for that machine anywhere else: hwloc's description, limits, facts, hardware, devices with their facts, verdicts,
 * plugins, the doctor's evidence, and which profiles were in force. accel_context_options.host_path replays one.
 *
 * A snapshot names no user, host, serial number or network address: those are left out of hwloc's output.
 * Thread-safe. A context that has not discovered is ACCEL_E_INVALID, as is a missing pointer. */
#ifndef DOCTOR_SNAPSHOT_H
#define DOCTOR_SNAPSHOT_H

#include <accel/context.h>

#include "core/base/strbuf.h"
#include "core/snapshot/snapshot.h"

/** Writes the snapshot of a context that has discovered, replacing a file of that name at once; `path` "-" writes
 *  nothing and is ACCEL_E_INVALID: see accel_snapshot_text. A context that replays writes what it replays.
 *  ACCEL_E_NOT_FOUND, ACCEL_E_DENIED, ACCEL_E_IO: the file cannot be written, and is as it was; ACCEL_E_MEMORY: there
 *  is no memory for it, or it would be longer than a snapshot may be. */
int32_t accel_snapshot_write(struct accel_context *context, const char *path, struct accel_error *error);

/** Returns the snapshot as text: UTF-8 JSON with a zero byte that `out_bytes` (may be NULL) does not count. The
 * caller frees it with accel_snapshot_free; it is NULL after a failure. */
int32_t accel_snapshot_text(struct accel_context *context, char **out_text, uint64_t *out_bytes,
                            struct accel_error *error);
/** Frees a text. NULL is allowed. */
void accel_snapshot_free(char *text);

/** Appends a snapshot to a text; a lack of memory is the only failure. */
int32_t accel_snapshot_print(const struct accel_snapshot *snapshot, struct accel_strbuf *out,
                             struct accel_error *error);

/** Splits the output of hwloc into the lines of a snapshot, without those that name a host, a serial number or a
 * network address. Modifies the text, which has to live as long as the lines. */
int32_t accel_snapshot_set_xml(struct accel_snapshot *snapshot, char *xml, struct accel_arena *arena,
                               struct accel_error *error);

#endif
