/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The file format of snapshots (accel/snapshot.h): one struct, and the file that it is. This room knows nothing of how
 * a machine is looked at; core/device replays what was read here, core/doctor fills what is written here.
 *
 * Ownership: everything of a snapshot that was read lies in its arena. What is written is borrowed. Any thread.
 *
 * Where a file has no `hardware` or no `facts`, whoever replays it derives them from the topology and the limits, as on
 * a live machine.
 */
#ifndef ACCEL_CORE_SNAPSHOT_SNAPSHOT_H
#define ACCEL_CORE_SNAPSHOT_SNAPSHOT_H

#include <accel/context.h>
#include <accel/error.h>

#include "core/base/arena.h"
#include "core/base/strbuf.h"
#include "core/snapshot/evidence.h"
#include "core/topology/limits.h"

#define ACCEL_SNAPSHOT_SCHEMA "accel/snapshot/1"
#define ACCEL_SNAPSHOT_BYTES (16u << 20) /**< of a file */

/** What core/topology needs. */
struct accel_snapshot_topology {
    const char *board;      /**< may be empty */
    const char *const *xml; /**< what hwloc wrote, line by line */
    uint32_t line_count;
    struct accel_host_limits limits;
};

/** A device as its driver gave it. `facts.size` and such are filled by whoever takes it. */
struct accel_snapshot_device {
    const char *driver;
    const char *version; /**< of the driver */
    uint32_t plugin;     /**< index, or 0xffffffff */
    struct accel_facts facts;
};

/** A file of the profiles that were in force. */
struct accel_snapshot_file {
    const char *path;
    const char *hash; /**< of its bytes, hexadecimal */
    uint64_t bytes;
};

/** All of it. Strings are never NULL, empty where unknown. */
struct accel_snapshot {
    const char *path; /**< of the file that was read, else empty */
    const char *schema;
    const char *about;
    const char *time;
    const char *version;
    const char *const *added;
    struct accel_snapshot_topology topology;
    const struct accel_hardware *hardware;
    const struct accel_fact *facts;
    const struct accel_plugin_info *plugins;
    const struct accel_snapshot_device *devices;
    const struct accel_verdict *verdicts;
    const struct accel_snapshot_file *profiles;
    const char *const *environment; /**< "NAME=value" of the variables of accel that were set */
    uint32_t added_count;
    uint32_t hardware_count;
    uint32_t fact_count;
    uint32_t plugin_count;
    uint32_t device_count;
    uint32_t verdict_count;
    uint32_t profile_count;
    uint32_t environment_count;
    struct accel_evidence evidence;
};

/** Reads a file. The arena is begun, and is the caller's also when this fails. ACCEL_E_CORRUPT, ACCEL_E_LIMIT name
 *  file:line:column. */
int32_t accel_snapshot_read(const char *path, struct accel_arena *arena, struct accel_snapshot *out_snapshot,
                            struct accel_error *error);

/** The same from memory; `path` is for messages. */
int32_t accel_snapshot_parse(const char *path, const char *data, size_t bytes, struct accel_arena *arena,
                             struct accel_snapshot *out_snapshot, struct accel_error *error);

/** Writes one to the end of a text; a lack of memory is the only failure. */
int32_t accel_snapshot_print(const struct accel_snapshot *snapshot, struct accel_strbuf *out,
                             struct accel_error *error);

/** The XML of a snapshot as one text in the arena, its zero byte counted in *out_bytes; NULL without memory. */
char *accel_snapshot_xml(const struct accel_snapshot *snapshot, struct accel_arena *arena, size_t *out_bytes);

/** Splits what hwloc wrote into the lines of a snapshot, without those that name a host, a serial number or a network
 *  address. The text is cut and has to live as long as the lines. */
int32_t accel_snapshot_take_xml(struct accel_snapshot *snapshot, char *xml, struct accel_arena *arena,
                                struct accel_error *error);

#endif
