/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Writes snapshots. A snapshot is a JSON file that describes a machine: hwloc's topology, limits, facts, hardware,
 * devices with their facts, verdicts, plugins, the doctor's evidence and the profiles in force. With it,
 * accel_context_options.host_path replays the machine elsewhere: devices, doctor and plan report what they would there.
 *
 * A snapshot contains no name of a user or host, serial number or network address: they are removed from hwloc's
 * output. All functions are thread-safe, and return ACCEL_E_INVALID if a pointer is NULL or the context has not
 * completed discovery. */
#ifndef DOCTOR_SNAPSHOT_H
#define DOCTOR_SNAPSHOT_H

#include <accel/context.h>

#include "core/base/strbuf.h"
#include "core/snapshot/snapshot.h"
#include "tools/doctor/evidence.h"

/** Writes the snapshot of a context to `path`, replacing an existing file atomically. A context that replays a snapshot
 * writes that snapshot again. ACCEL_E_INVALID also for the path "-", which stands for the standard output elsewhere:
 * use accel_snapshot_text. ACCEL_E_NOT_FOUND, ACCEL_E_DENIED, ACCEL_E_IO: the file cannot be written and is unchanged;
 * ACCEL_E_MEMORY: memory ran out, or the snapshot would exceed the maximum size. */
int32_t accel_snapshot_write(struct accel_context *context, const char *path, struct accel_error *error);

/** Returns the snapshot as zero-terminated UTF-8 JSON, which the caller frees; NULL after a
 * failure. `*out_bytes` is its length without the zero byte; `out_bytes` may be NULL. */
int32_t accel_snapshot_text(struct accel_context *context, char **out_text, uint64_t *out_bytes,
                            struct accel_error *error);

/** Appends a snapshot as JSON to `out`. The only error is ACCEL_E_MEMORY. */
int32_t accel_snapshot_to_json(const struct accel_snapshot *snapshot, const struct accel_evidence *evidence,
                               struct accel_strbuf *out, struct accel_error *error);

/** Stores hwloc's XML in a snapshot, as lines, without those that contain a host name, a serial number or a network
 * address. Modifies `xml`, to which the lines point: it must stay valid as long as the snapshot. */
int32_t accel_snapshot_set_xml(struct accel_snapshot *snapshot, char *xml, struct accel_arena *arena,
                               struct accel_error *error);

#endif
