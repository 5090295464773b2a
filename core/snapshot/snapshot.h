/* SPDX-License-Identifier: Apache-2.0 */
/** @file The file format of snapshots (tools/doctor/snapshot.h): a struct and its file. core/snapshot does not inspect
 * the machine; core/registry replays a snapshot that was read, tools/doctor fills and writes one. Ownership: data of a
 * snapshot that was read lives in its arena. Data to be written is borrowed. Thread-safe. If a file has no `hardware`
 * or no `facts`, replay derives them from the topology and the limits, as on a live machine. */
#ifndef ACCEL_CORE_SNAPSHOT_SNAPSHOT_H
#define ACCEL_CORE_SNAPSHOT_SNAPSHOT_H

#include <accel/context.h>
#include <accel/error.h>

#include "core/base/arena.h"
#include "core/topology/limits.h"

#define ACCEL_SNAPSHOT_SCHEMA "accel/snapshot/1"
#define ACCEL_SNAPSHOT_BYTES (16u << 20)   /**< maximum size of a file */
#define ACCEL_SNAPSHOT_EVIDENCE "evidence" /**< key of the evidence */

/** Input of core/topology. */
struct accel_snapshot_topology {
    const char *board;      /**< may be empty */
    const char *const *xml; /**< output of hwloc, line by line */
    uint32_t line_count;
    struct accel_host_limits limits;
};

/** A device as its driver returned it. The importer fills `facts.size` and similar members. */
struct accel_snapshot_device {
    const char *driver;
    const char *version; /**< of the driver */
    uint32_t plugin;     /**< index, or 0xffffffff */
    struct accel_facts facts;
};

/** A profile file that was in force. */
struct accel_snapshot_file {
    const char *path;
    const char *hash; /**< hash of its bytes, hexadecimal */
    uint64_t bytes;
};

struct accel_yaml_node;

/** A whole snapshot. Strings are never NULL; unknown ones are empty. */
struct accel_snapshot {
    const char *path; /**< path of the file that was read, else empty */
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
    const char *const *environment; /**< "NAME=value" of the accel variables that were set */
    uint32_t added_count;
    uint32_t hardware_count;
    uint32_t fact_count;
    uint32_t plugin_count;
    uint32_t device_count;
    uint32_t verdict_count;
    uint32_t profile_count;
    uint32_t environment_count;
    const struct accel_yaml_node *evidence; /**< observations for the doctor: a list whose form is checked, or NULL */
};

/** Reads a file. The caller always frees the arena. ACCEL_E_CORRUPT and ACCEL_E_LIMIT name file:line:column. */
int32_t accel_snapshot_read(const char *path, struct accel_arena *arena, struct accel_snapshot *out_snapshot,
                            struct accel_error *error);

/** Parses a snapshot in memory; `path` is for messages. */
int32_t accel_snapshot_parse(const char *path, const char *data, size_t bytes, struct accel_arena *arena,
                             struct accel_snapshot *out_snapshot, struct accel_error *error);

/** Returns the XML of a snapshot as one text in the arena, its zero byte counted in *out_bytes; NULL without memory. */
char *accel_snapshot_xml(const struct accel_snapshot *snapshot, struct accel_arena *arena, size_t *out_bytes);

#endif
